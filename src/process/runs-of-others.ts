/**
 * Runs of this state directory that another user has begun, as `sudo reeve` does. Their directories are closed to this one,
 * and so are the hands of their keepers. What everybody may read is the words of a process, and those of a keeper, and of
 * the finaliser it becomes, name the run.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { ProcessTable } from './process-table.ts';
import { readText } from './reading.ts';
import { copyIn, namesIn } from './owner-files.ts';

export interface RunOfAnother {
  readonly id: string;
  readonly user: string;
  readonly pid: number;
}

/** Those that live. The look at all processes is made only where there is such a directory. */
export function runsOfOthers(table: ProcessTable, runs: string): readonly RunOfAnother[] {
  const closed = new Map(closedRuns(runs));
  if (closed.size === 0) return [];
  return table.all().flatMap(({ pid, isZombie }) => {
    const words = isZombie ? [] : (table.details(pid)?.argv ?? []);
    // A title is one word with blanks in it.
    const id = words.flatMap((word) => word.split(' ')).find((word) => closed.has(word));
    return id === undefined ? [] : [{ id, user: closed.get(id) ?? '', pid }];
  });
}

function closedRuns(runs: string): readonly (readonly [id: string, user: string])[] {
  return namesIn(runs).flatMap((id) => {
    const owner = statSync(join(runs, id), { throwIfNoEntry: false })?.uid;
    if (owner === undefined || owner === process.getuid?.()) return [];
    if (readText(copyIn(join(runs, id))).is !== 'failed') return [];
    return [[id, owner === 0 ? 'root' : `user ${owner}`] as const];
  });
}
