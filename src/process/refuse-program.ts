/** What executing a program would say, found out without doing it: by the same search as execvp. */
import { accessSync, constants, statSync } from 'node:fs';
import { resolve } from 'node:path';

/** Where execvp looks when there is no PATH. */
const DEFAULT_PATH = '/bin:/usr/bin';

/** Null when nothing is known to be wrong; otherwise why it cannot be executed, as the end of a sentence. */
export function refuseProgram(program: string, cwd: string, searchPath = DEFAULT_PATH): string | null {
  if (program.includes('/')) return refusePath(resolve(cwd, program));
  const refusals = searchPath.split(':').map((place) => refusePath(resolve(cwd, place, program)));
  if (refusals.includes(null)) return null;
  return refusals.find((why) => why !== MISSING) ?? 'no program of that name is on the PATH';
}

const MISSING = 'there is no such file';

/** A look that failed proves nothing: then it is for the start to say. */
function refusePath(path: string): string | null {
  try {
    if (!statSync(path).isFile()) return `${path} is not a file`;
    accessSync(path, constants.X_OK);
    return null;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    if (code === 'ENOENT' || code === 'ENOTDIR') return MISSING;
    return code === 'EACCES' ? `${path} may not be executed by this user` : null;
  }
}
