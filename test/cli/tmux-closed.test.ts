/** A terminal in tmux that is closed, in each way there is. */
import { expect } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { DEAF, PLAIN } from '../fixtures/deaf-command.ts';
import { eventsIn } from '../fixtures/stand-in-harness.ts';
import type { Panes } from '../fixtures/stand-in-tui.ts';
import { eventually, isAlive, see, signalSeen } from '../support/processes.ts';
import { sideBySide, waiting } from '../support/side-by-side.ts';

const CLOSINGS: readonly (readonly [string, (panes: Panes, runId: string) => void])[] = [
  ['kill-session', (panes, runId) => void panes.tmux('kill-session', '-t', `=${runId}`)],
  ['kill-pane', (panes, runId) => void panes.tmux('kill-pane', '-t', `=${runId}:0.0`)],
  ['kill-server', (panes) => void panes.tmux('kill-server')],
  ['SIGTERM of the server', (panes) => signalSeen(panes.server(), 'SIGTERM')],
  ['SIGKILL of the server', (panes) => signalSeen(panes.server(), 'SIGKILL')],
];

const COMMANDS = [
  ['a command', PLAIN, 'SIGHUP'],
  ['a command that ignores HUP and TERM', DEAF, 'SIGKILL'],
] as const;

sideBySide('a terminal that is closed', () => {
  waiting.for(
    CLOSINGS.flatMap(([how, close]) => COMMANDS.map((command) => [how, ...command, close] as const)),
  )(
    'by %s ends %s with its escaped grandchild, and it is on record as stopped',
    async ([, , program, signal, close], { sandbox, panes }) => {
      const command = ['run', '--tmux', '--detach', '-s', 'a', '--', 'perl', '-e', program];
      const { run } = await sandbox.json<SessionView>(command);
      const tree = [await sandbox.pidFrom('worker'), await sandbox.pidFrom('grandchild')];
      const keeper = see(run.keeperPid ?? 0);
      close(panes, run.id);
      // In the store itself: nobody else looks, so the keeper did it alone.
      const ended = await eventually('its end is on record', () => eventsIn(sandbox, 'run.ended')[0]);
      expect(tree.filter(isAlive)).toEqual([]);
      expect(ended.data).toMatchObject({
        outcome: 'stopped',
        actor: 'keeper',
        reason: expect.stringContaining('its terminal was closed') as unknown,
        signal,
      });
      await eventually('its keeper is gone', () => !isAlive(keeper));
      expect(await sandbox.show('a')).toMatchObject({ status: 'stopped', run: { outcome: 'stopped' } });
    },
  );
});
