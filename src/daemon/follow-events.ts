import type { StoredEvent } from '../supervisor/events.ts';
import type { Changes } from './changes.ts';

/** How many are in memory at once for one reader, however far behind it is. */
const BATCH = 500;

type ReadEvents = (range: { after: number; limit: number }) => Promise<readonly StoredEvent[]>;

/**
 * The log from a number on, for ever: every event once, in order. The place of the reader is all there is to know of
 * it, so one that comes back after a restart of either side goes on where it was.
 */
export async function* followEvents(
  read: ReadEvents,
  changes: Changes,
  from: number,
  signal: AbortSignal,
): AsyncGenerator<readonly StoredEvent[]> {
  let after = from;
  while (!signal.aborted) {
    const version = changes.version();
    const events = await read({ after, limit: BATCH });
    if (events.length === 0) {
      await changes.after(version, signal);
      continue;
    }
    yield events;
    after = events.at(-1)?.seq ?? after;
  }
}
