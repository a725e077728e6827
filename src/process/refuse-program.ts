/** What executing a program would say, found out without doing it: by the same search as execvp. */
import { accessSync, closeSync, constants, openSync, readSync, statSync } from 'node:fs';
import { resolve } from 'node:path';

/** Where execvp looks when there is no PATH. */
const DEFAULT_PATH = '/bin:/usr/bin';

/** Null when nothing is known to be wrong; otherwise why it cannot be executed, as the end of a sentence. */
export function refuseProgram(program: string, cwd: string, searchPath = DEFAULT_PATH): string | null {
  if (program.includes('/')) return refusePath(resolve(cwd, program), cwd);
  const refusals = searchPath.split(':').map((place) => refusePath(resolve(cwd, place, program), cwd));
  if (refusals.includes(null)) return null;
  return refusals.find((why) => why !== MISSING) ?? 'no program of that name is on the PATH';
}

const MISSING = 'there is no such file';

/** As far as Linux follows scripts whose interpreters are scripts. */
const MAX_INTERPRETERS = 4;

/** A look that failed proves nothing: then it is for the start to say. */
function refusePath(path: string, cwd: string, depth = 0): string | null {
  try {
    if (!statSync(path).isFile()) return `${path} is not a file`;
    accessSync(path, constants.X_OK);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    if (code === 'ENOENT' || code === 'ENOTDIR') return MISSING;
    return code === 'EACCES' ? `${path} may not be executed by this user` : null;
  }
  return depth < MAX_INTERPRETERS ? refuseInterpreter(path, cwd, depth) : null;
}

function refuseInterpreter(path: string, cwd: string, depth: number): string | null {
  const interpreter = interpreterOf(beginningOf(path));
  if (interpreter === null) return null;
  const why = refusePath(resolve(cwd, interpreter), cwd, depth + 1);
  if (why === null) return null;
  if (why === MISSING && interpreter.endsWith('\r'))
    return `the first line of ${path} ends with a carriage return, as on Windows`;
  return `${path} names an interpreter that cannot be executed: ${
    why === MISSING ? `${printable(interpreter)}: ${why}` : why
  }`;
}

/** What Linux reads of a file to find out what it is; a longer first line is no interpreter's to it. */
const MAX_FIRST_LINE_BYTES = 256;

/** Nothing of a file that may be executed and not be read. */
function beginningOf(path: string): string {
  let file: number | null = null;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const bytes = Buffer.alloc(MAX_FIRST_LINE_BYTES);
    return bytes.toString('utf8', 0, readSync(file, bytes));
  } catch {
    return '';
  } finally {
    if (file !== null) closeSync(file);
  }
}

/** Up to a space, as the kernel reads it: what follows is an argument. Null where the kernel would find none. */
function interpreterOf(beginning: string): string | null {
  const found = /^#![ \t]*([^ \t\n\0]+)/.exec(beginning);
  const isWhole = found !== null && Buffer.byteLength(found[0]) < MAX_FIRST_LINE_BYTES;
  return isWhole ? (found[1] ?? null) : null;
}

/** Anything may stand in a file. */
function printable(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, '?');
}
