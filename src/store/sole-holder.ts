/**
 * A lock that the kernel takes back when its holder dies, whatever it died of: SQLite's own, on a file that holds
 * nothing. There is no stale lock to recognise, and no moment in which two hold it.
 */
import { DatabaseSync } from './sqlite-binding.ts';
import { RESULT, resultOf } from './sqlite-result.ts';

/** Null when somebody else holds it for longer than this; otherwise how to give it back. */
export function holdAlone(path: string, waitMs: number): (() => void) | null {
  const file = new DatabaseSync(path);
  try {
    file.exec(`pragma busy_timeout = ${waitMs}; begin exclusive`);
    return () => file.close();
  } catch (error) {
    file.close();
    if (resultOf(error) === RESULT.busy) return null;
    throw error;
  }
}
