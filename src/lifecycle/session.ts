import type { SessionBudget } from './session-budget.ts';

/** The conversation a person cares about. Its epoch is the number of its latest run. */
export interface Session {
  readonly id: string;
  readonly name: string;
  readonly harness: string;
  readonly cwd: string;
  readonly argv: readonly string[];
  readonly epoch: number;
  readonly createdAtMs: number;
  /** The conversation in the harness's own words, as its latest run serves it; null where there is none, or none yet. */
  readonly nativeId: string | null;
  /** What it may spend, as it was set for it; null goes by the configuration alone. */
  readonly budget: SessionBudget | null;
}

/** Long enough for any readable name, short enough for a table and for a file name with a suffix. */
export const MAX_SESSION_NAME_LENGTH = 100;

/**
 * Most names. What tells all letters apart takes a millisecond to build, and as a literal half of that where it is only
 * read: every start would wait for it.
 */
const PLAIN_NAME = /^[A-Za-z0-9](?:[\w.@+:-]*[A-Za-z0-9])?$/;
const inUnicode = (pattern: string, flags = '') => new RegExp(pattern, `u${flags}`);

/** Null when the name may be used, otherwise the reason why not, as the end of a sentence. */
export function refuseSessionName(name: string): string | null {
  if (name.length === 0) return 'it is empty';
  if (name.length > MAX_SESSION_NAME_LENGTH) {
    return `it has ${name.length} characters and ${MAX_SESSION_NAME_LENGTH} are the most`;
  }
  if (PLAIN_NAME.test(name)) return null;
  if (!inUnicode(String.raw`^[\p{L}\p{N}]`).test(name)) return 'it must begin with a letter or a digit';
  if (inUnicode(String.raw`^[\p{L}\p{M}\p{N}._@+:-]*$`).test(name)) return null;
  return 'only letters, digits and . _ @ + : - are allowed in it';
}

/**
 * As the ids that Reeve mints, of a run, a session, a submission or a review, whichever letters those are made of. As the name of a new session it is refused:
 * whoever gives the id of one would reach the other. Of a session of an older store it stays the name.
 */
export function isShapedLikeId(name: string): boolean {
  return /^(?:r|s|sub|rev)-[A-Za-z0-9]{16}$/.test(name);
}

/** `<directory>-<program>`, with the first number that makes it new: readable, and the same place every time. */
export function proposeSessionName(directory: string, program: string, number: number): string {
  const suffix = number === 1 ? '' : `-${number}`;
  const base = `${cleaned(directory, 'root')}-${cleaned(program, 'command')}`;
  return firstOf(base, MAX_SESSION_NAME_LENGTH - suffix.length) + suffix;
}

function cleaned(path: string, fallback: string): string {
  const last = path.split('/').findLast((part) => part.length > 0) ?? '';
  const kept = PLAIN_NAME.test(last) ? last : allowedOf(last);
  return kept.length > 0 ? firstOf(kept, 40) : fallback;
}

function allowedOf(text: string): string {
  return text
    .replaceAll(inUnicode(String.raw`[^\p{L}\p{N}._@+:-]+`, 'g'), '-')
    .replaceAll(inUnicode(String.raw`^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$`, 'g'), '');
}

/** Cuts between characters: one beyond the basic plane takes two units, and half of it is no letter. */
function firstOf(text: string, limit: number): string {
  return text.slice(0, limit).replace(/[\uD800-\uDBFF]$/, '');
}
