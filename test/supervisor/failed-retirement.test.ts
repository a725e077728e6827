/** A stop or takeover that fails: what it asked for does not name the end of a run that nobody ended. */
import { existsSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { failing } from '../support/failing-reads.ts';
import { launchIn } from '../support/launch.ts';
import { eventually, isAlive } from '../support/processes.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

/** Tells when it is asked to end, does not do it, and exits by itself when it is let go. */
const UNTIL_LET_GO = 'trap "touch asked" TERM; touch deaf; while [ ! -f go ]; do sleep 0.05; done; exit 0';

const COMMANDS = [
  ['stop', ['stop', '--grace', '600', 'a']],
  ['takeover', ['run', '-d', '--force', '--grace', '600', '-s', 'a', '--', 'sleep', '60']],
] as const;

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.cleanUp());

async function stubborn() {
  const launched = await launchIn(sandbox, 'a', 'sh', '-c', UNTIL_LET_GO);
  await eventually('it is deaf', () => existsSync(sandbox.path('deaf')));
  return launched;
}

async function letGo() {
  writeFileSync(sandbox.path('go'), '');
  return eventually('it has ended', async () => {
    const { run } = await sandbox.show('a');
    return run.state === 'ended' && run;
  });
}

/** Which read of the notes of children is the first that fails. */
const failingAfter = (after: number) =>
  failing({ call: 'readdirSync', path: '/children', code: 'EIO', after, times: 1 });

describe.each(COMMANDS)('a %s that fails', (_, command) => {
  it('before it has signalled anybody takes back what it asked for', async () => {
    const { harness } = await stubborn();
    const failed = await sandbox.reeve(command, failingAfter(2));
    expect([failed.code, failed.stderr]).toEqual([7, expect.stringContaining('EIO')]);
    expect(failed.stderr).not.toContain('told to end');
    expect(isAlive(harness)).toBe(true);
    expect(existsSync(sandbox.path('asked'))).toBe(false);
    const why = (await sandbox.reeve(['why', 'a'])).stdout;
    expect(why).toMatch(
      /gave up \(.*EIO.*\) and took back the request to .* It had not ended, and goes on\./,
    );
    expect(await letGo()).toMatchObject({
      outcome: 'completed',
      exitCode: 0,
      reason: 'it exited with code 0',
    });
  });

  it('after it has signalled somebody says on record that it failed', async () => {
    const { run } = await stubborn();
    const failed = await sandbox.reeve(command, failingAfter(4));
    expect([failed.code, failed.stderr]).toEqual([7, expect.stringContaining('EIO')]);
    expect(failed.stderr).toContain(`Run ${run.id} had been told to end by then`);
    await eventually('it was asked', () => existsSync(sandbox.path('asked')));
    const ended = await letGo();
    expect(ended).toMatchObject({
      exitCode: 0,
      reason: expect.stringMatching(/by a command that failed \(.*EIO.*\)/),
    });
    expect(['stopped', 'superseded']).toContain(ended.outcome);
  });
});
