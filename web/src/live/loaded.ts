/** One answer of the daemon for a component, asked again when the session changed; the old one stays until then. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { RequestFailure } from '../api/request.ts';
import { failureOf, get, wasAborted } from '../api/request.ts';

export type Loaded<T> =
  | { readonly is: 'loading' }
  | { readonly is: 'ready'; readonly value: T }
  /** With what was known before, if anything was. */
  | { readonly is: 'failed'; readonly failure: RequestFailure; readonly value: T | null };

/** A null path asks nothing. A new revision asks again, a new subject also forgets what was known. */
export function useLoaded<T>(path: string | null, subject: string, revision: number): Loaded<T> {
  const [state, setState] = useState<Loaded<T>>({ is: 'loading' });
  const asker = useRef<Asker | null>(null);
  useEffect(() => setState({ is: 'loading' }), [subject]);
  useEffect(() => {
    if (path === null) return;
    const asking = askerOf(async (signal) => {
      try {
        const value = await get<T>(path, signal);
        setState({ is: 'ready', value });
      } catch (error) {
        if (wasAborted(error)) return;
        setState((before) => ({ is: 'failed', failure: failureOf(error), value: valueOf(before) }));
      }
    });
    asker.current = asking;
    return () => asking.stop();
  }, [path, subject]);
  useEffect(() => asker.current?.ask(), [path, subject, revision]);
  return state;
}

export function valueOf<T>(loaded: Loaded<T>): T | null {
  return loaded.is === 'loading' ? null : loaded.value;
}

export interface Asker {
  ask(): void;
  stop(): void;
}

/**
 * One request at a time; what is asked for meanwhile is one more after it. Calling the running one back for every change
 * would mean no answer at all for a session that changes faster than it is told.
 */
export function askerOf(load: (signal: AbortSignal) => Promise<void>): Asker {
  const aborter = new AbortController();
  let isBusy = false;
  let isWanted = false;
  const run = async () => {
    isBusy = true;
    while (isWanted && !aborter.signal.aborted) {
      isWanted = false;
      await load(aborter.signal);
    }
    isBusy = false;
  };
  return {
    ask: () => {
      isWanted = true;
      if (!isBusy) void run();
    },
    stop: () => aborter.abort(),
  };
}
