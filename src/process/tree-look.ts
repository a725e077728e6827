/**
 * Looks at the tree of one run. While the keeper lives as subreaper the kernel's lists say all there is; otherwise the
 * whole process table is searched for the signs in tree.ts.
 */
import type { Run } from '../lifecycle/run.ts';
import { cgroupPids } from './cgroup.ts';
import { isChildless } from './childless.ts';
import type { HarnessMarks } from './harness-mark.ts';
import { probe } from './liveness.ts';
import type { ProcessFact, ProcessTable } from './process-table.ts';
import type { RunMark } from './run-mark.ts';
import { sparedProcesses } from './spared.ts';
import type { Spared } from './spared.ts';
import { findNear, findTree, RUN_MARK } from './tree.ts';
import type { Member } from './tree.ts';

/** What a run's tree is known by. */
export type TreeFacts = Pick<Run, 'id' | 'keeper' | 'containment' | 'harness'> & {
  /** Left out for what Reeve did not start, which bears none. */
  readonly mark?: RunMark;
  /** Only of that. */
  readonly harnessMarks?: HarnessMarks;
};

export interface TreeLook {
  /** Everybody, this process too where it is inside. */
  findAll(): readonly Member[];
  /** The keeper, while its word counts: only to a living subreaper do all orphans come. */
  reaper(): NonNullable<Run['keeper']> | null;
  /** `unknown` where there is no such keeper, or the kernel keeps no list. */
  isChildless(): boolean | 'unknown';
  /** Whether nobody outside of the tree bears its mark: work handed to a server, for instance. */
  isNobodyOutside(): boolean;
  /** Who descends from it and is not its own. */
  strangers(): ReadonlySet<number>;
}

export function lookAtTree(table: ProcessTable, run: TreeFacts, spared: () => readonly Spared[]): TreeLook {
  const pidsInCgroup = () => (run.containment?.by === 'cgroup' ? cgroupPids(run.containment.path) : []);
  const known = new Map<number, Member>();
  let hasLookedOutside = false;

  const reaper = () =>
    run.keeper !== null &&
    // Whatever a damaged record says: everybody descends from the first process.
    run.keeper.pid > 1 &&
    run.containment?.by !== 'marks' &&
    probe(table, run.keeper).is === 'alive'
      ? run.keeper
      : null;
  const lookNear = () => {
    const keeper = reaper();
    return keeper === null ? null : findNear(table, keeper, pidsInCgroup());
  };
  /** Asked for after a look: whoever came to be in between is then known as a child's. */
  const strangersAmong = (near: readonly ProcessFact[] | null): ReadonlySet<number> => {
    const children = spared();
    if (children.length === 0) return new Set();
    return near === null
      ? sparedProcesses(table, table.all(), children)
      : sparedProcesses(table, near, children, 'of these');
  };
  /** Who was found once belongs to it until its end, also when what told so is gone: a parent, for instance. */
  const withKnown = (members: readonly Member[], notIts: ReadonlySet<number>) => {
    const found = members.filter(({ pid }) => !notIts.has(pid));
    const isFound = new Set(found.map(({ pid }) => pid));
    const remembered = [...known.values()].filter(
      (member) => !isFound.has(member.pid) && !notIts.has(member.pid) && isStill(table, member),
    );
    for (const member of found) known.set(member.pid, member);
    return [...found, ...remembered];
  };
  const lookEverywhere = () =>
    findTree(table, {
      runId: run.id,
      keeper: run.keeper,
      harness: run.harness,
      known: [...known.values()],
      ...(run.harnessMarks === undefined ? {} : { harnessMarks: run.harnessMarks }),
      mark: run.mark?.is === 'set' ? run.mark.mark : null,
      cgroupPids: pidsInCgroup,
    });
  const strangers = () => strangersAmong(lookNear()?.facts ?? null);
  return {
    reaper,
    strangers,
    findAll: () => {
      const near = lookNear();
      return withKnown(near?.members ?? lookEverywhere(), strangersAmong(near?.facts ?? null));
    },
    isChildless: () => {
      const keeper = reaper();
      return keeper === null ? 'unknown' : isChildless(table, keeper, strangers());
    },
    // It reads every environment of the machine, so one look that found nobody is enough for a tree.
    isNobodyOutside: () => {
      if (hasLookedOutside) return true;
      const marked = table.startedWith(`${RUN_MARK}=${run.id}`).filter(({ isZombie }) => !isZombie);
      const found = marked
        .filter(({ pid }) => pid !== run.keeper?.pid && pid !== process.pid)
        .map(({ pid, startTime, name }): Member => ({ pid, startTime, name, signs: ['mark'] }));
      hasLookedOutside = found.length === 0 || withKnown(found, strangersAmong(null)).length === 0;
      return hasLookedOutside;
    },
  };
}

function isStill(table: ProcessTable, member: Member): boolean {
  const reading = table.read(member.pid);
  return reading.is === 'there' && !reading.fact.isZombie && reading.fact.startTime === member.startTime;
}
