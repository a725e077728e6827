/** Nobody is ended for a start that cannot work, as far as that can be told before. All as a user who may not enter everything. */
import { spawn } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isAlive, see } from '../support/processes.ts';
import { CLI, createSandbox, finished, withJson } from '../support/sandbox.ts';
import type { Finished, Sandbox } from '../support/sandbox.ts';
import type { SessionDetail } from '../../src/supervisor/list.ts';

const LIMIT_MS = 60_000;
const IS_ROOT = process.getuid?.() === 0;
/** A user of this test's own, of whom nothing else runs here; whoever is not root already is one. */
const USER = 60_000 + (process.pid % 5_000);

let sandbox: Sandbox;
let shut: string;
beforeEach(() => {
  sandbox = createSandbox();
  shut = sandbox.path('shut');
  mkdirSync(join(shut, 'in'), { recursive: true });
  mkdirSync(sandbox.path('here'));
  if (IS_ROOT) for (const path of ['', 'shut', 'shut/in', 'here']) chownSync(sandbox.path(path), USER, USER);
  chmodSync(shut, 0o600);
});
afterEach(() => {
  chmodSync(shut, 0o700);
  return sandbox.cleanUp();
}, LIMIT_MS);

function asOrdinary(args: readonly string[]): Promise<Finished> {
  const words = [process.execPath, CLI, ...args];
  const ids = ['--reuid', String(USER), '--regid', String(USER), '--clear-groups'];
  const [program = '', ...rest] = IS_ROOT ? ['setpriv', ...ids, ...words] : words;
  return finished(
    spawn(program, rest, { cwd: sandbox.root, env: sandbox.env, stdio: ['ignore', 'pipe', 'pipe'] }),
  );
}

async function answer<T>(args: readonly string[], expectedCode = 0): Promise<T> {
  const { code, stdout, stderr } = await asOrdinary(withJson(args));
  expect([code, stdout, stderr]).toEqual([expectedCode, stdout, expect.any(String)]);
  return JSON.parse(stdout) as T; // The caller names the shape it then compares.
}

interface Failure {
  readonly error: { readonly code: string; readonly message: string };
}

function script(firstLine: string): string {
  const path = sandbox.path('script');
  writeFileSync(path, `${firstLine}\nexec sleep 60\n`);
  chmodSync(path, 0o755);
  return path;
}

const launch = (...more: readonly string[]) => answer<SessionDetail>(['run', '-d', '-s', 'a', ...more]);

describe('a takeover', { timeout: LIMIT_MS }, () => {
  it.each([
    ['into a directory that may not be entered', () => ['--cwd', shut, '--', 'sleep', '60'], 'bad_directory'],
    ['into a directory below that', () => ['--cwd', join(shut, 'in'), '--', 'sleep', '60'], 'bad_directory'],
    ['into a file', () => ['--cwd', script(''), '--', 'sleep', '60'], 'bad_directory'],
    ['of a script without its interpreter', () => ['--', script('#!/nonexist/interp -x')], 'usage'],
    ['of a script whose interpreter is no program', () => ['--', script('#!/etc/passwd')], 'usage'],
    ['of a script with the line ends of Windows', () => ['--', script('#!/bin/sh\r')], 'usage'],
  ])('%s is refused, and the owner goes on', async (_, words, code) => {
    const { run } = await launch('--', 'sleep', '60');
    const owner = see(run.pid ?? 0);
    const { error } = await answer<Failure>(['run', '-d', '-s', 'a', '--force', ...words()], 2);
    expect([error.code, isAlive(owner)]).toEqual([code, true]);
    expect(error.message).not.toMatch(/E[A-Z]{4,}|\r/);
    expect((await answer<SessionDetail>(['show', 'a'])).epoch).toBe(1);
  });

  it('of a script that only its interpreter can judge is not refused', async () => {
    await launch('--', 'sleep', '60');
    const taken = await launch('--force', '--', script('#! /usr/bin/env -S sh -e'));
    expect(taken.epoch).toBe(2);
  });
});

it(
  'a trigger of a review in a directory that may not be entered is refused, and the reviewer goes on',
  async () => {
    await launch('--', 'sleep', '60');
    const trigger = (digit: string, expectedCode: number, ...more: readonly string[]) => {
      const head = `1=${digit.repeat(40)}`;
      const words = ['review', 'trigger', '-w', 'a', '--pr', head, '--reviewer', 'sleep 60', ...more];
      return answer<Failure>(words, expectedCode);
    };
    await trigger('a', 0);
    const { run } = await answer<SessionDetail>(['show', 'review-a']);
    const reviewer = see(run.pid ?? 0);
    for (const place of [shut, join(shut, 'in')]) {
      const { error } = await trigger('b', 2, '--cwd', place);
      expect([error.code, isAlive(reviewer)]).toEqual(['bad_directory', true]);
    }
    expect((await answer<SessionDetail>(['show', 'review-a'])).epoch).toBe(1);
  },
  LIMIT_MS,
);

describe('a start in a directory that cannot be looked at', { timeout: LIMIT_MS }, () => {
  it('is refused in one sentence, and leaves no session', async () => {
    const { error } = await answer<Failure>(['run', '-d', '--cwd', join(shut, 'in'), '--', 'true'], 2);
    expect(error).toMatchObject({ code: 'bad_directory', message: expect.stringContaining(shut) as unknown });
    expect(error.message).not.toContain('EACCES');
    expect(await answer(['ls'])).toEqual([]);
  });

  it('is refused for a session that goes on there as well', async () => {
    await answer(['run', '-s', 'a', '--cwd', sandbox.path('here'), '--', 'true']);
    chmodSync(sandbox.path('here'), 0o600);
    expect((await answer<Failure>(['resume', '-d', 'a'], 2)).error.code).toBe('bad_directory');
    expect((await answer<Failure>(['resume', '-d', 'a', '--cwd', join(shut, 'in')], 2)).error.code).toBe(
      'bad_directory',
    );
    expect((await answer<SessionDetail>(['show', 'a'])).epoch).toBe(1);
  });
});
