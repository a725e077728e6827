import type { ProcessFact } from './process-table.ts';

type Identified = Pick<ProcessFact, 'pid' | 'startTime'>;

/**
 * A snapshot is not taken in one instant: a parent's pid may have been reused between two reads. A child is never
 * older than its parent, so a younger "parent" is a stranger.
 */
export function descendantsOf(
  roots: readonly Identified[],
  facts: readonly ProcessFact[],
): readonly ProcessFact[] {
  const found = new Set<ProcessFact>();
  const parents = [...roots];
  for (const { pid, startTime } of parents) {
    for (const fact of facts) {
      if (fact.parentPid !== pid || Number(fact.startTime) < Number(startTime) || found.has(fact)) continue;
      found.add(fact);
      parents.push(fact);
    }
  }
  return [...found];
}

/** Those that were found at an earlier look and are the same processes still. */
export function stillThere(
  earlier: readonly Identified[],
  facts: readonly ProcessFact[],
): readonly Identified[] {
  const living = new Map(facts.map(({ pid, startTime }) => [pid, startTime]));
  return earlier.filter(({ pid, startTime }) => living.get(pid) === startTime);
}
