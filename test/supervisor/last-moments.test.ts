/** A keeper whose harness has ended, in the last moments: nobody looks, and the way to its records may be closed. */
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { installStandIns } from '../fixtures/stand-in-harness.ts';
import { launchIn } from '../support/launch.ts';
import { eventually, isAlive, see, startedWith } from '../support/processes.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.cleanUp());

it('a conversation that the harness has named and nobody has looked at does not end its finaliser', async () => {
  const standIns = installStandIns(sandbox, 'codex');
  const { run } = await sandbox.json<SessionView>(['run', '-d', '-s', 'web', '--', 'codex', 'exec', 'x']);
  const keeper = see(run.keeperPid ?? 0);
  await standIns.ready(run.pid);
  await standIns.tell(run.pid, 'hook UserPromptSubmit');
  await standIns.tell(run.pid, 'exit 0').catch(() => {});
  await eventually('its keeper is gone', () => !isAlive(keeper));
  expect((await sandbox.show('web')).run).toMatchObject({ outcome: 'completed', proof: 'kernel' });
  expect((await sandbox.reeve(['why', 'web'])).stdout).toContain('recorded by keeper');
});

describe.each([
  ['its runs were moved', () => [sandbox.home, 'runs']],
  ['the whole state directory was moved', () => [sandbox.root, sandbox.home.slice(sandbox.root.length + 1)]],
] as const)('when %s', (_what, where) => {
  it('the exit is kept, what was left behind is ended, and the outcome is the true one', async () => {
    const [directory, name] = where();
    const [from, away] = [`${directory}/${name}`, `${directory}/away`];
    const go = sandbox.path('go');
    const mark = `LEFT_BY=${sandbox.root}`;
    const leave = `setsid env ${mark} sleep 60 </dev/null >/dev/null 2>&1 &`;
    const script = `${leave} until [ -e ${go} ]; do sleep 0.02; done; exit 44`;
    const { keeper } = await launchIn(sandbox, 'web', 'sh', '-c', script);
    const [left] = await eventually('the escapee', () => {
      const found = startedWith(mark);
      return found.length > 0 && found;
    });
    renameSync(from, away);
    // Somebody else may have put something there meanwhile.
    if (name === 'runs') mkdirSync(from);
    writeFileSync(go, '');
    await eventually('its keeper is gone', () => !isAlive(keeper));
    expect(left !== undefined && isAlive(left)).toBe(false);
    if (name === 'runs') renameSync(from, `${from}.empty`);
    renameSync(away, from);
    expect((await sandbox.show('web')).run).toMatchObject({ outcome: 'failed', exitCode: 44 });
  });
});
