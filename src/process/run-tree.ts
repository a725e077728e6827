/** The tree of one run, as something that can be looked at and signalled. */
import type { Run } from '../lifecycle/run.ts';
import { cgroupPids, isCgroupEmpty, killCgroup, removeCgroup } from './cgroup.ts';
import { isChildless, killChildren } from './childless.ts';
import type { ProcessTable } from './process-table.ts';
import { sparedProcesses } from './spared.ts';
import type { Spared } from './spared.ts';
import { findTree } from './tree.ts';
import type { Member } from './tree.ts';

export interface RunTree {
  find(): readonly Member[];
  /**
   * Whether nothing is left. A look that finds nobody is no proof: a process that forks and exits all the time is in a
   * list of pids one moment and under another pid the next. `unseen` is the best there is where the kernel keeps no
   * count: several looks in a row found nobody.
   */
  emptiness(): 'proven' | 'unseen' | 'not_empty';
  /** Sends only to a process that is proven, at this moment, to be the member found. */
  signal(member: Member, signal: NodeJS.Signals): void;
  /** Ends all at once where the kernel can; the caller goes on to end the rest one by one. */
  killAtOnce(): void;
  /** Gives back what held the tree together. */
  dissolve(): void;
}

/** Where the kernel offers no proof: several looks in a row, each of which must find nobody. */
const LOOKS_WITHOUT_PROOF = [1, 2, 3] as const;

export function runTree(
  table: ProcessTable,
  run: Pick<Run, 'id' | 'keeper' | 'containment' | 'harness'>,
  /** Assignments by which the harness itself marks what it starts. */
  marks: readonly string[] = [],
  /** Who descends from it and is not its own; asked for at every look, for a child may be started at any time. */
  spared: () => readonly Spared[] = () => [],
): RunTree {
  const cgroup = run.containment?.by === 'cgroup' ? run.containment.path : null;
  const known = new Map<number, Member>();
  const strangers = (): ReadonlySet<number> => {
    const children = spared();
    return children.length === 0 ? new Set() : sparedProcesses(table, table.all(), children);
  };
  const find = () => {
    const members = findTree(table, {
      runId: run.id,
      keeper: run.keeper,
      harness: run.harness,
      harnessMarks: marks,
      cgroupPids: () => (cgroup === null ? [] : cgroupPids(cgroup)),
    });
    // Asked for afterwards: whoever came to be in between is then known as a child's.
    const notIts = strangers();
    const found = members.filter(({ pid }) => !notIts.has(pid));
    // Who was found once belongs to it until its end, also when what told so is gone: a parent, for instance.
    const isFound = new Set(found.map(({ pid }) => pid));
    const remembered = [...known.values()].filter(
      (member) => !isFound.has(member.pid) && !notIts.has(member.pid) && isStill(table, member),
    );
    for (const member of found) known.set(member.pid, member);
    // This process may be inside the tree (an agent that stops its own session): it must see the end through.
    return [...found, ...remembered].filter((member) => member.pid !== process.pid);
  };
  return {
    find,
    emptiness: () => {
      if (find().length > 0 || (cgroup !== null && !isCgroupEmpty(cgroup))) return 'not_empty';
      // Only to a subreaper do all orphans come, so only its having no child says anything.
      const childless =
        run.keeper === null || run.containment?.by === 'marks'
          ? 'unknown'
          : isChildless(table, run.keeper, strangers());
      if (childless !== 'unknown') return childless ? 'proven' : 'not_empty';
      if (cgroup !== null) return 'proven';
      return LOOKS_WITHOUT_PROOF.every(() => find().length === 0) ? 'unseen' : 'not_empty';
    },
    signal: (member, signal) => {
      // It may have become a child's keeper since it was found.
      const isSpared = spared().some(
        ({ pid, startTime }) => pid === member.pid && startTime === member.startTime,
      );
      if (!isSpared) signalProven(table, member, signal);
    },
    killAtOnce: () => {
      if (cgroup !== null && !cgroupPids(cgroup).includes(process.pid)) killCgroup(cgroup, run.id);
      if (run.keeper !== null && run.containment?.by !== 'marks') killChildren(table, run.keeper, strangers);
    },
    dissolve: () => {
      if (cgroup !== null) removeCgroup(cgroup);
    },
  };
}

function isStill(table: ProcessTable, member: Member): boolean {
  const reading = table.read(member.pid);
  return reading.is === 'there' && !reading.fact.isZombie && reading.fact.startTime === member.startTime;
}

/** The check stands directly before the signal: a pid that was reused since it was found is left alone. */
export function signalProven(
  table: ProcessTable,
  target: { readonly pid: number; readonly startTime: string | null },
  signal: NodeJS.Signals,
): void {
  const reading = table.read(target.pid);
  if (target.pid <= 1 || reading.is !== 'there' || reading.fact.isZombie) return;
  if (target.startTime === null || reading.fact.startTime !== target.startTime) return;
  try {
    process.kill(target.pid, signal);
  } catch {
    // Gone in between, or not ours to signal: the proof that follows tells which, and names it if it lives on.
  }
}
