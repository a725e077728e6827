/**
 * What came of reading something that a conclusion rests on. `absent` and `malformed` are facts about what is on disk;
 * `failed` is a fact about the reader alone (no file handle left, a disk that does not answer, permission denied), and so
 * nothing follows from it: it is tried again.
 */
import { constants, readdirSync, readFileSync, statSync } from 'node:fs';
import { ReeveError } from '../api/errors.ts';

export type Reading<T> =
  | { readonly is: 'read'; readonly value: T }
  | { readonly is: 'absent' }
  | { readonly is: 'malformed'; readonly because: string }
  | Failed;

export interface Failed {
  readonly is: 'failed';
  /** The end of a sentence. */
  readonly because: string;
}

export function readText(path: string): Exclude<Reading<string>, { is: 'malformed' }> {
  return attempt(path, () => readFile(path));
}

const READ_AT_ONCE = constants.O_RDONLY | constants.O_NONBLOCK;

/**
 * Throws as Node does, and also for what is no file: to open a pipe may take for ever, and what it says is nothing that
 * anybody wrote down.
 */
export function readFile(path: string): string {
  const status = statSync(path, { throwIfNoEntry: false });
  // Of a directory Node says so by itself.
  if (status !== undefined && !status.isFile() && !status.isDirectory())
    throw Object.assign(new Error(`${path} is not a file`), { code: 'no file' });
  // Numbers are flags too; the types only know their names.
  return readFileSync(path, { encoding: 'utf8', flag: READ_AT_ONCE as unknown as string });
}

/** The names in a directory. */
export function readNames(path: string): Exclude<Reading<readonly string[]>, { is: 'malformed' }> {
  return attempt(path, () => readdirSync(path));
}

/** Throws when that cannot be told; `existsSync` would say no. */
export function isThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    throw unread({ is: 'failed', because: failure(path, error) }, error);
  }
}

/** For a place where a failed read has no value of its own: whoever asked learns nothing, and concludes nothing. */
export function unread({ because }: Failed, cause?: unknown): ReeveError {
  return new ReeveError('unproven', `Nothing can be concluded: ${because}.`, {
    hint: 'Try again. If it stays like this, look at that file and at the disk it is on.',
    cause,
  });
}

function attempt<T>(path: string, read: () => T): Exclude<Reading<T>, { is: 'malformed' }> {
  try {
    return { is: 'read', value: read() };
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? { is: 'absent' } : { is: 'failed', because: failure(path, error) };
  }
}

function failure(path: string, error: unknown): string {
  return `reading ${path} gave ${codeOf(error)}`;
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'an unknown error';
}
