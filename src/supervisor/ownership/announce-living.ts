/** Puts living runs on record again that the store has forgotten, from what their keepers hold. Rare, so loaded late. */
import { join } from 'node:path';
import { ReeveError } from '../../api/errors.ts';
import { activityAfterLoss } from '../../lifecycle/announcement.ts';
import type { Announcement } from '../../lifecycle/announcement.ts';
import { mayBeOneBoot } from '../../lifecycle/process-identity.ts';
import type { ProcessIdentity } from '../../lifecycle/process-identity.ts';
import type { Run, RunningRun } from '../../lifecycle/run.ts';
import { harnessBelow } from '../../process/harness-below.ts';
import { probe } from '../../process/liveness.ts';
import { announcementsHeld, announcementsIn, announcementsInRuns } from '../../process/owner-files.ts';
import { isThere } from '../../process/reading.ts';
import { createRunDirectory } from '../../process/run-directory.ts';
import type { AnnounceResult, Forgotten } from '../../store/store.ts';
import type { Context } from '../context.ts';
import { restoreSpool } from '../create-spool.ts';
import { runDirectory } from '../liveness.ts';
import { newId } from '../new-id.ts';
import { isHere } from '../reach.ts';
import { reconcileRun } from '../reconcile.ts';
import { treeOf } from '../tree-of.ts';
import { hostOf, isOf, isShared } from './ground.ts';
import type { Ground } from './ground.ts';
import { isHeld } from './holder.ts';
import { unknownOfOthers } from './other-users.ts';

/**
 * The living runs of this state directory in this store, from its files, from the directories of its runs
 * and from the hands of their keepers. Answers with
 * what keeps it from being known that these are all.
 */
export async function announceLiving(
  context: Context,
  ground: Ground,
  because: string,
): Promise<ReeveError | null> {
  const { announcements, doubt } = announcementsHeld(context.table, ground.owners);
  const held = new Map(
    [...announcementsInRuns(context.home.runs), ...announcementsIn(ground.owners), ...announcements]
      .filter((each) => isOf(ground, each))
      .map((each) => [each.run.id, each]),
  );
  const living: Sighted[] = [];
  for (const each of held.values()) {
    const sight = await sightOf(context, each);
    if (sight !== 'gone') living.push({ announcement: each, isSeen: sight === 'alive' });
  }
  living.push(...vanishedParents(living, held));
  // Of one session, who is seen has its name before who is not, and a later run before an earlier one.
  living.sort(
    (a, b) => Number(b.isSeen) - Number(a.isSeen) || b.announcement.run.epoch - a.announcement.run.epoch,
  );
  for (const { announcement, isSeen } of living) await announce(context, announcement, { because, isSeen });
  const unknown = doubt ?? (await unknownOfOthers(context));
  if (unknown !== null) return unknown;
  const host = hostOf(context);
  const isKnown = living.length > 0 || (await context.store.state(host.id)).announced !== null;
  if (isShared(context) && isKnown) await context.store.markAnnounced(host);
  return null;
}

interface Sighted {
  readonly announcement: Announcement;
  readonly isSeen: boolean;
}

/**
 * The runs above those that live, of which nothing is left: on record again, each is accounted for as any run without a
 * keeper, and with that what it started is dealt with. Nobody else would do it.
 */
function vanishedParents(
  living: readonly Sighted[],
  held: ReadonlyMap<string, Announcement>,
): readonly Sighted[] {
  const known = new Set(living.map(({ announcement }) => announcement.run.id));
  const below = living.map(({ announcement }) => announcement);
  const vanished: Sighted[] = [];
  for (const { run } of below) {
    const owner = held.get(run.parent?.ownerId ?? '');
    if (owner === undefined || known.has(owner.run.id)) continue;
    known.add(owner.run.id);
    below.push(owner);
    vanished.push({ announcement: owner, isSeen: false });
  }
  return vanished;
}

/** One that cannot be judged may live: on record it is shown as unknown, and stands in the way of its own session only. */
async function sightOf(context: Context, announcement: Announcement): Promise<'alive' | 'unseen' | 'gone'> {
  try {
    if (isHeld(context, announcement)) return 'alive';
    if (isOutOfSight(context, announcement)) return 'unseen';
    return (await isLeftBehind(context, announcement)) ? 'alive' : 'gone';
  } catch (error) {
    if (error instanceof ReeveError && error.code === 'unproven') return 'unseen';
    throw error;
  }
}

/** In another container of this machine, where it can be neither seen nor missed from here, and no end is on disk. */
function isOutOfSight(context: Context, { run }: Announcement): boolean {
  const { table } = context;
  if (!mayBeOneBoot(run.keeper, table.host) || probe(table, run.keeper).is !== 'unknown') return false;
  return !isThere(join(runDirectory(context, run.id), 'exit.json'));
}

/** Its keeper was killed, and what it had started lives on. On record again, it is ended as of any dead keeper. */
export async function isLeftBehind(context: Context, { run }: Announcement): Promise<boolean> {
  if (!mayBeOneBoot(run.keeper, context.table.host)) return false;
  return (await treeOf(context, run)).find().length > 0;
}

export async function announce(
  context: Context,
  { session, run }: Announcement,
  how: Pick<Forgotten, 'because' | 'isSeen'>,
): Promise<AnnounceResult> {
  await accountForOwner(context, session.name, run);
  // Removed with the state directory, it is where the keeper will put the exit, and its harness what it reports.
  createRunDirectory(runDirectory(context, run.id));
  restoreSpool(context, run.id);
  const living: RunningRun = {
    ...run,
    // Written down before the harness was started, it does not name that.
    harness: run.harness ?? (run.mode === 'adopted' ? null : harnessBelow(context.table, run.keeper)),
    activity: activityAfterLoss(session, Date.now()),
  };
  return context.store.announce({ session, run: ofHere(context, living), ...how, newSessionId: newId('s') });
}

/** A store that went back may have an earlier run of the session as its owner, which is gone: then it is ended on record. */
async function accountForOwner(context: Context, name: string, { id }: Run): Promise<void> {
  const owner = (await context.store.sessionByName(name))?.run;
  if (owner === undefined || owner.id === id || owner.state === 'ended' || !isHere(context, owner)) return;
  await reconcileRun(context, owner);
}

/** A state directory that was made anew has a new identity, and what it had started is its own all the same. */
function ofHere({ table }: Context, run: RunningRun): RunningRun {
  const { host, boot } = table.host;
  const here = <T extends ProcessIdentity | null>(process: T): T =>
    process?.boot === boot ? { ...process, host } : process;
  return { ...run, launcher: here(run.launcher), keeper: here(run.keeper), harness: here(run.harness) };
}
