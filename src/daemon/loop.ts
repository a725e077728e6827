/** The automatic parts: each does its work now and then, and says how that went. None can stop another. */
import type { Health } from './health.ts';

export interface Part {
  readonly name: string;
  readonly everyMs: number;
  /** One round: observe, decide, persist, act. The answer says what it found, for people. */
  readonly round: () => Promise<string>;
}

export interface Loop {
  /** Begins a part's next round at once, or as soon as the one that goes on is over. */
  poke(name: string): void;
  /** When every part has finished the round it is in. */
  close(): Promise<void>;
}

export function startLoop(parts: readonly Part[], health: Health, log: (text: string) => void): Loop {
  const closing = new AbortController();
  const pokes = new Map(parts.map(({ name }) => [name, createPoke()]));
  const going = parts.map((part) =>
    keepGoing(part, health, log, pokes.get(part.name) ?? createPoke(), closing.signal),
  );
  return {
    poke: (name) => pokes.get(name)?.give(),
    async close() {
      closing.abort();
      await Promise.all(going);
    },
  };
}

async function keepGoing(
  { name, everyMs, round }: Part,
  health: Health,
  log: (text: string) => void,
  poke: Poke,
  signal: AbortSignal,
): Promise<void> {
  let said = '';
  while (!signal.aborted) {
    try {
      health.report(name, 'good', await round());
      said = '';
    } catch (error) {
      const says = error instanceof Error ? error.message : String(error);
      health.report(name, 'broken', says);
      // Once, and not again every few seconds for as long as it stays so.
      if (says !== said) log(`${name}: ${says}`);
      said = says;
    }
    await poke.orAfter(everyMs, signal);
  }
}

interface Poke {
  give(): void;
  /**
   * From the end of one round to the beginning of the next, so that a slow one never catches up with itself. What was
   * given meanwhile counts.
   */
  orAfter(ms: number, signal: AbortSignal): Promise<void>;
}

function createPoke(): Poke {
  let isGiven = false;
  let wake: (() => void) | null = null;
  return {
    give() {
      isGiven = true;
      wake?.();
    },
    orAfter: (ms, signal) =>
      new Promise((resolve) => {
        const done = () => {
          clearTimeout(timer);
          signal.removeEventListener('abort', done);
          wake = null;
          isGiven = false;
          resolve();
        };
        const timer = setTimeout(done, ms);
        wake = done;
        if (isGiven || signal.aborted) return done();
        signal.addEventListener('abort', done, { once: true });
      }),
  };
}
