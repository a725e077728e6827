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
  /** A look at which it lived. */
  readonly sawAlive: (atMs: number) => void;
}

/** `onRecordMs`: until when it lived by the word of whoever watched it, once that is there. */
export function harnessMarks(
  harness: ProcessIdentity,
  assignments: readonly string[],
  onRecordMs: () => number | null = () => null,
): HarnessMarks {
  let seenMs = Number.NEGATIVE_INFINITY;
  return {
    harness,
    assignments,
    sawAlive: (atMs) => {
      seenMs = Math.max(seenMs, atMs);
    },
    untilMs: () => {
      const latestMs = Math.max(seenMs, onRecordMs() ?? Number.NEGATIVE_INFINITY);
      return latestMs === Number.NEGATIVE_INFINITY ? null : latestMs;
    },
  };
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
  { harness, assignments, untilMs, sawAlive }: HarnessMarks,
): Marked {
  if (!isHere(table, harness)) return { its: [], doubtful: [] };
  // The youngest of a look at which it lived tells a time at which it did.
  if (earlier.some(isIt)) sawAlive(Math.max(...earlier.map(startedMs).filter(Number.isFinite)));
  const bearing = assignments.flatMap((mark) => table.startedWith(mark)).filter(({ isZombie }) => !isZombie);
  const bearers = new Set(bearing.map(({ pid }) => pid));
  if (bearers.size === 0) return { its: [], doubtful: [] };
  const living = withLater(earlier, bearing);
  // Read after those who bear its mark, for they may have come after the list.
  const reading = table.read(harness.pid);
  const isAlive = reading.is === 'there' && !reading.fact.isZombie && isIt(reading.fact);
  const lastMs = isAlive ? Number.POSITIVE_INFINITY : (untilMs() ?? Number.NEGATIVE_INFINITY);
  const since = Number(harness.startTime);
  const younger = living.filter(({ pid, startTime }) => bearers.has(pid) && Number(startTime) >= since);
  const startedByIt = younger.filter((fact) => startedMs(fact) <= lastMs);
  const its = new Map(
    [...startedByIt, ...descendantsOf(startedByIt, living)].map((fact) => [fact.pid, fact]),
  );
  const doubtful = younger.filter((fact) => !its.has(fact.pid) && isOrphan(table, fact));
  return { its: [...its.values()], doubtful };

  function isIt({ pid, startTime }: ProcessFact): boolean {
    return pid === harness.pid && startTime === harness.startTime;
  }
}

function startedMs({ startTime }: ProcessFact): number {
  return Number(startTime) * START_TIME_STEP_MS;
}

/** It came to where orphans come. Anybody else is there for a parent that lives, and is that one's. */
export function isOrphan(table: ProcessTable, { parentPid }: Pick<ProcessFact, 'parentPid'>): boolean {
  const parent = parentPid === 1 ? null : table.read(parentPid);
  return parent === null || (parent.is === 'there' && parent.fact.name === 'systemd');
}
