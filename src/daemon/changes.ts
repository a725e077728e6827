/** Wakes those who follow the store. One watch on it serves all of them. */

/** Not every file system tells of changes, and a lost connection tells nothing for a moment. */
const LOOK_ANYWAY_MS = 1_000;

export interface Changes {
  /** Grows with every change; taken before a read, it tells `after` what that read may have missed. */
  version(): number;
  /** Settles once there was a change after this version, or after a moment anyway, or when it is given up. */
  after(version: number, signal: AbortSignal): Promise<void>;
  close(): void;
}

export async function openChanges(watch: (listener: () => void) => Promise<() => void>): Promise<Changes> {
  let version = 0;
  const waiting = new Set<() => void>();
  const stop = await watch(() => {
    version += 1;
    for (const wake of waiting) wake();
  });
  return {
    version: () => version,
    after: (seen, signal) =>
      new Promise((resolve) => {
        if (version !== seen || signal.aborted) return resolve();
        const wake = () => {
          clearTimeout(timer);
          waiting.delete(wake);
          signal.removeEventListener('abort', wake);
          resolve();
        };
        const timer = setTimeout(wake, LOOK_ANYWAY_MS);
        waiting.add(wake);
        signal.addEventListener('abort', wake, { once: true });
      }),
    close: stop,
  };
}
