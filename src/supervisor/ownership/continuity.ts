/**
 * Whenever a store is opened: is it the one that this host knew, and does it still know what it knew? If not, the living
 * runs of this state directory are put on record again, from what their keepers hold, before anything else is done.
 * Where several hosts share the store, all of them have to, before anything new is claimed.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { ReeveError } from '../../api/errors.ts';
import { activityAfterLoss } from '../../lifecycle/announcement.ts';
import type { Announcement } from '../../lifecycle/announcement.ts';
import { installationIn } from '../../lifecycle/installation.ts';
import type { ProcessIdentity } from '../../lifecycle/process-identity.ts';
import type { Run, RunningRun } from '../../lifecycle/run.ts';
import { judgeContinuity } from '../../lifecycle/store-continuity.ts';
import type { SeenStore } from '../../lifecycle/store-continuity.ts';
import { harnessBelow } from '../../process/harness-below.ts';
import { announcementsHeld, announcementsIn, seenFile } from '../../process/owner-files.ts';
import { createRunDirectory } from '../../process/run-directory.ts';
import type { AnnounceResult, Host, StoreState } from '../../store/store.ts';
import type { Context } from '../context.ts';
import { runDirectory } from '../liveness.ts';
import { isHere } from '../reach.ts';
import { reconcileRun } from '../reconcile.ts';
import { newId } from '../new-id.ts';
import { restoreSpool } from '../reports.ts';
import { groundOf } from './ground.ts';
import { isHeld } from './holder.ts';
import type { Ground } from './ground.ts';

export async function keepContinuity(context: Context): Promise<void> {
  const ground = groundOf(context);
  // Before the store: what was seen of it was there by then, so the store cannot seem to be behind for a write meanwhile.
  const seen = readSeen(ground);
  const state = await context.store.state(hostOf(context).id, seen);
  if (state.recordedSystem === '' && state.system !== '') await recordSystem(context, state.system);
  const verdict = judgeContinuity(seen, state);
  switch (verdict.is) {
    case 'continued':
      if (state.announced !== null && state.announced < state.incarnation)
        await announceLiving(context, ground, 'the store has lost part of its history');
      // Others' runs count as well: a host that has only looked knows that they were there.
      if (isShared(context) && (seen?.id !== state.id || seen.seq < state.seq))
        await write(context, ground, state);
      return;
    case 'new':
      await announceLiving(context, ground, 'the store is new');
      return;
    case 'broken':
      await recover(context, ground, { seen, state, because: verdict.because });
  }
}

/** Whoever may only read leaves it to the next one who may write. */
async function recordSystem({ store }: Context, system: string): Promise<void> {
  try {
    await store.recordSystem(system);
  } catch (error) {
    if (!(error instanceof ReeveError && error.code === 'store_unavailable')) throw error;
  }
}

async function recover(
  context: Context,
  ground: Ground,
  { seen, state, because }: { seen: Seen | null; state: StoreState; because: string },
): Promise<void> {
  await context.store.beginIncarnation(state, seen?.hosts ?? []);
  if (seen !== null) await context.store.raiseEpochs(seen.epoch);
  await announceLiving(context, ground, because);
  // What it does not know now it is not asked about again; but which hosts there are is not forgotten a second time.
  rmSync(seenFile(ground.owners, ground), { force: true });
  await write(context, ground, await context.store.state(hostOf(context).id), { epoch: seen?.epoch ?? 0 });
}

/** The living runs of this state directory in this store, from its files and from the hands of their keepers. */
async function announceLiving(context: Context, ground: Ground, because: string): Promise<void> {
  const held = new Map(
    [...announcementsIn(ground.owners), ...announcementsHeld(context.table)]
      .filter(({ home, store }) => home === ground.home && store === ground.store)
      .map((each) => [each.run.id, each]),
  );
  const living = [...held.values()].filter((each) => isHeld(context, each));
  for (const each of living) await announce(context, each, because);
  const host = hostOf(context);
  const isKnown = living.length > 0 || (await context.store.state(host.id)).announced !== null;
  if (isShared(context) && isKnown) await context.store.markAnnounced(host);
}

export async function announce(
  context: Context,
  { session, run }: Announcement,
  because: string,
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
  return context.store.announce({ session, run: ofHere(context, living), because, newSessionId: newId('s') });
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

/** After a claim: what a store that has forgotten it would be found out by. */
export async function noteSeen(context: Context, run: Run): Promise<void> {
  const state = await context.store.state(hostOf(context).id);
  await write(context, groundOf(context), state, { run: run.id, session: run.sessionId, epoch: run.epoch });
}

async function write(
  context: Context,
  ground: Ground,
  { id, seq }: StoreState,
  known: Partial<SeenStore> = {},
): Promise<void> {
  const hosts = isShared(context) ? await context.store.hosts() : [];
  const last = readSeen(ground);
  const before = last?.id === id ? last : { run: '', session: '', seq: 0, epoch: last?.epoch ?? 0 };
  const seen: Seen = {
    id,
    seq: Math.max(seq, before.seq),
    epoch: Math.max(known.epoch ?? 0, before.epoch),
    run: known.run ?? before.run,
    session: known.session ?? before.session,
    hosts: hosts.map((host) => ({ id: host.id, name: host.name })),
  };
  const path = seenFile(ground.owners, ground);
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, JSON.stringify(seen), { mode: 0o600 });
  renameSync(temporary, path);
}

/** A host has to be known to the store before it may have a run there. */
export async function registerHost(context: Context): Promise<void> {
  if (!isShared(context)) return;
  const host = hostOf(context);
  if ((await context.store.state(host.id)).announced === null) await context.store.markAnnounced(host);
}

interface Seen extends SeenStore {
  /** The hosts that were known to the store: one that it has forgotten has to be heard too. */
  readonly hosts: readonly Host[];
}

/** Null when nothing is known. What cannot be read must not pass for nothing. */
function readSeen(ground: Ground): Seen | null {
  const path = seenFile(ground.owners, ground);
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Seen; // Written whole, by this module.
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    const because = error instanceof Error ? error.message : String(error);
    throw new ReeveError('unproven', `What was seen of the store cannot be read: ${because}.`, {
      hint: `Make ${path} readable, then try again. Only if it is damaged and you know that the store was not rolled back, remove it.`,
      cause: error,
    });
  }
}

function isShared({ store }: Context): boolean {
  return store.engine === 'postgres';
}

function hostOf({ table }: Context): Host {
  const { host } = table.host;
  return { id: installationIn(host), name: host.split('/')[0] ?? host };
}
