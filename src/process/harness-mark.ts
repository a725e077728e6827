/**
 * What a harness itself marks what it starts with: its own pid, or its conversation. Neither is its alone for ever: a pid
 * is given to another one day, and a conversation is taken up again. So a mark counts for what was started while the
 * harness lived, and for what descends from that. Whoever bears it and came later may be of it or of somebody else.
 */
import type { ProcessIdentity } from '../lifecycle/process-identity.ts';
import { descendantsOf } from './descendants.ts';
import { isHere, START_TIME_STEP_MS, withLater } from './process-table.ts';
import type { ProcessFact, ProcessTable } from './process-table.ts';

export interface HarnessMarks {
  readonly harness: ProcessIdentity;
  readonly assignments: readonly string[];
  /** Until when it is known to have lived, since boot; null where nobody saw it. Asked at every look. */
  readonly untilMs: () => number | null;
}

export interface Marked {
  readonly its: readonly ProcessFact[];
  /** Of whom nothing tells whose they are. */
  readonly doubtful: readonly ProcessFact[];
}

/** Among those that live. */
export function markedBy(
  table: ProcessTable,
  earlier: readonly ProcessFact[],
  { harness, assignments, untilMs }: HarnessMarks,
): Marked {
  const bearing = assignments.flatMap((mark) => table.startedWith(mark)).filter(({ isZombie }) => !isZombie);
  const bearers = new Set(bearing.map(({ pid }) => pid));
  if (bearers.size === 0 || !isHere(table, harness)) return { its: [], doubtful: [] };
  const living = withLater(earlier, bearing);
  const isAlive = living.some(({ pid, startTime }) => pid === harness.pid && startTime === harness.startTime);
  const lastMs = isAlive ? Number.POSITIVE_INFINITY : (untilMs() ?? Number.NEGATIVE_INFINITY);
  const since = Number(harness.startTime);
  const younger = living.filter(({ pid, startTime }) => bearers.has(pid) && Number(startTime) >= since);
  const startedByIt = younger.filter(({ startTime }) => Number(startTime) * START_TIME_STEP_MS <= lastMs);
  const its = new Map(
    startedByIt.flatMap((fact) => [fact, ...descendantsOf(fact, living)]).map((fact) => [fact.pid, fact]),
  );
  const doubtful = younger.filter((fact) => !its.has(fact.pid) && isOrphan(table, fact));
  return { its: [...its.values()], doubtful };
}

/** It came to where orphans come. Anybody else is there for a parent that lives, and is that one's. */
export function isOrphan(table: ProcessTable, { parentPid }: Pick<ProcessFact, 'parentPid'>): boolean {
  const parent = parentPid === 1 ? null : table.read(parentPid);
  return parent === null || (parent.is === 'there' && parent.fact.name === 'systemd');
}
