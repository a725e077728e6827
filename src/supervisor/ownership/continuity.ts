/**
 * Whenever a store is opened: is it the one that this host knew, and does it still know what it knew? If not, the living
 * runs of this state directory are put on record again, from what their keepers hold, before anything else is done.
 * Where several hosts share the store, all of them have to, before anything new is claimed.
 */
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { ReeveError } from '../../api/errors.ts';
import type { Run } from '../../lifecycle/run.ts';
import { judgeContinuity, systemToRecord } from '../../lifecycle/store-continuity.ts';
import type { SeenStore } from '../../lifecycle/store-continuity.ts';
import { seenFile } from '../../process/owner-files.ts';
import { readFile } from '../../process/reading.ts';
import type { Host, StoreState } from '../../store/store.ts';
import { isWriteRefused } from '../../store/write-refused.ts';
import type { Context } from '../context.ts';
import { groundOf, hostOf, isShared } from './ground.ts';
import type { Ground } from './ground.ts';
import { noteOtherUser, unknownOfOthers } from './other-users.ts';

/**
 * Answers with what keeps it from being known who lives, if anything does: nothing is claimed then. A store that can only
 * be read learns nothing, and is looked at all the same.
 */
export async function keepContinuity(context: Context): Promise<ReeveError | null> {
  try {
    return await compare(context);
  } catch (error) {
    if (isWriteRefused(error)) return error;
    throw error;
  }
}

async function compare(context: Context): Promise<ReeveError | null> {
  const before = readGround(context);
  if (before instanceof ReeveError) return before;
  // Before the store: what was seen of it was there by then, so the store cannot seem to be behind for a write meanwhile.
  const { ground, seen } = before;
  const state = await context.store.state(hostOf(context).id, seen);
  const system = systemToRecord(state);
  if (system !== null) await recordSystem(context, system, state.recordedSystem);
  const verdict = judgeContinuity(seen, state);
  switch (verdict.is) {
    case 'continued': {
      const isAsked = state.announced !== null && state.announced < state.incarnation;
      const isFirstLook = !lookedFrom(seen).includes(context.table.host.pidNamespace);
      if (isAsked || isFirstLook) {
        const because = isAsked
          ? 'the store has lost part of its history'
          : 'nobody who could see its processes has looked since the store was made';
        const doubt = await (await living()).announceLiving(context, ground, because);
        if (doubt !== null) return doubt;
      }
      // Others' runs count as well: a host that has only looked knows that they were there.
      const isBehind = isShared(context) && (seen?.id !== state.id || seen.seq < state.seq);
      if (isFirstLook || isBehind) await write(context, ground, state);
      return null;
    }
    case 'new':
      return (await living()).announceLiving(context, ground, 'the store is new');
    case 'broken':
      return recover(context, ground, { seen, state, because: verdict.because });
  }
}

/** Looking and ending need neither: they go by what the store says. */
function readGround(context: Context): { ground: Ground; seen: Seen | null } | ReeveError {
  try {
    const ground = groundOf(context);
    return { ground, seen: readSeen(ground) };
  } catch (error) {
    if (error instanceof ReeveError) return error;
    throw error;
  }
}

/** Whoever may only read leaves it to the next one who may write. */
async function recordSystem({ store }: Context, system: string, instead: string): Promise<void> {
  try {
    await store.recordSystem(system, instead);
  } catch (error) {
    if (!(error instanceof ReeveError && error.code === 'store_unavailable')) throw error;
  }
}

async function recover(
  context: Context,
  ground: Ground,
  { seen, state, because }: { seen: Seen | null; state: StoreState; because: string },
): Promise<ReeveError | null> {
  await context.store.beginIncarnation(state, seen?.hosts ?? []);
  if (seen !== null) await context.store.raiseEpochs(seen.epoch);
  const doubt = await (await living()).announceLiving(context, ground, because);
  // Found out again by the next one, until it is known who lives.
  if (doubt !== null) return doubt;
  // What it does not know now it is not asked about again; but which hosts there are is not forgotten a second time.
  rmSync(seenFile(ground.owners, ground), { force: true });
  await write(context, ground, await context.store.state(hostOf(context).id), { epoch: seen?.epoch ?? 0 });
  return null;
}

const living = () => import('./announce-living.ts');

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
    lookedFrom: withLook(last?.id === id ? last : null, context.table.host.pidNamespace),
  };
  const path = seenFile(ground.owners, ground);
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, JSON.stringify(seen), { mode: 0o600 });
  renameSync(temporary, path);
}

/** Before anything is claimed. A store of one machine was looked at when it was opened. */
export async function requireOwnersKnown(context: Context): Promise<void> {
  noteOtherUser(context);
  const unknown = await unknownOfOthers(context);
  if (unknown !== null) throw unknown;
  if (!isShared(context) && context.isInDoubt !== true) return;
  const doubt = await keepContinuity(context);
  if (doubt !== null) throw doubt;
  await registerHost(context);
}

/** A host has to be known to the store before it may have a run there. */
async function registerHost(context: Context): Promise<void> {
  if (!isShared(context)) return;
  const host = hostOf(context);
  if ((await context.store.state(host.id)).announced === null) await context.store.markAnnounced(host);
}

interface Seen extends SeenStore {
  /** The hosts that were known to the store: one that it has forgotten has to be heard too. */
  readonly hosts: readonly Host[];
  /**
   * The pid namespaces from which it was looked who lives. A run that the store has forgotten cannot be seen from another
   * one, so whoever looked there knows nothing of it. Absent in what an earlier version wrote.
   */
  readonly lookedFrom?: readonly string[];
}

/** Of one that was dropped from the list there is one look more. */
const MAX_LOOKED_FROM = 20;

function lookedFrom(seen: Seen | null): readonly string[] {
  return seen?.lookedFrom ?? [];
}

function withLook(seen: Seen | null, own: string): readonly string[] {
  return [...lookedFrom(seen).filter((each) => each !== own), own].slice(-MAX_LOOKED_FROM);
}

/** Null when nothing is known. What cannot be read must not pass for nothing. */
function readSeen(ground: Ground): Seen | null {
  const path = seenFile(ground.owners, ground);
  try {
    const seen: unknown = JSON.parse(readFile(path));
    if (isSeen(seen)) return seen;
    throw new SyntaxError('it is not what Reeve wrote');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    const because = error instanceof Error ? error.message : String(error);
    throw new ReeveError('unproven', `What was seen of the store cannot be read: ${because}.`, {
      hint:
        error instanceof SyntaxError
          ? `${path} is damaged. Only if you know that the store was not rolled back, remove it.`
          : `Make ${path} readable, then try again.`,
      cause: error,
    });
  }
}

/** Written whole, by this module: what is acted upon is checked. */
function isSeen(value: unknown): value is Seen {
  if (typeof value !== 'object' || value === null) return false;
  const {
    id,
    seq,
    epoch,
    run,
    session,
    hosts,
    lookedFrom: from,
  } = value as Partial<Record<keyof Seen, unknown>>;
  const isTexts = [id, run, session].every((each) => typeof each === 'string');
  return (
    isTexts &&
    typeof seq === 'number' &&
    typeof epoch === 'number' &&
    [hosts, from ?? []].every(Array.isArray)
  );
}
