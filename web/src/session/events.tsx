import type { EventView, SessionDetailView } from '../../../src/api/http-views.ts';
import { now } from '../live/now.ts';
import { FailureText } from '../parts/message.tsx';
import { clock, shortClock } from '../words/time.ts';
import { Panel } from './panel.tsx';
import { useEvents } from './use-events.ts';

/** The raw record, latest first: number, kind, by whom. What it means is told by `Why`. */
export function Events({
  session,
  revision,
}: {
  readonly session: SessionDetailView;
  readonly revision: number;
}) {
  const { events, isLoading, failure, loadEarlier } = useEvents(session.id, revision);
  return (
    <Panel title="Events" note="latest first">
      {failure !== null && <FailureText failure={failure} />}
      {isLoading && <p class="dim">Loading</p>}
      <ol class="events" role="list">
        {events.toReversed().map((event) => (
          <Event key={event.seq} event={event} />
        ))}
      </ol>
      {loadEarlier !== null && (
        <button type="button" class="small" onClick={loadEarlier}>
          Load earlier
        </button>
      )}
    </Panel>
  );
}

function Event({ event }: { readonly event: EventView }) {
  const atMs = Date.parse(event.at);
  return (
    <li title={event.text}>
      <span class="dim seq">{event.seq}</span>
      <time dateTime={event.at} title={clock(atMs)}>
        {shortClock(atMs, now.peek())}
      </time>
      <span class="mono kind">{event.kind}</span>
      <span class="dim by">{event.actor}</span>
    </li>
  );
}
