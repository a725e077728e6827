import { setTimeout as sleep } from 'node:timers/promises';

/** The time, so that tests need not spend it. */
export interface Clock {
  readonly nowMs: () => number;
  /** So long, or until there is no more reason to wait. */
  readonly wait: (ms: number, until: AbortSignal) => Promise<'elapsed' | 'aborted'>;
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  wait: (ms, until) =>
    sleep(ms, undefined, { signal: until }).then(
      () => 'elapsed',
      () => 'aborted',
    ),
};

/** By the clock on the wall, where the daemon is: an hour that is left out or comes twice is as that clock shows it. */
export function minuteOfDay(atMs: number): number {
  const at = new Date(atMs);
  return at.getHours() * 60 + at.getMinutes();
}

/** Tells the work when its time is over, and waits for it: the work ends promptly then, and knows best how far it got. */
export async function withDeadline<T>(
  clock: Clock,
  ms: number,
  work: (deadline: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = new AbortController();
  const done = new AbortController();
  void clock.wait(ms, done.signal).then((how) => {
    if (how === 'elapsed') deadline.abort();
  });
  try {
    return await work(deadline.signal);
  } finally {
    done.abort();
  }
}
