import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const FIXTURE = fileURLToPath(new URL('../fixtures/process-reused-pid.ts', import.meta.url));
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The shell is the namespace's first process, and so collects its orphans; Node would leave them as zombies. */
async function runInPidNamespace(): Promise<unknown> {
  const inside = ['sh', '-c', '"$@"; exit $?', 'sh', process.execPath, '--import', 'tsx', FIXTURE];
  const words = ['--pid', '--fork', '--kill-child', '--mount-proc', ...inside];
  const { stdout } = await promisify(execFile)('unshare', words, {
    cwd: ROOT,
    // Less than the test may take, and with the whole namespace: a hang must not be left behind.
    timeout: 40_000,
    killSignal: 'SIGKILL',
  });
  return JSON.parse(stdout);
}

const REUSED = {
  living: { probe: { is: 'alive' }, tree: [true] },
  gone: { probe: { is: 'dead', proof: 'gone', because: expect.any(String) }, tree: [] },
  after: {
    hasThePid: true,
    probe: { is: 'dead', proof: 'reused', because: expect.any(String) },
    tree: [],
    answers: 'still here',
    ownProbe: { is: 'alive' },
  },
};

it(
  'takes a reused pid for dead, its children for strangers, and signals none of them',
  { tags: ['root'] },
  async () => {
    expect(await runInPidNamespace()).toEqual({ stranger: REUSED, sameProgram: REUSED });
  },
);
