/** The harness of a run whose directory, where it had recorded itself, is gone. */
import type { ProcessIdentity } from '../lifecycle/process-identity.ts';
import type { ProcessTable } from './process-table.ts';

/**
 * The keeper's first child: it starts the harness before anything else, and whatever is orphaned to it later descends from
 * that. Null when the keeper waits no more, or when two are equally old.
 */
export function harnessBelow(table: ProcessTable, keeper: ProcessIdentity): ProcessIdentity | null {
  const facts = table.all();
  const isWaiting = facts.some(({ pid, name }) => pid === keeper.pid && name.startsWith('reeve-keeper'));
  const children = facts.filter(({ parentPid, isZombie }) => parentPid === keeper.pid && !isZombie);
  const [first, second] = children.toSorted((a, b) => Number(a.startTime) - Number(b.startTime));
  if (!isWaiting || first === undefined) return null;
  // Also false where start times are words, as on macOS.
  const isFirst = second === undefined || Number(first.startTime) < Number(second.startTime);
  if (!isFirst) return null;
  return { ...table.host, pid: first.pid, startTime: first.startTime };
}
