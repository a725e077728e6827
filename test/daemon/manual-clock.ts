/** Time that passes when the test says so. */
import type { Clock } from '../../src/daemon/notifications/clock.ts';
import { eventually } from '../support/processes.ts';

export interface ManualClock extends Clock {
  /** Waits until somebody waits for exactly so long, and then lets that time pass for them. */
  pass(ms: number): Promise<void>;
  /** What is being waited for right now. */
  pending(): number[];
  advance(ms: number): void;
}

export function manualClock(startMs: number): ManualClock {
  let nowMs = startMs;
  const waits = new Set<{ ms: number; elapse: () => void }>();
  return {
    nowMs: () => nowMs,
    wait: (ms, until) =>
      new Promise((resolve) => {
        if (until.aborted) return resolve('aborted');
        const end = (how: 'elapsed' | 'aborted') => {
          waits.delete(wait);
          until.removeEventListener('abort', onAbort);
          resolve(how);
        };
        const onAbort = () => end('aborted');
        const wait = { ms, elapse: () => end('elapsed') };
        waits.add(wait);
        until.addEventListener('abort', onAbort);
      }),
    pass: async (ms) => {
      const wait = await eventually(`somebody waits for ${ms} ms`, () =>
        [...waits].find((each) => each.ms === ms),
      );
      nowMs += ms;
      wait.elapse();
    },
    pending: () => [...waits].map(({ ms }) => ms).toSorted((a, b) => a - b),
    advance: (ms) => (nowMs += ms),
  };
}
