/** Joining a session in tmux, leaving it, and what is said when it ends meanwhile. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { inTerminal, openPanes } from '../fixtures/stand-in-tui.ts';
import type { Panes } from '../fixtures/stand-in-tui.ts';
import { eventually, isAlive, see } from '../support/processes.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
let panes: Panes;
beforeEach(() => {
  sandbox = createSandbox();
  panes = openPanes(sandbox);
});
afterEach(() => panes.cleanUp());

const LEAVE = '\u0002d';
const READER = 'echo $$ > worker; while read -r line; do echo "got $line"; [ "$line" = end ] && exit 3; done';
const startReader = () =>
  sandbox.json<SessionView>(['run', '--tmux', '--detach', '-s', 'a', '--', 'sh', '-c', READER]);
const attached = () =>
  eventually(
    'the client is attached',
    () => panes.tmux('list-clients', '-F', '#{client_session}').stdout !== '',
  );

describe('a session that is joined', () => {
  it('shows its screen, takes what is typed, and goes on when it is left: exit 0, and so it is said', async () => {
    const { run } = await startReader();
    const worker = see(run.pid ?? 0);
    const terminal = inTerminal(sandbox, ['attach', 'a']);
    await attached();
    terminal.type('hello\r');
    await eventually('the answer is shown', () => terminal.shown().includes('got hello'));
    terminal.type(LEAVE);
    expect((await terminal.done).code).toBe(0);
    expect(terminal.shown()).toContain('a goes on (working)');
    expect(isAlive(worker)).toBe(true);
    expect((await sandbox.reeve(['logs', 'a'])).stdout).toContain('got hello');
  });

  it('is joined at once by the `run --tmux` that starts it, and left running', async () => {
    const terminal = inTerminal(sandbox, ['run', '--tmux', '-s', 'a', '--', 'sh', '-c', READER]);
    const worker = await sandbox.pidFrom('worker');
    await attached();
    terminal.type(LEAVE);
    expect((await terminal.done).code).toBe(0);
    expect(isAlive(worker)).toBe(true);
    expect(await sandbox.show('a')).toMatchObject({ status: 'working', run: { mode: 'tmux' } });
  });

  it('is joined by a start that finds it alive with --on-live attach', async () => {
    const { run } = await startReader();
    const start = ['run', '--tmux', '--on-live', 'attach', '-s', 'a', '--', 'touch', 'started'];
    const terminal = inTerminal(sandbox, start);
    await attached();
    terminal.type(LEAVE);
    expect((await terminal.done).code).toBe(0);
    expect((await sandbox.show('a')).run.id).toBe(run.id);
  });

  it('that ends meanwhile gives its own exit code, and it is said how it ended', async () => {
    await startReader();
    const terminal = inTerminal(sandbox, ['attach', 'a']);
    await attached();
    terminal.type('end\r');
    expect((await terminal.done).code).toBe(3);
    expect(terminal.shown()).toContain('a is failed: it exited with code 3.');
  });

  it('that is stopped meanwhile says who stopped it: exit 0', async () => {
    await startReader();
    const terminal = inTerminal(sandbox, ['attach', 'a']);
    await attached();
    await sandbox.json(['stop', 'a']);
    expect((await terminal.done).code).toBe(0);
    expect(terminal.shown()).toMatch(/a is stopped: \w+ stopped it\./);
  });

  it('whose pane is closed meanwhile is not said to go on', async () => {
    const { run } = await startReader();
    const terminal = inTerminal(sandbox, ['attach', 'a']);
    await attached();
    panes.tmux('kill-session', '-t', `=${run.id}`);
    expect((await terminal.done).code).toBe(0);
    expect(terminal.shown()).toContain('a is stopped: its terminal was closed');
  });

  it('from inside the user’s own tmux is joined too', async () => {
    const { run } = await startReader();
    const terminal = inTerminal(sandbox, ['attach', 'a'], { TMUX: '/nowhere/socket,1,0', TMUX_PANE: '%0' });
    await attached();
    terminal.type(LEAVE);
    expect((await terminal.done).code).toBe(0);
    expect(isAlive(see(run.pid ?? 0))).toBe(true);
  });

  it('offers no keys to split it, to kill it, or to open other windows', async () => {
    await startReader();
    const terminal = inTerminal(sandbox, ['attach', 'a']);
    await attached();
    // C-b and: kill the window, confirm; new window; split; a command line.
    terminal.type('\u0002&y\u0002c\u0002%\u0002:kill-server\r');
    terminal.type('after\r');
    await eventually('the last was read', () => terminal.shown().includes('after'));
    expect(panes.tmux('list-panes', '-a').stdout.trim().split('\n')).toHaveLength(1);
    terminal.type(LEAVE);
    expect((await terminal.done).code).toBe(0);
  });
});

describe('a session that cannot be joined', () => {
  it('for want of a terminal says so in a sentence, and goes on', async () => {
    const { run } = await startReader();
    const result = await sandbox.reeve(['attach', 'a']);
    expect(result.code).not.toBe(0);
    expect(result.stderr).toContain('terminal');
    expect(isAlive(see(run.pid ?? 0))).toBe(true);
  });

  it('because it has ended exits with 3', async () => {
    await startReader();
    await sandbox.json(['stop', 'a']);
    expect((await sandbox.reeve(['attach', 'a'])).code).toBe(3);
  });
});
