import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  afterAttempt,
  EMPTY_QUEUE,
  enqueue,
  expire,
  FIRST_PAUSE_MS,
  LONGEST_PAUSE_MS,
  MAX_AGE_MS,
  MAX_ATTEMPTS,
  MAX_WAITING,
  nextToDeliver,
  pauseMs,
} from '../../src/lifecycle/delivery.ts';
import type { Attempt, Queue } from '../../src/lifecycle/delivery.ts';
import type { Notification } from '../../src/lifecycle/notification.ts';

const about = (key: number, atMs = 0): Notification => ({
  key,
  status: 'failed',
  sessionId: 's',
  runId: 'r',
  atMs,
  what: 'It failed.',
});
const queueOf = (...keys: number[]) => keys.reduce((queue, key) => enqueue(queue, about(key)), EMPTY_QUEUE);
const keysIn = ({ waiting }: Queue) => waiting.map(({ notification }) => notification.key);
const nextOf = (queue: Queue) => nextToDeliver(queue)?.notification.key ?? null;

const DELIVERED: Attempt = { is: 'delivered' };
const FAILED: Attempt = { is: 'failed', because: 'down' };
const REFUSED: Attempt = { is: 'refused', because: 'gone' };

describe('a queue', () => {
  it('gives the oldest first, and nothing when it is empty', () => {
    expect([nextOf(EMPTY_QUEUE), nextOf(queueOf(4, 5))]).toEqual([null, 4]);
  });

  it('gives one that failed again only after those that were tried less', () => {
    const once = afterAttempt(queueOf(1, 2), 1, FAILED, 0);
    const twice = afterAttempt(once, 2, FAILED, 0);
    expect([nextOf(once), nextOf(twice), keysIn(twice)]).toEqual([2, 1, [1, 2]]);
  });

  it('forgets what was delivered, and the missed ones that it told of, but not those missed meanwhile', () => {
    expect(afterAttempt({ ...queueOf(1, 2), missed: 5 }, 1, DELIVERED, 3)).toEqual({
      ...queueOf(2),
      missed: 2,
    });
  });

  it('gives up what was refused, at once, and counts it', () => {
    expect(afterAttempt(queueOf(1, 2), 1, REFUSED, 0)).toEqual({ ...queueOf(2), missed: 1 });
  });

  it('gives up after so many attempts, and counts it', () => {
    let queue = queueOf(1);
    for (let attempt = 1; attempt < MAX_ATTEMPTS; attempt += 1) queue = afterAttempt(queue, 1, FAILED, 0);
    expect([keysIn(queue), queue.missed]).toEqual([[1], 0]);
    expect(afterAttempt(queue, 1, FAILED, 0)).toEqual({ waiting: [], missed: 1 });
  });

  it('gives up what is too old, and counts it', () => {
    const queue = [about(1, 0), about(2, 1)].reduce(enqueue, EMPTY_QUEUE);
    expect(expire(queue, MAX_AGE_MS)).toBe(queue);
    expect(expire(queue, MAX_AGE_MS + 1)).toEqual({
      waiting: [{ notification: about(2, 1), attempts: 0 }],
      missed: 1,
    });
  });

  it('drops the oldest when it is full, and counts it', () => {
    const keys = Array.from({ length: MAX_WAITING + 3 }, (_, index) => index);
    const queue = queueOf(...keys);
    expect([keysIn(queue), queue.missed]).toEqual([keys.slice(3), 3]);
  });

  it('does not call missed what was dropped while it was being delivered', () => {
    const full = queueOf(...Array.from({ length: MAX_WAITING }, (_, index) => index));
    const dropped = enqueue(full, about(MAX_WAITING));
    expect(afterAttempt(dropped, 0, DELIVERED, 0)).toEqual({ ...dropped, missed: 0 });
    expect(afterAttempt(dropped, 0, FAILED, 0)).toEqual(dropped);
  });

  it('accounts for every notification, whatever happens: delivered, told as missed, or still there', () => {
    const move = fc.oneof(
      { weight: 3, arbitrary: fc.constant('take' as const) },
      { weight: 2, arbitrary: fc.constantFrom(DELIVERED, FAILED, REFUSED) },
    );
    fc.assert(
      fc.property(fc.array(move, { maxLength: 600 }), (moves) => {
        let queue: Queue = EMPTY_QUEUE;
        let [taken, delivered, told] = [0, 0, 0];
        for (const each of moves) {
          if (each === 'take') {
            taken += 1;
            queue = enqueue(queue, about(taken));
            continue;
          }
          const next = nextToDeliver(queue);
          if (next === null) continue;
          const { missed } = queue;
          queue = afterAttempt(queue, next.notification.key, each, missed);
          if (each.is === 'delivered') [delivered, told] = [delivered + 1, told + missed];
        }
        expect(delivered + told + queue.missed + queue.waiting.length).toBe(taken);
        expect(queue.waiting.length).toBeLessThanOrEqual(MAX_WAITING);
      }),
    );
  });
});

describe('the pause after an attempt', () => {
  it('is none after a delivery or a refusal, and doubles with each failure up to its limit', () => {
    expect([pauseMs(0, DELIVERED), pauseMs(0, REFUSED)]).toEqual([0, 0]);
    expect([1, 2, 3, 9].map((failures) => pauseMs(failures, FAILED))).toEqual(
      [1, 2, 4, 256].map((n) => n * FIRST_PAUSE_MS),
    );
    expect([10, 50, 5_000].map((failures) => pauseMs(failures, FAILED))).toEqual(
      [1, 1, 1].map(() => LONGEST_PAUSE_MS),
    );
  });

  it('is as long as the receiver asks for, when that is longer, up to its limit', () => {
    const asking = (afterMs: number): Attempt => ({ is: 'failed', because: '429', afterMs });
    expect([0, 7_000, 999_999_000].map((afterMs) => pauseMs(1, asking(afterMs)))).toEqual([
      FIRST_PAUSE_MS,
      7_000,
      LONGEST_PAUSE_MS,
    ]);
  });
});
