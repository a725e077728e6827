/** Wakes those who follow the store. One watch on it serves all of them, and one look where that tells nothing. */

/** Not every file system tells of changes, nor every pooler, and a lost connection tells nothing for a moment. */
const LOOK_ANYWAY_MS = 1_000;

export interface Changes {
  /** Grows with every change; taken before a read, it tells `after` what that read may have missed. */
  version(): number;
  /** Settles once there was a change after this version, or the store could not be asked, or when it is given up. */
  after(version: number, signal: AbortSignal): Promise<void>;
  close(): void;
}

/** `latest` is the number of the latest event. */
export async function openChanges(
  watch: (listener: () => void) => Promise<() => void>,
  latest: () => Promise<number>,
): Promise<Changes> {
  let version = 0;
  const waiting = new Set<() => void>();
  const tell = () => {
    version += 1;
    for (const wake of waiting) wake();
  };
  const stopWatching = await watch(tell);
  const stopLooking = lookAnyway(latest, tell);
  return {
    version: () => version,
    after: (seen, signal) =>
      new Promise((resolve) => {
        if (version !== seen || signal.aborted) return resolve();
        const wake = () => {
          waiting.delete(wake);
          signal.removeEventListener('abort', wake);
          resolve();
        };
        waiting.add(wake);
        signal.addEventListener('abort', wake, { once: true });
      }),
    close() {
      stopLooking();
      stopWatching();
    },
  };
}

/** However many follow, the store is asked once a moment. When it cannot answer, they find out for themselves. */
function lookAnyway(latest: () => Promise<number>, tell: () => void): () => void {
  let isOver = false;
  let seen: number | null = null;
  const look = async () => {
    const seq = await latest().catch(() => null);
    if (isOver) return;
    if (seq === null || seq !== seen) tell();
    seen = seq;
    timer = setTimeout(() => void look(), LOOK_ANYWAY_MS);
  };
  let timer = setTimeout(() => void look(), LOOK_ANYWAY_MS);
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}
