/** The events of a session: the latest, which are asked for again when it changed, and earlier ones on demand. */
import { useEffect, useState } from 'preact/hooks';
import type { EventsView, EventView } from '../../../src/api/http-views.ts';
import { earlierEventsPath, latestEventsPath } from '../api/paths.ts';
import { failureOf, get } from '../api/request.ts';
import type { RequestFailure } from '../api/request.ts';
import { useLoaded, valueOf } from '../live/loaded.ts';

const LATEST_COUNT = 20;
const EARLIER_COUNT = 100;

export interface Events {
  /** The earliest first, without a gap. */
  readonly events: readonly EventView[];
  readonly isLoading: boolean;
  readonly failure: RequestFailure | null;
  /** Null when there are none. */
  readonly loadEarlier: (() => void) | null;
}

export function useEvents(sessionId: string, revision: number): Events {
  const loaded = useLoaded<EventsView>(latestEventsPath(sessionId, LATEST_COUNT), sessionId, revision);
  const latest = valueOf(loaded);
  const [known, setKnown] = useState<EventsView>({ events: [], next: null });
  const [failure, setFailure] = useState<RequestFailure | null>(null);
  useEffect(() => {
    if (latest !== null) setKnown((before) => withLatest(before, latest));
  }, [latest]);
  const { next } = known;
  return {
    events: known.events,
    isLoading: loaded.is === 'loading',
    failure: loaded.is === 'failed' ? loaded.failure : failure,
    loadEarlier:
      next === null
        ? null
        : () => {
            get<EventsView>(earlierEventsPath(sessionId, next, EARLIER_COUNT)).then(
              (page) => {
                setFailure(null);
                setKnown((before) => withEarlier(before, page, next));
              },
              (error: unknown) => setFailure(failureOf(error)),
            );
          },
  };
}

/** More may have happened since than is told at once; then what was known is let go, for a gap would be a lie. */
function withLatest(known: EventsView, latest: EventsView): EventsView {
  const firstSeq = latest.events[0]?.seq ?? 0;
  const lastSeq = known.events.at(-1)?.seq;
  if (lastSeq === undefined || lastSeq < firstSeq) return latest;
  return {
    events: [...known.events.filter(({ seq }) => seq < firstSeq), ...latest.events],
    next: known.next,
  };
}

/** An answer to a question of before, when two were asked, has come already. */
function withEarlier(known: EventsView, page: EventsView, before: number): EventsView {
  return known.next === before ? { events: [...page.events, ...known.events], next: page.next } : known;
}
