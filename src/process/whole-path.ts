import { ReeveError } from '../api/errors.ts';
import { hasStrayBytes, REPLACEMENT } from '../api/raw-bytes.ts';

/** The path that a variable gives. Node reads all bytes that are not UTF-8 as one: such a path may be another directory's. */
export function wholePath(variable: string, path: string): string {
  if (!path.includes(REPLACEMENT) && !hasStrayBytes(path)) return path;
  throw new ReeveError(
    'state_directory',
    `${variable} is a path that is not UTF-8, which Reeve cannot use.`,
    {
      hint: `Set ${variable} to a path in UTF-8.`,
    },
  );
}
