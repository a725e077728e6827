/**
 * The tree of a process that Reeve did not start: no keeper, no cgroup and no mark of ours holds it together. What
 * descends from it, and what carries the harness's own mark, belongs to it; and whoever was once found to belong does so
 * until its end, also when its parents are gone.
 */
import type { ProcessIdentity } from '../lifecycle/process-identity.ts';
import type { ProcessTable } from './process-table.ts';
import { signalProven } from './run-tree.ts';
import type { RunTree } from './run-tree.ts';
import { descendantsOf } from './tree.ts';
import type { Member } from './tree.ts';

const LOOKS = [1, 2, 3] as const;

export function outsiderTree(table: ProcessTable, root: ProcessIdentity, marks: readonly string[]): RunTree {
  const known = new Map<number, Member>();
  const find = () => {
    const facts = table.all().filter(({ isZombie }) => !isZombie);
    const here = facts.find(({ pid, startTime }) => pid === root.pid && startTime === root.startTime);
    const marked = new Set(marks.flatMap((mark) => table.startedWith(mark)));
    const found = [
      ...(here === undefined ? [] : [here, ...descendantsOf(here, facts)]),
      // A mark with the number of an earlier process of the same pid is on something older than this one.
      ...facts.filter(({ pid, startTime }) => marked.has(pid) && Number(startTime) >= Number(root.startTime)),
    ];
    for (const { pid, startTime, name } of found)
      known.set(pid, { pid, startTime, name, signs: ['descent'] });
    const living = new Map(facts.map((fact) => [fact.pid, fact.startTime]));
    return [...known.values()].filter(
      (member) => member.pid !== process.pid && living.get(member.pid) === member.startTime,
    );
  };
  return {
    find,
    emptiness: () => (LOOKS.every(() => find().length === 0) ? 'unseen' : 'not_empty'),
    signal: (member, signal) => signalProven(table, member, signal),
    unaccounted: () => null,
    thaw: () => {},
    killAtOnce: () => false,
    dissolve: () => {},
  };
}
