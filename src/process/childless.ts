/**
 * The proof that a subreaper has nothing left below it.
 *
 * Every descendant is below some child of the keeper, and when that child exits, its children become the keeper's in
 * the same instant. The kernel's own list of a process's children is read from its head under the lock that guards
 * this, so an empty list is a proof. Zombies stay in it until collected; they cannot fork. So a list of nothing but
 * zombies, read again with the same content after each of them was seen to be one, is a proof as well.
 */
import { readFileSync } from 'node:fs';
import type { ProcessIdentity } from '../lifecycle/process-identity.ts';
import { probe } from './liveness.ts';
import type { ProcessTable } from './process-table.ts';

/** `unknown` where the kernel has no such list, or the keeper is not there to be asked about. */
export function isChildless(
  table: ProcessTable,
  keeper: ProcessIdentity,
  /** Children that are not its own; what they leave comes to them, or is of them too. */
  spared: ReadonlySet<number> = new Set(),
): boolean | 'unknown' {
  if (probe(table, keeper).is !== 'alive') return 'unknown';
  const first = childrenOf(keeper.pid);
  if (first === null) return 'unknown';
  if (first === '') return true;
  const isNothing = (pid: string) => {
    const reading = table.read(Number(pid));
    return spared.has(Number(pid)) || (reading.is === 'there' && reading.fact.isZombie);
  };
  return first.split(' ').every(isNothing) && childrenOf(keeper.pid) === first;
}

/** How long one chase may hold up this process. */
const CHASE_LIMIT_MS = 100;

/**
 * Kills the children of a subreaper until it has none. What a killed child leaves becomes a child in turn, and one
 * round takes microseconds, so that a process which forks and exits faster than a whole process table can be read is
 * still caught. The check of the parent stands directly before the signal.
 */
export function killChildren(
  table: ProcessTable,
  keeper: ProcessIdentity,
  spared: () => ReadonlySet<number> = () => new Set(),
): void {
  const deadline = performance.now() + CHASE_LIMIT_MS;
  while (performance.now() < deadline) {
    const notIts = spared();
    if (isChildless(table, keeper, notIts) !== false) return;
    for (const pid of (childrenOf(keeper.pid) ?? '').split(' ').map(Number)) {
      const reading = table.read(pid);
      if (reading.is !== 'there' || reading.fact.isZombie) continue;
      if (reading.fact.parentPid !== keeper.pid || pid === process.pid || notIts.has(pid)) continue;
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // Gone in between: the next round sees what it left.
      }
    }
  }
}

function childrenOf(pid: number): string | null {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim();
  } catch {
    return null;
  }
}
