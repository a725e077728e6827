/**
 * The mark of a run in the kernel: the limit of file locks (RLIMIT_LOCKS) of every process of it.
 *
 * Linux has kept this limit, and ignored it, since 2.4. It is handed on over fork, exec and setsid, with a wiped
 * environment too; it can be lowered but not put back without a privilege; and everybody may read it, also of a process
 * that shows nobody its environment. The keeper's child takes a random number for it just before it becomes the harness,
 * and puts it on record in `started.json`. A run inside a run has to take a lower one, in the upper half of what is left.
 *
 * A program may give the mark away on purpose, as it may wipe its environment. So to find nobody by it proves nothing.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export type RunMark =
  | { readonly is: 'set'; readonly mark: string }
  /** The harness was started by an older keeper, or on a system that has none. */
  | { readonly is: 'none' }
  | { readonly is: 'unreadable'; readonly because: string };

export function readMark(runDirectory: string): RunMark {
  const path = join(runDirectory, 'started.json');
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'an unknown error';
    return code === 'ENOENT' || code === 'ENOTDIR'
      ? { is: 'none' }
      : { is: 'unreadable', because: `reading ${path} gave ${code}` };
  }
  const mark = /"mark":"(\d+)"/.exec(text)?.[1];
  return mark === undefined ? { is: 'none' } : { is: 'set', mark };
}
