/** When a branch that is watched is worth a trigger: its head moved, and stayed where it is for a while. */
export interface WatchedHead {
  /** As it was seen last, and since when; null while there is no such branch. */
  readonly head: string | null;
  readonly sinceMs: number;
  /** The head that was triggered last, whether that worked or not: a failure is tried again at the next move only. */
  readonly triggered: string | null;
}

export interface WatchDecision {
  readonly state: ReadonlyMap<string, WatchedHead>;
  /** The branches to trigger now, with their heads. */
  readonly trigger: ReadonlyMap<string, string>;
  /** When to look again at the latest, if nothing moves; null when nothing is pending. */
  readonly waitMs: number | null;
}

export function decideWatch(
  before: ReadonlyMap<string, WatchedHead>,
  seen: ReadonlyMap<string, string | null>,
  nowMs: number,
  debounceMs: number,
): WatchDecision {
  const state = new Map<string, WatchedHead>();
  const trigger = new Map<string, string>();
  let waitMs: number | null = null;
  for (const [branch, head] of seen) {
    const known = before.get(branch) ?? { head: null, sinceMs: nowMs, triggered: null };
    const now = head === known.head ? known : { ...known, head, sinceMs: nowMs };
    const leftMs = now.sinceMs + debounceMs - nowMs;
    const isPending = head !== null && head !== now.triggered;
    if (isPending && leftMs <= 0) trigger.set(branch, head);
    if (isPending && leftMs > 0) waitMs = Math.min(waitMs ?? leftMs, leftMs);
    state.set(branch, isPending && leftMs <= 0 ? { ...now, triggered: head } : now);
  }
  return { state, trigger, waitMs };
}
