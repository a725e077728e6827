/** Standard output on a full disk, for every verb. */
import { execFileSync, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { VERBS } from '../../src/cli/verbs.ts';
import { CLI, createSandbox, finished, withJson } from '../support/sandbox.ts';
import type { Finished, Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = createSandbox();
  await sandbox.reeve(['run', '-d', '-s', 'a', '--', 'sh', '-c', 'echo out; exec sleep 600']);
});
afterAll(() => sandbox.cleanUp());

async function onFullDisk(args: readonly string[]): Promise<Finished> {
  const full = openSync('/dev/full', 'w');
  try {
    const stdio = ['ignore', full, 'pipe'] as const;
    const child = spawn(process.execPath, [CLI, ...args], {
      cwd: sandbox.root,
      env: sandbox.env,
      stdio: [...stdio],
    });
    return await finished(child);
  } finally {
    closeSync(full);
  }
}

const SENTENCE = 'reeve: what it printed could not be written: the disk is full.\n';

/** Those that are asked for here as a person would; of the others their refusal in JSON is what cannot be written. */
const ASKED: Readonly<Record<string, readonly string[]>> = {
  show: ['show', 'a'],
  why: ['why', 'a'],
  logs: ['logs', 'a'],
  attach: ['attach', 'a'],
  completion: ['completion', 'bash'],
  hooks: ['hooks', 'status', 'claude'],
  shim: ['shim', 'status', 'claude'],
  serve: ['serve', 'status'],
};
/** They print for as long as they run, or act on the outside. */
const LASTING = new Set(['demo', 'open', 'review watch']);

it.each(VERBS.map(({ name }) => name).filter((name) => !LASTING.has(name)))(
  '%s says that it could not print, in one sentence',
  async (name) => {
    const { code, signal, stderr } = await onFullDisk(withJson(ASKED[name] ?? name.split(' ')));
    expect(signal).toBeNull();
    expect(code).not.toBe(0);
    expect(stderr).toContain(SENTENCE);
    expect(stderr).not.toMatch(/^ +at /m);
  },
);

it.each([
  ['ls'],
  ['show', 'a'],
  ['why', 'a'],
  ['logs', 'a'],
  ['logs', '-f', 'a'],
  ['doctor'],
  ['--version'],
  ['--help'],
  ['help', 'ls'],
  // It prints for as long as it runs, and ends with what it prints to.
  ['top'],
])('%s %s %s says it too where people read', async (...args) => {
  expect(await onFullDisk(args)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(SENTENCE) as string,
  });
});

it('review watch ends, for nobody is told any more', async () => {
  const git = (...words: readonly string[]) =>
    execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@example.org', ...words], {
      cwd: sandbox.root,
    });
  git('init', '--quiet', '--initial-branch=main');
  git('commit', '--quiet', '--allow-empty', '--message', 'one');
  const watch = ['review', 'watch', '--worker', 'a', '--branch', 'main', '--reviewer', 'true'];
  expect(await onFullDisk([...watch, '--debounce', '0'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(SENTENCE) as string,
  });
});

it('an error keeps its own exit code', async () => {
  expect((await onFullDisk(['show', 'nobody', '--json'])).code).toBe(3);
});

it('a reader that goes away is no error', async () => {
  const script = `"$0" "$1" ls --all | true; exit "\${PIPESTATUS[0]}"`;
  const child = spawn('bash', ['-c', script, process.execPath, CLI], {
    env: sandbox.env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  expect(await finished(child)).toMatchObject({ code: 0, stderr: '' });
});
