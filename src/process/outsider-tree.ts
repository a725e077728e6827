/**
 * The tree of a process that Reeve did not start: no keeper, no cgroup and no mark of ours holds it together. What
 * descends from it, and what carries the harness's own mark, belongs to it; and whoever was once found to belong does so
 * until its end, also when its parents are gone.
 */
import type { ProcessIdentity } from '../lifecycle/process-identity.ts';
import { descendantsOf, stillThere } from './descendants.ts';
import { harnessMarks, markedBy } from './harness-mark.ts';
import type { ProcessTable } from './process-table.ts';
import { signalProven } from './run-tree.ts';
import type { RunTree } from './run-tree.ts';
import { doubtAboutMarks } from './tree-doubt.ts';
import type { Member } from './tree.ts';

const LOOKS = [1, 2, 3] as const;

export function outsiderTree(
  table: ProcessTable,
  root: ProcessIdentity,
  assignments: readonly string[],
): RunTree {
  const known = new Map<number, Member>();
  const marks = harnessMarks(root, assignments);
  const find = () => {
    const facts = table.all().filter(({ isZombie }) => !isZombie);
    const here = facts.find(({ pid, startTime }) => pid === root.pid && startTime === root.startTime);
    const found = [
      ...(here === undefined ? [] : [here, ...descendantsOf([here], facts)]),
      ...descendantsOf(stillThere([...known.values()], facts), facts),
      ...markedBy(table, facts, marks).its,
    ];
    for (const { pid, startTime, name } of found)
      known.set(pid, { pid, startTime, name, signs: ['descent'] });
    const living = new Map([...facts, ...found].map((fact) => [fact.pid, fact.startTime]));
    return [...known.values()].filter(
      (member) => member.pid !== process.pid && living.get(member.pid) === member.startTime,
    );
  };
  return {
    find,
    emptiness: () => {
      if (!LOOKS.every(() => find().length === 0)) return 'not_empty';
      return doubtAboutMarks(table, marks) === null ? 'unseen' : 'withheld';
    },
    signal: (member, signal) => signalProven(table, member, signal),
    unaccounted: () => doubtAboutMarks(table, marks),
    thaw: () => {},
    killAtOnce: () => false,
    dissolve: () => {},
  };
}
