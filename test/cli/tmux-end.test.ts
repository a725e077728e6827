/** A terminal that goes away, however it goes, is the end of what runs in it. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { DEAF } from '../fixtures/deaf-command.ts';
import { eventsIn } from '../fixtures/stand-in-harness.ts';
import { openPanes } from '../fixtures/stand-in-tui.ts';
import type { Panes } from '../fixtures/stand-in-tui.ts';
import { eventually, isAlive, see, signalSeen } from '../support/processes.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
let panes: Panes;
beforeEach(() => {
  sandbox = createSandbox();
  panes = openPanes(sandbox);
});
afterEach(() => panes.cleanUp());

const inTmuxAs = (name: string, ...command: readonly string[]) =>
  sandbox.json<SessionView>(['run', '--tmux', '--detach', '-s', name, '--', ...command]);
const inTmux = (...command: readonly string[]) => inTmuxAs('a', ...command);

it('after the SIGKILL of its server the session is resumed in a new one', async () => {
  await inTmux('sleep', '60');
  signalSeen(panes.server(), 'SIGKILL');
  await eventually('its end', async () => (await sandbox.show('a')).run.state === 'ended');
  const resumed = await sandbox.json<SessionView>(['resume', '--tmux', '--detach', 'a']);
  expect(resumed).toMatchObject({ epoch: 2, status: 'working', run: { mode: 'tmux' } });
  expect(panes.names()).toEqual([resumed.run.id]);
});

it('the end of one pane leaves the others alone', async () => {
  const first = await inTmux('sleep', '60');
  const second = await inTmuxAs('b', 'sleep', '60');
  const other = see(second.run.pid ?? 0);
  panes.tmux('kill-session', '-t', `=${first.run.id}`);
  await eventually('its end', async () => (await sandbox.show('a')).run.state === 'ended');
  expect(isAlive(other)).toBe(true);
  expect((await sandbox.show('b')).status).toBe('working');
});

it('a command that saves its work when its terminal goes has the time to, and its own exit code is kept', async () => {
  const script = 'trap "sleep 0.3; echo > saved; exit 6" HUP; echo $$ > worker; while :; do sleep 0.02; done';
  const { run } = await inTmux('sh', '-c', script);
  await sandbox.pidFrom('worker');
  panes.tmux('kill-session', '-t', `=${run.id}`);
  const ended = await eventually('its end is on record', () => eventsIn(sandbox, 'run.ended')[0]);
  expect(ended.data).toMatchObject({ outcome: 'stopped', exitCode: 6, signal: null });
});

it('a keeper killed by SIGKILL takes everything along: the run is lost, and nothing is left', async () => {
  const { run } = await inTmux('perl', '-e', DEAF);
  const tree = [await sandbox.pidFrom('worker'), await sandbox.pidFrom('grandchild')];
  signalSeen(see(run.keeperPid ?? 0), 'SIGKILL');
  const ended = await eventually('its end', async () => {
    const latest = (await sandbox.show('a')).run;
    return latest.state === 'ended' && latest;
  });
  expect(ended).toMatchObject({ outcome: 'lost', exitCode: null, signal: null });
  expect(tree.filter(isAlive)).toEqual([]);
  await eventually('its pane is gone', () => panes.names().length === 0);
});

describe('a stopped server', () => {
  it('makes nobody dead: the run works on, its screen is unknown, and it can be stopped', async () => {
    const { run } = await inTmux('sleep', '60');
    const worker = see(run.pid ?? 0);
    const server = panes.server();
    signalSeen(server, 'SIGSTOP');
    const [listed] = await sandbox.list();
    expect(listed).toMatchObject({ status: 'working', run: { liveness: 'alive', state: 'running' } });
    const unseen = await sandbox.json<{ error: { code: string } }>(['logs', '--screen', 'a'], 7);
    expect(unseen.error.code).toBe('tmux_unknown');
    expect(await sandbox.json(['stop', 'a'])).toMatchObject({ run: { outcome: 'stopped' }, wasLive: true });
    expect(isAlive(worker)).toBe(false);
    signalSeen(server, 'SIGCONT');
    await eventually('the server has ended with its last pane', () => !isAlive(server));
  });

  it('starts no session, and says so: nothing is left claimed, and nothing comes of it later', async () => {
    await inTmux('sleep', '60');
    const server = panes.server();
    signalSeen(server, 'SIGSTOP');
    const start = ['run', '--tmux', '--detach', '-s', 'b', '--', 'sh', '-c', 'echo > worked; exec sleep 60'];
    const refused = await sandbox.reeve(start);
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain('tmux');
    signalSeen(server, 'SIGCONT');
    await eventually('only the first pane is there', () => panes.names().length === 1);
    expect((await sandbox.json<SessionView[]>(['ls', '--live'])).map(({ name }) => name)).toEqual(['a']);
    expect((await sandbox.show('b')).run.outcome).toBe('never_started');
  });
});
