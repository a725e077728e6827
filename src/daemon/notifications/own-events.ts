/** What the notifier needs of the store: which events are this host's to tell, and what a session is like now. */
import type { Context } from '../../supervisor/context.ts';
import type { StoredEvent } from '../../supervisor/events.ts';
import { isHere } from '../../supervisor/reach.ts';
import type { SessionDescription } from './message.ts';
import type { Notification } from '../../lifecycle/notification.ts';

/** The daemons of other hosts tell about their runs. */
export async function isOfThisHost(context: Context, { runId, data }: StoredEvent): Promise<boolean> {
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
