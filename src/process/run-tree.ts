/** The tree of one run, as something that can be looked at and signalled. */
import { cgroupPids, isPopulated, killCgroup, removeCgroup, thawCgroup } from './cgroup.ts';
import { killChildren } from './childless.ts';
import type { ProcessTable } from './process-table.ts';
import type { Spared } from './spared.ts';
import type { Member } from './tree.ts';
import { doubtAbout } from './tree-doubt.ts';
import { lookAtTree } from './tree-look.ts';
import type { TreeFacts } from './tree-look.ts';

/**
 * Whether nothing is left. A look that finds nobody is no proof: a process that forks and exits all the time is in a
 * list of pids one moment and under another pid the next, and one that left its cgroup and its parents is in none.
 * - `proven`: the keeper lives, orphans come to it, and the kernel lists no child of it. No other way is a proof.
 * - `unseen`: nobody was found in several looks in a row, by any sign.
 * - `withheld`: nobody was found either, but something could not be looked at; `unaccounted` says what.
 */
export type Emptiness = 'proven' | 'unseen' | 'withheld' | 'not_empty';

/** `refused`: this user may not signal it. `nobody`: it is gone, or was left alone. */
export type Signalled = 'sent' | 'refused' | 'nobody';

export interface RunTree {
  find(): readonly Member[];
  emptiness(): Emptiness;
  /** Why it is not known to be empty although nobody is found; null when there is no such reason. */
  unaccounted(): string | null;
  /** Lets it hear signals again, where the harness froze a part of itself. */
  thaw(): void;
  /** Sends only to a process that is proven, at this moment, to be the member found. */
  signal(member: Member, signal: NodeJS.Signals): Signalled;
  /**
   * Ends all at once where the kernel can; the caller goes on to end the rest one by one. Answers whether the kernel killed
   * the cgroup, which reaches also whom this user may not signal.
   */
  killAtOnce(): boolean;
  /** Gives back what held the tree together. */
  dissolve(): void;
}

/** Where the kernel offers no proof: several looks in a row, each of which must find nobody. */
const LOOKS_WITHOUT_PROOF = [1, 2, 3] as const;

export function runTree(
  table: ProcessTable,
  run: TreeFacts,
  /** Who descends from it and is not its own; asked for at every look, for a child may be started at any time. */
  spared: () => readonly Spared[] = () => [],
): RunTree {
  const cgroup = run.containment?.by === 'cgroup' ? run.containment.path : null;
  const look = lookAtTree(table, run, spared);
  // This process may be inside the tree (an agent that stops its own session): it must see the end through.
  const find = () => look.findAll().filter(({ pid }) => pid !== process.pid);
  const isCounted = () => cgroup !== null && isPopulated(cgroup) === true;
  return {
    find,
    emptiness: () => {
      if (find().length > 0 || isCounted()) return 'not_empty';
      const isChildless = look.isChildless();
      if (isChildless !== 'unknown') return isChildless && look.isNobodyOutside() ? 'proven' : 'not_empty';
      if (!LOOKS_WITHOUT_PROOF.every(() => find().length === 0)) return 'not_empty';
      return doubtAbout(table, run) === null ? 'unseen' : 'withheld';
    },
    unaccounted: () => {
      const members = look.findAll();
      if (members.some(({ pid }) => pid === process.pid)) return 'this very process is part of it';
      if (members.length > 0) return null;
      if (isCounted())
        return 'the kernel counts a process in its cgroup that the process table does not show';
      const isChildless = look.isChildless();
      if (isChildless === 'unknown') return doubtAbout(table, run);
      return isChildless
        ? null
        : 'the kernel lists a child of its keeper that the process table does not show';
    },
    thaw: () => {
      if (cgroup !== null) thawCgroup(cgroup);
    },
    signal: (member, signal) => {
      // It may have become a child's keeper since it was found.
      const isSpared = spared().some(
        ({ pid, startTime }) => pid === member.pid && startTime === member.startTime,
      );
      return isSpared ? 'nobody' : signalProven(table, member, signal);
    },
    killAtOnce: () => {
      const isWhole = cgroup !== null && !cgroupPids(cgroup).includes(process.pid);
      const isKilled = isWhole && killCgroup(cgroup, run.id);
      const keeper = look.reaper();
      if (keeper !== null) killChildren(table, keeper, () => look.strangers());
      return isKilled;
    },
    dissolve: () => {
      if (cgroup !== null) removeCgroup(cgroup);
    },
  };
}

/** The check stands directly before the signal: a pid that was reused since it was found is left alone. */
export function signalProven(
  table: ProcessTable,
  target: { readonly pid: number; readonly startTime: string | null },
  signal: NodeJS.Signals,
): Signalled {
  const reading = table.read(target.pid);
  if (target.pid <= 1 || reading.is !== 'there' || reading.fact.isZombie) return 'nobody';
  if (target.startTime === null || reading.fact.startTime !== target.startTime) return 'nobody';
  try {
    process.kill(target.pid, signal);
    return 'sent';
  } catch (error) {
    // Gone in between, or not ours to signal: the proof that follows names it if it lives on.
    return error instanceof Error && 'code' in error && error.code === 'EPERM' ? 'refused' : 'nobody';
  }
}
