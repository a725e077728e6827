import { ReeveError } from '../api/errors.ts';
import type { RunView } from '../api/session-view.ts';
import type { Context } from './context.ts';
import { homeFrom } from './home.ts';

/** What to type into a terminal to join a session, wherever that terminal is on this machine. */
export function joinCommand(context: Context, name: string, run: RunView): string {
  if (run.state === 'ended') {
    throw new ReeveError('not_found', `${name} has no live run to attach to.`, {
      hint: `Start it again: reeve resume ${name}`,
    });
  }
  const usual = homeFrom({ ...context.environment, REEVE_HOME: '' }).path;
  const place = context.home.path === usual ? '' : `REEVE_HOME=${quoted(context.home.path)} `;
  return `${place}reeve attach ${quoted(name)}`;
}

function quoted(word: string): string {
  return /^[\w./:@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
