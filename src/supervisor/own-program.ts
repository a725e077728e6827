import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ReeveError } from '../api/errors.ts';

/** The command line of this very installation, run by this very Node. */
export function ownProgram(): readonly string[] {
  const candidates = ['./reeve.cjs', '../../dist/reeve.cjs'].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  );
  const program = candidates.find((path) => existsSync(path));
  if (program === undefined) throw new ReeveError('failed', 'The program of this installation is missing.');
  return [process.execPath, program];
}
