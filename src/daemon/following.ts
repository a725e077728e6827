import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from '../supervisor/context.ts';
import type { StoredEvent } from '../supervisor/events.ts';
import type { Changes } from './changes.ts';
import { followEvents } from './follow-events.ts';
import type { Health } from './health.ts';

const TRY_AGAIN_MS = 1_000;

export interface Follower {
  readonly name: string;
  /** From where on it wants to see events. */
  readonly from: number;
  readonly take: (event: StoredEvent) => Promise<void> | void;
}

/** Hands each event to one part of the daemon. A store that cannot be read for a while is read on from where it was. */
export async function follow(
  context: Context,
  { changes, health }: { changes: Changes; health: Health },
  { name, from, take }: Follower,
  signal: AbortSignal,
): Promise<void> {
  let last = from;
  const read = async (range: { after: number; limit: number }) => {
    const events = await context.store.events(range);
    health.report(name, 'good', `at event ${events.at(-1)?.seq ?? range.after}`);
    return events;
  };
  while (!signal.aborted) {
    try {
      for await (const events of followEvents(read, changes, last, signal)) {
        for (const event of events) {
          await take(event);
          last = event.seq;
        }
      }
    } catch (error) {
      health.report(name, 'unreadable', error instanceof Error ? error.message : String(error));
      // Given up, it is over at once.
      await sleep(TRY_AGAIN_MS, undefined, { signal }).catch(() => {});
    }
  }
}
