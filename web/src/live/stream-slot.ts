/**
 * A place for a connection that stays. A browser has six to a server, for all its windows together: the event stream holds
 * one, these three, and what is left is for questions.
 */
const SLOTS = ['reeve.log.1', 'reeve.log.2', 'reeve.log.3'] as const;

export type Release = () => void;

/** Null when all are taken. The browser takes it back from a window that is closed. */
export async function takeSlot(): Promise<Release | null> {
  // A browser that has no locks cannot tell; then each window has what it wants.
  const locks = navigator.locks as LockManager | undefined;
  if (locks === undefined) return () => {};
  for (const name of SLOTS) {
    const release = await take(locks, name);
    if (release !== null) return release;
  }
  return null;
}

function take(locks: LockManager, name: string): Promise<Release | null> {
  return new Promise((answer) => {
    const hold = (lock: Lock | null) => {
      if (lock === null) return answer(null);
      return new Promise<void>((release) => answer(release));
    };
    locks.request(name, { ifAvailable: true }, hold).catch(() => answer(null));
  });
}
