/**
 * Who holds a session or a conversation although this store does not know it as an owner. Asked before a claim, so that
 * the answer is a clear one; what decides is the lock that the keeper takes.
 */
import { ReeveError } from '../../api/errors.ts';
import { sharePids } from '../../lifecycle/process-identity.ts';
import type { Announcement } from '../../lifecycle/announcement.ts';
import { probe } from '../../process/liveness.ts';
import {
  announcementsOf,
  conversationFile,
  readAnnouncement,
  sessionIdFile,
} from '../../process/owner-files.ts';
import type { Context } from '../context.ts';
import { continueKeeper } from '../continue-keeper.ts';
import { groundOf, isOf, isShared, namedFiles } from './ground.ts';

export interface Holder {
  readonly announcement: Announcement;
  /** Of this state directory and this store, which has forgotten it; otherwise of another one. */
  readonly isForgotten: boolean;
}

export async function holderOf(
  context: Context,
  wanted: {
    readonly session: { readonly name: string | undefined; readonly id: string | undefined };
    readonly harness: string;
    readonly nativeId: string | null;
    /** Not so where its id was made a moment ago. */
    readonly mayExist: boolean;
  },
): Promise<Holder | null> {
  const ground = groundOf(context);
  const { name, id } = wanted.session;
  const nativeId = wanted.mayExist ? wanted.nativeId : null;
  const named = name === undefined ? [] : namedFiles(ground, name);
  // Another store may have these too, which notices nothing when their files are lost.
  const known = [
    ...(id === undefined ? [] : [sessionIdFile(ground.owners, id)]),
    ...(nativeId === null ? [] : [conversationFile(ground.owners, wanted.harness, nativeId)]),
  ];
  const announcements = [
    ...named.flatMap((file) => readAnnouncement(file) ?? []),
    ...announcementsOf(context.table, ground.owners, known),
  ];
  for (const announcement of announcements) {
    const isOurs = isOf(ground, announcement);
    const isOfStore = isOurs || (isShared(context) && announcement.store === ground.store);
    const onRecord = isOfStore ? await context.store.run(announcement.run.id) : null;
    // It is dealt with as what the record says it is. Over, its keeper has only to let go of the session.
    if (onRecord?.state === 'ended') {
      continueKeeper(context, onRecord);
      if (onRecord.ending.proof === 'word')
        await (await import('./declared-gone.ts')).refuseLiving(context, announcement.session, onRecord);
    }
    if (onRecord !== null) continue;
    if (isHeld(context, announcement) || (isOurs && (await hasLeft(context, announcement))))
      return { announcement, isForgotten: isOurs };
  }
  return null;
}

/** Rare, so loaded late: a run that the store has forgotten, and whose keeper was killed. */
async function hasLeft(context: Context, announcement: Announcement): Promise<boolean> {
  return (await import('./announce-living.ts')).isLeftBehind(context, announcement);
}

/** Whether its keeper lives. Throws when that cannot be told of a process of this machine: nobody may conclude that it is gone. */
export function isHeld({ table }: Context, { session, run }: Announcement): boolean {
  const { keeper } = run;
  const liveness = probe(table, keeper);
  if (liveness.is === 'unknown' && sharePids(keeper, table.host)) {
    throw new ReeveError(
      'unproven',
      `Whether run ${run.id} of ${session.name} lives could not be seen: ${liveness.because}.`,
      { hint: 'Nothing was done, for it may own its session. Try again.' },
    );
  }
  return liveness.is === 'alive';
}
