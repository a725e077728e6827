/**
 * A command inside a run that has lost the address of the store, as by `env -i`, would open SQLite in the state directory,
 * where the run's session has no owner. It is known by descent, whatever is left of its environment: a keeper is above it.
 */
import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { ReeveError } from '../../api/errors.ts';
import type { Announcement } from '../../lifecycle/announcement.ts';
import {
  announcementsHeldBy,
  announcementsIn,
  copyIn,
  ownersDirectory,
  readAnnouncement,
} from '../../process/owner-files.ts';
import type { ProcessFact, ProcessTable } from '../../process/process-table.ts';
import { isThere } from '../../process/reading.ts';
import { RUN_MARK } from '../../process/tree.ts';
import type { Machine } from '../context.ts';

/** Before SQLite is opened. A run of another state directory is none of this one's business: Reeve is tested inside Reeve. */
export function refuseInsideOtherStore(machine: Machine): void {
  const announcement = marked(machine) ?? nearestAbove(machine);
  if (announcement === null || announcement.store === 'sqlite') return;
  const { home, store, session, run } = announcement;
  throw new ReeveError(
    'store_withheld',
    `This is inside run ${run.id} of ${session.name}, whose store is ${store}, but REEVE_STORE is not set.`,
    {
      hint: `Nothing was opened. Keep the run’s environment (REEVE_STORE, REEVE_RUN, REEVE_TOKEN), or do it from outside; a state directory other than ${home} may be used from here.`,
      details: { run: run.id, session: session.name, store },
    },
  );
}

/** By the mark in the environment, for as long as the run is on. */
function marked({ home, environment }: Machine): Announcement | null {
  const run = environment[RUN_MARK] ?? '';
  if (run === '') return null;
  const directory = join(home.runs, run);
  return isThere(join(directory, 'exit.json')) ? null : readAnnouncement(copyIn(directory));
}

/** Of the keepers above this process, the nearest of this state directory. */
function nearestAbove({ home, table, environment }: Machine): Announcement | null {
  const path = realpathSync(home.path);
  const isHere = (each: Announcement) => each.home === path;
  // Elsewhere nobody can look into a keeper's hands, and to ask for a parent is to start a program: only what the files say.
  const written =
    process.platform === 'linux' ? null : announcementsIn(ownersDirectory(environment)).filter(isHere);
  if (written?.length === 0) return null;
  for (const fact of above(table)) {
    const held =
      written?.filter(({ run: { keeper } }) => isSame(keeper, fact)) ??
      heldBy(fact, environment).filter(isHere);
    if (held[0] !== undefined) return held[0];
  }
  return null;
}

function heldBy(fact: ProcessFact, environment: Machine['environment']): readonly Announcement[] {
  if (!fact.name.startsWith('reeve-keeper')) return [];
  return announcementsHeldBy(fact, ownersDirectory(environment));
}

function isSame(keeper: Announcement['run']['keeper'], { pid, startTime }: ProcessFact): boolean {
  return keeper.pid === pid && keeper.startTime === startTime;
}

/** One by one: mostly there are few, and the whole table need not be read for them. */
function* above(table: ProcessTable): Iterable<ProcessFact> {
  const seen = new Set([process.pid]);
  for (let pid = process.ppid; pid > 0 && !seen.has(pid);) {
    seen.add(pid);
    const reading = table.read(pid);
    if (reading.is !== 'there') return;
    yield reading.fact;
    pid = reading.fact.parentPid;
  }
}
