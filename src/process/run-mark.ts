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
import { join } from 'node:path';
import { readFile, readText } from './reading.ts';

export type RunMark =
  | { readonly is: 'set'; readonly mark: string }
  /** The harness was started by an older keeper, or on a system that has none. */
  | { readonly is: 'none' }
  | { readonly is: 'unreadable'; readonly because: string };

export function readMark(runDirectory: string): RunMark {
  const path = join(runDirectory, 'started.json');
  let text: string;
  try {
    text = readFile(path);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'an unknown error';
    return code === 'ENOENT' || code === 'ENOTDIR'
      ? { is: 'none' }
      : { is: 'unreadable', because: `reading ${path} gave ${code}` };
  }
  const mark = /"mark":"(\d+)"/.exec(text)?.[1];
  return mark === undefined ? { is: 'none' } : { is: 'set', mark };
}

export type RoomForMark =
  | { readonly is: 'enough' }
  | { readonly is: 'too_little'; readonly limit: string }
  /** A system that has no such limit, or does not tell. */
  | { readonly is: 'not_known' };

/** As the keeper has it: it takes a number in the upper half of what is left, and none when that begins below this. */
const LEAST_MARK = 2n ** 32n;

/** Whether a keeper that is started from here could mark its run. */
export function roomForMark(): RoomForMark {
  const limits = readText('/proc/self/limits');
  const limit = limits.is === 'read' ? /^Max file locks +\S+ +(\S+) /m.exec(limits.value)?.[1] : undefined;
  if (limit === undefined) return { is: 'not_known' };
  const isEnough = !/^\d+$/.test(limit) || BigInt(limit) / 2n >= LEAST_MARK;
  return isEnough ? { is: 'enough' } : { is: 'too_little', limit };
}
