/**
 * How a queue of notifications to one receiver is worked off: what comes next, when, and when to stop trying.
 *
 * The one that was tried least comes first, the oldest of those: a receiver that refuses one message time and again still
 * gets the others, and one that is down gets them in about their order once it is back. After a failure the whole
 * receiver is left alone for a while, for it is mostly the receiver that is the cause and not the message.
 */
import type { Notification } from './notification.ts';

/** What became of one attempt. */
export type Attempt =
  | { readonly is: 'delivered' }
  /** Slow, down, or asking for time; `afterMs` is what it asked for. */
  | { readonly is: 'failed'; readonly because: string; readonly afterMs?: number }
  /** It would be no use to try the same again. */
  | { readonly is: 'refused'; readonly because: string };

export interface Pending {
  readonly notification: Notification;
  readonly attempts: number;
}

export interface Queue {
  /** In the order in which they happened. */
  readonly waiting: readonly Pending[];
  /** How many were given up since the last that arrived, which the next one tells. */
  readonly missed: number;
}

export const EMPTY_QUEUE: Queue = { waiting: [], missed: 0 };

/** A person reads no more than this after an absence; what is older is on the page. */
export const MAX_WAITING = 100;
/** With the pauses below: about an hour of a receiver that is down, for a single message. */
export const MAX_ATTEMPTS = 20;
/** What happened longer ago is news to nobody. */
export const MAX_AGE_MS = 24 * 60 * 60 * 1000;
/** Short enough for a restart of the receiver to go unnoticed, doubled with each failure in a row. */
export const FIRST_PAUSE_MS = 1_000;
/** So often nobody minds, and so soon after it is back the receiver is told. */
export const LONGEST_PAUSE_MS = 5 * 60 * 1000;

export function enqueue(queue: Queue, notification: Notification): Queue {
  const waiting = [...queue.waiting, { notification, attempts: 0 }];
  const excess = Math.max(0, waiting.length - MAX_WAITING);
  return { waiting: waiting.slice(excess), missed: queue.missed + excess };
}

/** Without what there is of one session, which nobody wants to be told any more. */
export function withoutSession(queue: Queue, sessionId: string): Queue {
  const waiting = queue.waiting.filter(({ notification }) => notification.sessionId !== sessionId);
  return waiting.length === queue.waiting.length ? queue : { ...queue, waiting };
}

/** Gives up what is too old to be told. */
export function expire(queue: Queue, nowMs: number): Queue {
  const fresh = queue.waiting.filter(({ notification }) => nowMs - notification.atMs <= MAX_AGE_MS);
  return fresh.length === queue.waiting.length
    ? queue
    : { waiting: fresh, missed: queue.missed + queue.waiting.length - fresh.length };
}

export function nextToDeliver(queue: Queue): Pending | null {
  return queue.waiting.reduce<Pending | null>(
    (best, each) => (best === null || each.attempts < best.attempts ? each : best),
    null,
  );
}

/** `told` is how many missed ones the message that was sent spoke of. */
export function afterAttempt(queue: Queue, key: number, attempt: Attempt, told: number): Queue {
  const tried = queue.waiting.find(({ notification }) => notification.key === key);
  // It was dropped for want of room while it was being sent, and counted as missed: it may have arrived after all.
  if (tried === undefined)
    return { ...queue, missed: queue.missed - (attempt.is === 'delivered' ? told + 1 : 0) };
  const others = queue.waiting.filter((each) => each !== tried);
  if (attempt.is === 'delivered') return { waiting: others, missed: queue.missed - told };
  const attempts = tried.attempts + 1;
  if (attempt.is === 'refused' || attempts >= MAX_ATTEMPTS)
    return { waiting: others, missed: queue.missed + 1 };
  return {
    ...queue,
    waiting: queue.waiting.map((each) => (each === tried ? { ...tried, attempts } : each)),
  };
}

export function pauseMs(failuresInARow: number, attempt: Attempt): number {
  if (attempt.is !== 'failed') return 0;
  const doubled = FIRST_PAUSE_MS * 2 ** Math.min(failuresInARow - 1, 30);
  return Math.min(LONGEST_PAUSE_MS, Math.max(doubled, attempt.afterMs ?? 0));
}
