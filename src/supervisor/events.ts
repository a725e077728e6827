/** The log of all that happened, as every way out tells it. */
import type { EventView, EventsView } from '../api/http-views.ts';
import { tellStory } from '../lifecycle/story.ts';
import type { EventRange } from '../store/log.ts';
import type { StoredEvent } from '../store/store.ts';
import type { Context } from './context.ts';
import { resolveSession } from './resolve.ts';

export type { StoredEvent } from '../store/store.ts';

export interface EventsRequest {
  readonly after?: number | undefined;
  readonly before?: number | undefined;
  readonly limit: number;
  readonly session?: string | undefined;
}

export async function events(context: Context, request: EventsRequest): Promise<EventsView> {
  const { session, ...range } = request;
  const sessionId = session === undefined ? undefined : (await resolveSession(context, session)).session.id;
  const found = await context.store.events({ ...range, sessionId } satisfies EventRange);
  const isFull = found.length === request.limit;
  const next = request.after === undefined ? found[0]?.seq : found.at(-1)?.seq;
  return { events: await viewEvents(context, found), next: isFull ? (next ?? null) : null };
}

export async function viewEvents(
  context: Context,
  stored: readonly StoredEvent[],
): Promise<readonly EventView[]> {
  const ids = [...new Set(stored.map(({ sessionId }) => sessionId))];
  const names = new Map(
    (await context.store.sessionsOf(ids)).map(({ session }) => [session.id, session.name]),
  );
  const sentences = tellStory(stored);
  return stored.map((event, index) => ({
    seq: event.seq,
    at: new Date(event.atMs).toISOString(),
    sessionId: event.sessionId,
    session: names.get(event.sessionId) ?? null,
    run: event.runId,
    kind: event.kind,
    actor: event.actor,
    text: sentences[index]?.text ?? '',
  }));
}
