import { spawnSync } from 'node:child_process';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { launchIn } from '../support/launch.ts';
import { isAlive } from '../support/processes.ts';
import { CLI, createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.cleanUp());

interface Failure {
  readonly error: { readonly message: string; readonly hint: string };
}

/** Of a command that may have so many files open. Null where Node itself does not start, as with the fewest. */
function answer(files: number): Failure['error'] | 'done' | null {
  const script = `ulimit -n ${files}; exec "$0" "$@"`;
  const words = ['-c', script, process.execPath, CLI, 'run', '-s', `a${files}`, '--json', '--', 'true'];
  const { status, stdout } = spawnSync('sh', words, { env: sandbox.env, encoding: 'utf8' });
  if (status === 0) return 'done';
  return stdout === '' ? null : (JSON.parse(stdout) as Failure).error;
}

it('with too few open files a start fails with a sentence that says so, whatever came first', async () => {
  await sandbox.reeve(['ls']);
  const answers = Array.from({ length: 14 }, (_, more) => answer(17 + more)).filter((each) => each !== null);
  const errors = answers.filter((each) => each !== 'done');
  expect(answers).toContain('done');
  expect(errors.length).toBeGreaterThan(2);
  for (const { message, hint } of errors) {
    expect(message).toContain('too many files are open');
    expect(hint).toContain('ulimit -n');
  }
});

it('with too few open files for the start of its successor an owner is not ended', async () => {
  const { harness } = await launchIn(sandbox, 'owned', 'sleep', '600');
  const words = [CLI, 'run', '--detach', '--force', '-s', 'owned', '--json', '--', 'sleep', '600'];
  for (let files = 20; ; files += 1) {
    const script = `ulimit -n ${files}; exec "$0" "$@"`;
    const shell = ['-c', script, process.execPath, ...words];
    const { status } = spawnSync('sh', shell, { env: sandbox.env, encoding: 'utf8' });
    expect([files, isAlive(harness)]).toEqual([files, status !== 0]);
    if (status === 0) return;
  }
});
