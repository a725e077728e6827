/** Mutes a session's notifications, and ends that: an event of the session, which every host that shares the store heeds. */
import type { MuteView } from '../api/http-views.ts';
import { ReeveError } from '../api/errors.ts';
import { MUTE_KINDS, muteAt } from '../lifecycle/mute.ts';
import type { Mute } from '../lifecycle/mute.ts';
import type { Context } from './context.ts';
import { resolveSession } from './resolve.ts';
import { isoTime } from './view.ts';

/** Null for good. */
export async function mute(context: Context, reference: string, untilMs: number | null): Promise<MuteView> {
  const { session } = await resolveSession(context, reference);
  if (untilMs !== null && untilMs <= Date.now()) {
    throw new ReeveError('usage', 'The time until which it is to be muted is over.', {
      hint: 'Give a time to come.',
    });
  }
  const until = untilMs === null ? null : isoTime(untilMs);
  await note(context, session.id, 'notify.muted', { untilMs, until });
  return { session: session.name, id: session.id, muted: true, until };
}

/** The same answer for one that was not muted, of which nothing is put on record. */
export async function unmute(context: Context, reference: string): Promise<MuteView> {
  const { session } = await resolveSession(context, reference);
  if ((await muteOf(context, session.id)) !== null) await note(context, session.id, 'notify.unmuted', {});
  return { session: session.name, id: session.id, muted: false, until: null };
}

/** Null when it is not muted now. */
export async function muteOf({ store }: Context, sessionId: string): Promise<Mute | null> {
  return muteAt(await store.latestOf(sessionId, MUTE_KINDS), Date.now());
}

function note(
  { store, actor }: Context,
  sessionId: string,
  kind: (typeof MUTE_KINDS)[number],
  data: Readonly<Record<string, unknown>>,
): Promise<void> {
  return store.note({ sessionId, runId: null, kind, actor, data }, 'always');
}
