/**
 * The tree of a process that Reeve did not start: no keeper, no cgroup and no mark of ours holds it together. What
 * descends from it, and what carries the harness's own mark, belongs to it; and whoever was once found to belong does so
 * until its end, also when its parents are gone.
 */
import type { ProcessIdentity } from '../lifecycle/process-identity.ts';
import { descendantsOf } from './descendants.ts';
import { markedBy } from './harness-mark.ts';
import type { HarnessMarks } from './harness-mark.ts';
import { START_TIME_STEP_MS } from './process-table.ts';
import type { ProcessFact, ProcessTable } from './process-table.ts';
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
  let untilMs: number | null = null;
  const marks: HarnessMarks = { harness: root, assignments, untilMs: () => untilMs };
  const find = () => {
    const facts = table.all().filter(({ isZombie }) => !isZombie);
    const here = facts.find(({ pid, startTime }) => pid === root.pid && startTime === root.startTime);
    // The youngest of a look at which it lived tells a time at which it did.
    if (here !== undefined) untilMs = Math.max(...facts.map(startedMs).filter(Number.isFinite));
    const found = [
      ...(here === undefined ? [] : [here, ...descendantsOf(here, facts)]),
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

function startedMs({ startTime }: ProcessFact): number {
  return Number(startTime) * START_TIME_STEP_MS;
}
