/**
 * Is the store the one that this host knew, and does it still know what it knew? A store that was removed, emptied,
 * restored from a copy, or promoted from a standby that lagged may have forgotten runs that live, and would give out
 * their sessions, and their epochs, a second time.
 */
export interface SeenStore {
  /** Minted when the store was made. */
  readonly id: string;
  /** The number of the latest event that this host knows to have been committed. */
  readonly seq: number;
  /** The highest epoch that this host has seen. */
  readonly epoch: number;
  /** The latest run that this host has claimed, and its session; empty for one that has only looked. */
  readonly run: string;
  readonly session: string;
}

export interface StoreNow {
  readonly id: string;
  readonly seq: number;
  /** Whether it knows the run that was seen last, or that its session was removed. */
  readonly remembers: boolean;
  /** The server, its line of history, and the store's own table there; empty where that cannot be told. */
  readonly system: string;
  /** The same as the store itself has it on record; empty before it was first recorded. */
  readonly recordedSystem: string;
}

export type Continuity =
  | { readonly is: 'continued' }
  /** Nothing is in it, and nothing is known of an earlier one. */
  | { readonly is: 'new' }
  | { readonly is: 'broken'; readonly because: string };

/** An earlier Reeve recorded the server and its line of history alone, and less is on record before anybody could tell. */
function isSameSystem(recorded: string, now: string): boolean {
  return recorded === '' || now === '' || recorded === now || now.startsWith(`${recorded}/`);
}

/** What is to be put on record in the place of what is there; null when there is nothing to put right. */
export function systemToRecord({ recordedSystem, system }: StoreNow): string | null {
  const isKnown = system === '' || system === recordedSystem;
  return isKnown || !isSameSystem(recordedSystem, system) ? null : system;
}

export function judgeContinuity(seen: SeenStore | null, now: StoreNow): Continuity {
  if (!isSameSystem(now.recordedSystem, now.system)) {
    return {
      is: 'broken',
      because: `the store's server is another one, or was promoted or restored (it was ${now.recordedSystem} and is ${now.system})`,
    };
  }
  if (seen === null) return { is: now.seq === 0 ? 'new' : 'continued' };
  if (seen.id !== now.id) return { is: 'broken', because: 'the store is not the one that was here before' };
  if (now.seq < seen.seq) {
    return {
      is: 'broken',
      because: `the store went back: ${seen.seq} events were seen in it, and ${now.seq} are there`,
    };
  }
  if (!now.remembers) {
    return { is: 'broken', because: `the store went back: it does not know run ${seen.run} any more` };
  }
  return { is: 'continued' };
}
