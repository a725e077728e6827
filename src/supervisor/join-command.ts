import { ReeveError } from '../api/errors.ts';
import type { JoinView } from '../api/http-views.ts';
import { hostName } from '../lifecycle/reach.ts';
import type { OutOfReach } from '../lifecycle/reach.ts';
import type { Run } from '../lifecycle/run.ts';
import type { SessionWithRun } from '../store/store.ts';
import type { Context } from './context.ts';
import { homeFrom } from './home.ts';
import { notJudged } from './reach.ts';

/** What to type into a terminal to join a session, and on which machine; where there is nothing to type, why. */
export function joinCommand(context: Context, { session: { name }, run }: SessionWithRun): JoinView {
  refuseJoin(name, run);
  const away = notJudged(context, run);
  const usual = homeFrom({ ...context.environment, REEVE_HOME: '' }).path;
  return joinFrom(away, name, context.home.path === usual ? null : context.home.path);
}

function refuseJoin(name: string, run: Run): void {
  if (run.state === 'ended') {
    throw new ReeveError('not_found', `${name} has no live run to attach to.`, {
      hint: `Start it again: reeve resume ${name}`,
    });
  }
  if (run.mode === 'tmux' || run.logPath !== null) return;
  throw new ReeveError(
    'no_log',
    `${name} does not run in tmux (${run.mode}) and keeps no log, so there is nothing to join or to follow.`,
    { hint: 'Go to the terminal it was started in.' },
  );
}

/** `home` is null where a terminal finds it by itself. */
export function joinFrom(away: OutOfReach | null, name: string, home: string | null): JoinView {
  const command = (place: string | null) =>
    `${place === null ? '' : `REEVE_HOME=${quoted(place)} `}reeve attach ${quoted(name)}`;
  if (away === null) return { command: command(home), host: null };
  const { home: elsewhere, host } = away.details;
  if (elsewhere !== undefined) return { command: command(elsewhere), host: null };
  // Where its state directory is on that machine is not known here.
  if (host !== undefined) return { command: command(null), host: hostName(host) };
  throw new ReeveError('out_of_reach', `${name} cannot be joined from here: ${away.because}.`, {
    hint: `${away.wayOn}.`,
  });
}

function quoted(word: string): string {
  return /^[\w./:@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
