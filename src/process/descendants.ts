import type { ProcessFact } from './process-table.ts';

/**
 * A snapshot is not taken in one instant: a parent's pid may have been reused between two reads. A child is never
 * older than its parent, so a younger "parent" is a stranger.
 */
export function descendantsOf(
  root: Pick<ProcessFact, 'pid' | 'startTime'>,
  facts: readonly ProcessFact[],
): ProcessFact[] {
  const found: ProcessFact[] = [];
  const parents = [root];
  for (let parent = parents.shift(); parent !== undefined; parent = parents.shift()) {
    const { pid, startTime } = parent;
    const children = facts.filter(
      (fact) => fact.parentPid === pid && !(Number(fact.startTime) < Number(startTime)),
    );
    found.push(...children);
    parents.push(...children);
  }
  return found;
}
