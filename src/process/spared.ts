/**
 * Whom a run's end must not touch although they descend from it: the keepers of its children, which are runs of their
 * own, and all that is theirs.
 *
 * Each is noted in the directory of every run above it, as `children/<pid>`, before it is on record as a keeper and so
 * before it starts anything. Whoever ends the run above looks there each time, the keeper in Perl too. A note spares
 * only as long as the store knows the child as live: whoever ends a run asks, for anybody can write a file.
 */
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cgroupPids } from './cgroup.ts';
import { descendantsOf } from './descendants.ts';
import type { ProcessFact, ProcessTable } from './process-table.ts';
import { isThere, readNames, readText, unread } from './reading.ts';
import type { Failed } from './reading.ts';
import { RUN_MARK } from './tree.ts';

export interface Spared {
  readonly pid: number;
  readonly startTime: string;
  /** Null for a process that is no run's keeper. */
  readonly runId: string | null;
  readonly cgroup: string | null;
}

/** A run above that has no directory any more ends nothing either. */
export function noteSpared(runDirectory: string, { pid, startTime, runId, cgroup }: Spared): void {
  if (!isThere(runDirectory)) return;
  const directory = join(runDirectory, 'children');
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const temporary = join(directory, `.${pid}`);
  writeFileSync(temporary, `${startTime} ${runId} ${cgroup ?? ''}\n`, { mode: 0o600 });
  renameSync(temporary, join(directory, String(pid)));
  // What can be written and not read would spare nobody.
  const failed = notesIn(runDirectory).unread.find((each) => each.pid === null || each.pid === pid);
  if (failed !== undefined) throw unread(failed);
}

export interface Notes {
  readonly spared: readonly Spared[];
  /** Whom these spare would be ended as an escapee, so whoever meets one asks the store instead, or ends nobody. */
  readonly unread: readonly UnreadNote[];
}

export interface UnreadNote extends Failed {
  /** Null for the list itself. */
  readonly pid: number | null;
}

export function notesIn(runDirectory: string): Notes {
  const directory = join(runDirectory, 'children');
  const names = readNames(directory);
  // Most runs have no children, and so no such directory.
  if (names.is === 'absent') return { spared: [], unread: [] };
  if (names.is === 'failed') return { spared: [], unread: [{ ...names, pid: null }] };
  const [spared, failed]: [Spared[], UnreadNote[]] = [[], []];
  for (const name of names.value.filter((each) => /^\d+$/.test(each))) {
    const note = readText(join(directory, name));
    if (note.is === 'failed') failed.push({ ...note, pid: Number(name) });
    // A note that was there a moment ago may have been forgotten since.
    if (note.is !== 'read') continue;
    const [startTime = '', runId = '', ...cgroup] = note.value.trim().split(' ');
    if (startTime !== '' && runId !== '')
      spared.push({ pid: Number(name), startTime, runId, cgroup: cgroup.join(' ') || null });
  }
  return { spared, unread: failed };
}

export function forgetSpared(runDirectory: string, { pid }: Spared): void {
  rmSync(join(runDirectory, 'children', String(pid)), { force: true });
}

/**
 * The processes of those spared, by what each has: its keeper and what descends from it, its cgroup, its mark. Marks are
 * looked for among the facts given only, when `which` says so.
 */
export function sparedProcesses(
  table: ProcessTable,
  facts: readonly ProcessFact[],
  spared: readonly Spared[],
  which: 'of these' | 'anywhere' = 'anywhere',
): ReadonlySet<number> {
  const among = which === 'of these' ? facts.map(({ pid }) => pid) : undefined;
  const found = new Set<number>();
  for (const { pid, startTime, runId, cgroup } of spared) {
    const keeper = facts.find((fact) => fact.pid === pid && fact.startTime === startTime);
    for (const fact of keeper === undefined ? [] : [keeper, ...descendantsOf([keeper], facts)])
      found.add(fact.pid);
    const marked = runId === null ? [] : table.startedWith(`${RUN_MARK}=${runId}`, among);
    for (const member of marked) found.add(member.pid);
    for (const member of cgroup === null ? [] : cgroupPids(cgroup)) found.add(member);
  }
  return found;
}
