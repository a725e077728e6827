/** What a look without a living subreaper could not look at: a failed read is unknown, never "nobody". */
import { isPopulated, readCgroup } from './cgroup.ts';
import { isOrphan, markedBy } from './harness-mark.ts';
import type { HarnessMarks } from './harness-mark.ts';
import type { ProcessFact, ProcessTable } from './process-table.ts';
import type { TreeFacts } from './tree-look.ts';

/** Null when there is no such thing. */
export function doubtAbout(table: ProcessTable, run: TreeFacts): string | null {
  const cgroup = run.containment?.by === 'cgroup' ? run.containment.path : null;
  if (cgroup !== null) {
    const { unreadable } = readCgroup(cgroup);
    if (unreadable !== null) return `its cgroup could not be looked at: ${unreadable}`;
    if (isPopulated(cgroup) === 'unknown') return 'its cgroup does not say whether anything is in it';
  }
  if (run.mark?.is === 'unreadable')
    return `the mark of its processes could not be read: ${run.mark.because}`;
  const hidden = run.mark?.is === 'none' ? possiblyIts(table, run) : [];
  if (hidden.length > 0) return `processes that may be of it could not be looked at: ${namesOf(hidden)}`;
  return run.harnessMarks === undefined ? null : doubtAboutMarks(table, run.harnessMarks);
}

/** Null when there is none. */
export function doubtAboutMarks(table: ProcessTable, harnessMarks: HarnessMarks): string | null {
  const living = table.all().filter(({ isZombie }) => !isZombie);
  const { doubtful } = markedBy(table, living, harnessMarks);
  if (doubtful.length === 0) return null;
  return `processes that bear the harness's mark may be of it, or of a later one with the same mark: ${namesOf(doubtful)}`;
}

function namesOf(facts: readonly ProcessFact[]): string {
  return facts.map(({ name, pid }) => `${name} (pid ${pid})`).join(', ');
}

/**
 * Without a mark in the kernel, a process that shows nobody its environment cannot be told from any other. It may be of
 * the run when it is of the same user, younger than the keeper, and came to where orphans come.
 */
function possiblyIts(table: ProcessTable, { keeper }: TreeFacts): readonly ProcessFact[] {
  if (keeper === null) return [];
  return table
    .withheld()
    .filter(
      (fact) => !fact.isZombie && Number(fact.startTime) >= Number(keeper.startTime) && isOrphan(table, fact),
    );
}
