/** `rm` of what cannot be removed: refused before anything is forgotten. */
import { spawn } from 'node:child_process';
import { chmodSync, chownSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { CLI, createSandbox, finished } from '../support/sandbox.ts';
import type { Finished, Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.cleanUp());

const IS_ROOT = process.getuid?.() === 0;
/** A user of this test's own; whoever is not root already is one. */
const USER = 60_000 + (process.pid % 5_000);

function reeve(...words: readonly string[]): Promise<Finished> {
  const user = ['setpriv', '--reuid', String(USER), '--regid', String(USER), '--clear-groups'];
  const [program = '', ...rest] = [...(IS_ROOT ? user : []), process.execPath, CLI, ...words];
  const place = { cwd: sandbox.root, env: sandbox.env };
  return finished(spawn(program, rest, { ...place, stdio: ['ignore', 'pipe', 'pipe'] }));
}

it('what this user may not change is refused in a sentence, and the others are removed', async () => {
  if (IS_ROOT) chownSync(sandbox.root, USER, USER);
  for (const name of ['a', 'b', 'c']) await reeve('run', '-s', name, '--', 'true');
  const { run } = JSON.parse((await reeve('show', '--json', 'b')).stdout) as SessionView;
  const directory = join(sandbox.home, 'runs', run.id);
  if (IS_ROOT) chownSync(directory, 0, 0);
  chmodSync(directory, 0o500);
  try {
    const { code, stdout, stderr } = await reeve('rm', 'a', 'b', 'c');
    expect([code, stdout]).toEqual([1, 'a: removed.\nc: removed.\n']);
    const because = IS_ROOT ? 'belongs to another user.' : 'cannot be changed (EACCES).';
    expect(stderr.split('\n')[0]).toBe(`reeve: b was not removed: ${directory} ${because}`);
    const left = JSON.parse((await reeve('ls', '--all', '--json')).stdout) as SessionView[];
    expect([left.map(({ name }) => name), existsSync(directory)]).toEqual([['b'], true]);
    const asJson = JSON.parse((await reeve('rm', '--json', 'b')).stdout) as unknown;
    expect(asJson).toMatchObject({ error: { code: 'state_directory', details: { removed: [] } } });
  } finally {
    chmodSync(directory, 0o700);
    if (IS_ROOT) chownSync(directory, USER, USER);
  }
  expect(await reeve('rm', 'b')).toMatchObject({ code: 0, stdout: 'b: removed.\n' });
  expect(existsSync(directory)).toBe(false);
});
