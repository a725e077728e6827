/** The launch protocol in tmux, where the keeper is no child of its launcher: either may die behind every step. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RunView, SessionView } from '../../src/api/session-view.ts';
import { openPanes } from '../fixtures/stand-in-tui.ts';
import type { Panes } from '../fixtures/stand-in-tui.ts';
import { intentOnRecord } from '../support/on-record.ts';
import { eventually, isAlive, see, signalSeen } from '../support/processes.ts';
import { createSandbox, finished } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
let panes: Panes;
beforeEach(() => {
  sandbox = createSandbox();
  panes = openPanes(sandbox);
});
afterEach(() => panes.cleanUp());

/** Writes its pid, so that a test sees whether it ever executed. */
const START = [
  'run',
  '--tmux',
  '--detach',
  '-s',
  'a',
  '--',
  'sh',
  '-c',
  'echo $$ > worker; trap "" HUP; while :; do sleep 0.02; done',
];
const NEXT = ['run', '--tmux', '--detach', '-s', 'a', '--', 'sleep', '60'];
const titleOf = (pid: string) => readFileSync(`/proc/${pid}/cmdline`, 'utf8');
const hasWorked = () => existsSync(sandbox.path('worker'));
const ended = () =>
  eventually<RunView>('its end', async () => {
    const { run } = await sandbox.show('a');
    return run.state === 'ended' && run;
  });

describe('a launcher killed', () => {
  it.each(['launch.claimed', 'launch.keeper_spawned', 'launch.started'])(
    'at %s leaves no command and no pane, and the session is free again',
    async (point) => {
      const killed = await sandbox.reeve(START, { env: { REEVE_CHECKPOINT: `${point}=kill` } });
      expect(killed.signal).toBe('SIGKILL');
      // By itself: nobody looks at the run before the pane is gone.
      await eventually('its pane is gone', () => panes.names().length === 0);
      expect(await ended()).toMatchObject({ outcome: 'never_started', pid: null, exitCode: null });
      expect(hasWorked()).toBe(false);
      const next = await sandbox.json<SessionView>(NEXT);
      expect({ epoch: next.epoch, status: next.status }).toEqual({ epoch: 2, status: 'working' });
      expect(panes.names()).toEqual([next.run.id]);
    },
  );

  it('at launch.released leaves a run that goes on, or one that never started, and not both', async () => {
    const killed = await sandbox.reeve(START, { env: { REEVE_CHECKPOINT: 'launch.released=kill' } });
    expect(killed.signal).toBe('SIGKILL');
    // Whether its keeper had the order in its hands by then, only the keeper knows.
    const run = await eventually<RunView>('it is decided', async () => {
      const latest = (await sandbox.show('a')).run;
      return (latest.state === 'ended' || latest.pid !== null) && latest;
    });
    if (run.state === 'ended') {
      expect(run.outcome).toBe('never_started');
      expect(hasWorked()).toBe(false);
      await eventually('its pane is gone', () => panes.names().length === 0);
    } else {
      expect((await sandbox.pidFrom('worker')).pid).toBe(run.pid);
      expect((await sandbox.reeve(NEXT)).code).toBe(4);
    }
  });

  it('at launch.executing leaves a run that goes on, is kept, and is found by any reader', async () => {
    const killed = await sandbox.reeve(START, { env: { REEVE_CHECKPOINT: 'launch.executing=kill' } });
    expect(killed.signal).toBe('SIGKILL');
    const worker = await sandbox.pidFrom('worker');
    expect(await sandbox.show('a')).toMatchObject({
      status: 'working',
      run: { pid: worker.pid, liveness: 'alive' },
    });
    expect((await sandbox.reeve(NEXT)).code).toBe(4);
    await sandbox.json(['stop', 'a', '--grace', '0.2']);
    expect(isAlive(worker)).toBe(false);
  });
});

it('a keeper killed before it starts the command leaves no command and no pane', async () => {
  const result = await sandbox.reeve(START, { env: { REEVE_CHECKPOINT: 'keeper.released=kill' } });
  expect(result.code).toBe(1);
  expect(hasWorked()).toBe(false);
  expect((await ended()).outcome).toBe('lost');
  await eventually('its pane is gone', () => panes.names().length === 0);
});

it('a keeper killed between fork and exec leaves a process that does not become the command', async () => {
  const go = sandbox.path('go');
  const done = finished(
    sandbox.start(START, { env: { ...sandbox.env, REEVE_CHECKPOINT: `harness.forked=wait:${go}` } }),
  );
  await eventually('the child is held', () => existsSync(`${go}.reached`));
  const keeper = see((await sandbox.show('a')).run.keeperPid ?? 0);
  signalSeen(keeper, 'SIGKILL');
  await eventually('the keeper is dead', () => !isAlive(keeper));
  writeFileSync(go, '');
  expect((await done).code).toBe(1);
  expect(hasWorked()).toBe(false);
});

describe('a pane that is closed', () => {
  it.each(['launch.keeper_spawned', 'launch.started'])(
    'at %s, before its keeper was let go, leaves nothing without a terminal',
    async (point) => {
      const go = sandbox.path('go');
      const done = finished(
        sandbox.start(START, { env: { ...sandbox.env, REEVE_CHECKPOINT: `${point}=wait:${go}` } }),
      );
      await eventually('the launcher is held', () => existsSync(`${go}.reached`));
      // Before it is Perl that heeds no hang-up, the end of its pane kills it, and its run is lost.
      const pid = panes.tmux('list-panes', '-a', '-F', '#{pane_pid}').stdout.trim();
      await eventually('the keeper is blocked', () => titleOf(pid).startsWith('reeve-keeper'));
      panes.tmux('kill-server');
      await eventually('its pane is gone', () => panes.names().length === 0);
      writeFileSync(go, '');
      await done;
      expect((await ended()).outcome).toBe('never_started');
      expect(hasWorked()).toBe(false);
    },
  );

  it('while its command is only forked, ends it', async () => {
    const go = sandbox.path('go');
    const done = finished(
      sandbox.start(START, { env: { ...sandbox.env, REEVE_CHECKPOINT: `harness.forked=wait:${go}` } }),
    );
    await eventually('the child is held', () => existsSync(`${go}.reached`));
    panes.tmux('kill-server');
    await eventually('its pane is gone', () => panes.names().length === 0);
    writeFileSync(go, '');
    await done;
    expect((await ended()).outcome).toBe('stopped');
  });
});

it('a stop between claim and start wins: the command never executes', async () => {
  const go = sandbox.path('go');
  const done = finished(
    sandbox.start(START, { env: { ...sandbox.env, REEVE_CHECKPOINT: `launch.keeper_spawned=wait:${go}` } }),
  );
  await eventually('the launcher is held', () => existsSync(`${go}.reached`));
  const stopping = sandbox.json(['stop', 'a']);
  await intentOnRecord(sandbox, 'a');
  writeFileSync(go, '');
  await stopping;
  expect((await done).code).toBe(1);
  expect((await sandbox.show('a')).run.outcome).toBe('never_started');
  expect(hasWorked()).toBe(false);
  await eventually('its pane is gone', () => panes.names().length === 0);
});

it('a state directory with a line break in its path has its panes too', async () => {
  const home = sandbox.path('st\nate');
  const there = createSandbox({ HOME: sandbox.root, REEVE_HOME: home });
  try {
    const { run } = await there.json<SessionView>([...START.slice(0, -1), 'echo $$ > worker; exec cat']);
    expect(run).toMatchObject({
      state: 'running',
      mode: 'tmux',
      logPath: `${home}/runs/${run.id}/output.log`,
    });
    expect((await there.reeve(['logs', 'a', '--screen'])).code).toBe(0);
    expect((await there.reeve(['kill', 'a'])).code).toBe(0);
  } finally {
    await there.cleanUp();
  }
});

it('a keeper that does not answer does not keep its launcher waiting for ever', async () => {
  const go = sandbox.path('go');
  const held = await sandbox.reeve(['run', '--json', ...START.slice(1)], {
    env: { REEVE_CHECKPOINT: `keeper.released=wait:${go}` },
  });
  expect(held.code).toBe(7);
  expect(JSON.parse(held.stdout)).toMatchObject({ error: { code: 'unproven' } });
  expect((await sandbox.reeve(NEXT)).code).toBe(4);
  writeFileSync(go, '');
  const worker = await sandbox.pidFrom('worker');
  expect((await sandbox.show('a')).run).toMatchObject({ pid: worker.pid, liveness: 'alive' });
});
