/** What the notifier needs of the store: which events are this host's to tell, and what a session is like now. */
import type { Context } from '../../supervisor/context.ts';
import type { StoredEvent } from '../../supervisor/events.ts';
import { isHere } from '../../supervisor/reach.ts';
import type { SessionDescription } from './message.ts';
import { isMuted, MUTE_KINDS } from '../../lifecycle/mute.ts';
import { TOLD_KINDS } from '../../lifecycle/notification.ts';
import type { Notification } from '../../lifecycle/notification.ts';
import type { Notifier } from './notifier.ts';

/** Hands an event to the notifier, if it is this host's to tell, and says whether its session is muted. */
export async function takeOwn(context: Context, notifier: Notifier, event: StoredEvent): Promise<void> {
  if (!(await isOfThisHost(context, event))) return;
  const mute = TOLD_KINDS.has(event.kind) ? await context.store.latestOf(event.sessionId, MUTE_KINDS) : null;
  notifier.take(event, isMuted(mute, event) ? 'muted' : 'told');
}

/** The daemons of other hosts tell about their runs. */
async function isOfThisHost(context: Context, { runId, data }: StoredEvent): Promise<boolean> {
  if (context.store.engine === 'sqlite') return true;
  // A review is its worker's and of no run; whoever has the reviewer tells of it.
  const id = runId ?? (typeof data['run'] === 'string' ? data['run'] : null);
  if (id === null) return true;
  const found = await context.store.run(id);
  return found !== null && isHere(context, found);
}

export async function describeSession(
  context: Context,
  { sessionId, runId }: Pick<Notification, 'sessionId' | 'runId'>,
): Promise<SessionDescription | null> {
  const [found] = await context.store.sessionsOf([sessionId]);
  if (found === undefined) return null;
  const { name, harness, cwd } = found.session;
  const { id, mode, state } = found.run;
  return { name, harness, cwd, run: id === runId ? { mode, isLive: state !== 'ended' } : null };
}
