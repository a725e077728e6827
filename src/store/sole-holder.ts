/**
 * A lock that the kernel takes back when its holder dies, whatever it died of: SQLite's own, on a file that holds
 * nothing. There is no stale lock to recognise, and no moment in which two hold it.
 */
import { DatabaseSync } from './sqlite-binding.ts';
import { RESULT, resultOf } from './sqlite-result.ts';

/** Null when somebody else holds it; otherwise how to give it back. */
export function holdAlone(path: string): (() => void) | null {
  const file = new DatabaseSync(path);
  try {
    file.exec('pragma busy_timeout = 0; begin exclusive');
    return () => file.close();
  } catch (error) {
    file.close();
    if (resultOf(error) === RESULT.busy) return null;
    throw error;
  }
}
