/** What can be done about a run from here: the one place that asks lifecycle/reach.ts, for all who judge, write or end. */
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ReeveError } from '../api/errors.ts';
import { directoryOf, placeOf, whyNotEnded, whyNotJudged } from '../lifecycle/reach.ts';
import { sharePids } from '../lifecycle/process-identity.ts';
import type { OutOfReach, Place } from '../lifecycle/reach.ts';
import type { Run } from '../lifecycle/run.ts';
import { maySignal } from '../process/may-signal.ts';
import { announcementsHeldBy, ownersDirectory } from '../process/owner-files.ts';
import type { SessionWithRun } from '../store/store.ts';
import type { Context } from './context.ts';
import { homeAt } from './home.ts';
import type { Home } from './home.ts';

/** Whoever reads a run's directory, or writes on its behalf, does so only where this is true. */
export function isHere(context: Context, run: Run): boolean {
  return placeOfRun(context, run).is === 'here';
}

/** Null when what is known of it is here, so that its end can be judged. */
export function notJudged(context: Context, run: Run): OutOfReach | null {
  return whyNotJudged(placeOfRun(context, run));
}

/** Null when this process may go on to end it. Asked before anything of that is on record. */
export function notEnded(context: Context, run: Run): OutOfReach | null {
  const place = placeOfRun(context, run);
  return whyNotEnded(run, place, place.is === 'other_host' ? [] : unsignallable(context, run));
}

export function isOnOtherHost(context: Context, run: Run): boolean {
  return placeOfRun(context, run).is === 'other_host';
}

function outOfReach(what: string, { because, wayOn, details }: OutOfReach): ReeveError {
  return new ReeveError('out_of_reach', `${what}: ${because}.`, { hint: `${wayOn}.`, details });
}

/** Throws for a run whose records are still there, in another state directory of this machine: no word outweighs them. */
export function refuseWord(context: Context, { session, run }: SessionWithRun): void {
  const place = placeOfRun(context, run);
  if (place.is !== 'other_directory' || place.directory === null || isGone(place.directory)) return;
  const away = whyNotJudged(place);
  if (away !== null) throw outOfReach(`${session.name} cannot be assumed gone`, away);
}

/** The command that a person goes on with where nothing can be proven from here. */
export function lastCommand(context: Context, { session: { name }, run }: SessionWithRun): string {
  const home = notJudged(context, run)?.details['home'];
  return home === undefined || isGone(home)
    ? `reeve kill ${name} --assume-gone`
    : `REEVE_HOME=${home} reeve settle ${name}`;
}

/** The same as a sentence that begins a hint. */
export function lastWay(context: Context, owner: SessionWithRun): string {
  const command = lastCommand(context, owner);
  return `${command.startsWith('reeve ') ? 'If you know that it is gone' : 'Where its records are'}: ${command}`;
}

/** One that may not be looked into is not known to be gone. */
function isGone(path: string): boolean {
  try {
    statSync(path);
    return false;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ENOENT';
  }
}

/** Throws where what is to be looked at is not here. */
export function requireHere(context: Context, { session, run }: SessionWithRun, what: string): void {
  const away = notJudged(context, run);
  if (away !== null) throw outOfReach(`${what} of ${session.name} (run ${run.id}) is not here`, away);
}

function placeOfRun(context: Context, run: Run): Place {
  const { home, table } = context;
  const place = placeOf(run, { ...table.host, hasRecords: hasRecords(home, run) });
  if (place.is !== 'other_directory' || place.directory !== null) return place;
  return { ...place, directory: directoryHeld(context, run) };
}

/** A copy of them proves nothing while the original is there. */
function hasRecords(home: Home, run: Run): boolean {
  const own = join(home.runs, run.id);
  const original = directoryOf(run);
  const path = original === null ? own : join(homeAt(original).runs, run.id);
  return existsSync(own) && (isGone(path) || isSameFile(own, path));
}

/** As behind another name of the state directory. What may not be looked at is not known to be the same. */
function isSameFile(one: string, other: string): boolean {
  try {
    const [first, second] = [statSync(one), statSync(other)];
    return first.dev === second.dev && first.ino === second.ino;
  } catch {
    return false;
  }
}

/** The state directory as its living keeper has it in its hands. */
function directoryHeld({ table, environment }: Context, { id, keeper }: Run): string | null {
  const reading = keeper === null ? null : table.read(keeper.pid);
  if (reading?.is !== 'there' || reading.fact.startTime !== keeper?.startTime) return null;
  const held = announcementsHeldBy(reading.fact, ownersDirectory(environment));
  return held.find((each) => each.run.id === id)?.home ?? null;
}

/** One that may not be signalled may still be killed with its cgroup, as a command under sudo. */
function unsignallable(context: Context, run: Run): readonly number[] {
  const { keeper, harness } = run;
  return [keeper, canKillCgroup(run) ? null : harness].flatMap((each) => {
    if (each === null || !sharePids(each, context.table.host)) return [];
    return maySignal(context.table, each) ? [] : [each.pid];
  });
}

function canKillCgroup({ containment }: Run): boolean {
  if (containment?.by !== 'cgroup') return false;
  try {
    accessSync(join(containment.path, 'cgroup.kill'), constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
