/** What executing a program would say, found out without doing it: by the same search as execvp. */
import { accessSync, closeSync, constants, openSync, readSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { REPLACEMENT } from '../api/raw-bytes.ts';
import { judgeElfFile } from './elf.ts';

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

/** What is so of a path for as long as nobody changes it. */
const REFUSALS: Readonly<Record<string, (path: string) => string>> = {
  ENOENT: () => MISSING,
  ENOTDIR: () => MISSING,
  EACCES: (path) => `${path} may not be executed by this user`,
  ELOOP: (path) => `${path} leads through too many symbolic links`,
  ENAMETOOLONG: () => 'its path is too long',
};

function refusePath(path: string, cwd: string, depth = 0): string | null {
  return refuseFile(path) ?? refuseScript(path, cwd, depth) ?? refuseElf(path, cwd);
}

/** A look that failed for another reason proves nothing: then it is for the start to say. */
function refuseFile(path: string): string | null {
  try {
    if (!statSync(path).isFile()) return `${path} is not a file`;
    accessSync(path, constants.X_OK);
    return null;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    return REFUSALS[code]?.(path) ?? null;
  }
}

/** As far as Linux follows scripts whose interpreters are scripts. macOS lets a shell read those. */
const MAX_SCRIPTS = 5;
const TOO_DEEP = 'more of its interpreters are scripts than Linux follows';

function refuseScript(path: string, cwd: string, depth: number): string | null {
  const interpreter = interpreterOf(beginningOf(path));
  if (interpreter === null || interpreter.includes(REPLACEMENT)) return null;
  if (depth === MAX_SCRIPTS) return process.platform === 'linux' ? TOO_DEEP : null;
  const why = refusePath(resolve(cwd, interpreter), cwd, depth + 1);
  if (why === null || why === TOO_DEEP) return why;
  if (why === MISSING && interpreter.endsWith('\r'))
    return `the first line of ${path} ends with a carriage return, as on Windows`;
  return `${path} names an interpreter that cannot be executed: ${named(interpreter, why)}`;
}

function refuseElf(path: string, cwd: string): string | null {
  const judged = judgeElfFile(path);
  if (judged.is === 'refused') return `${path} ${judged.because}`;
  if (judged.interpreter === null || judged.interpreter.includes(REPLACEMENT)) return null;
  const why = refuseLoader(resolve(cwd, judged.interpreter));
  return why === null
    ? null
    : `${path} needs a loader that cannot be executed: ${named(judged.interpreter, why)}`;
}

/** Linux asks no loader for a loader of its own. */
function refuseLoader(path: string): string | null {
  const why = refuseFile(path);
  if (why !== null) return why;
  const judged = judgeElfFile(path);
  return judged.is === 'refused' ? `${path} ${judged.because}` : null;
}

function named(path: string, why: string): string {
  return why === MISSING ? `${printable(path)}: ${why}` : why;
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
