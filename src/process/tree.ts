/**
 * Which processes belong to a run. Each sign alone misses some, so they are united:
 * - its cgroup, where one could be made: whoever forks stays in it, but root can move a process out;
 * - descent from the keeper: complete where the keeper is a subreaper, for orphans then become its children;
 * - the session and the process group that the keeper leads: they stay when parents die;
 * - the mark in the environment: it stays through setsid and double forks, but not through `env -i`;
 * - the mark in the kernel (run-mark.ts), where there is one: it stays through that too;
 * - the harness as it recorded itself, and what descends from it: it stays when the keeper dies;
 * - the harness's own mark (harness-mark.ts), where what it starts bears none of ours.
 * The keeper itself is not part of the tree: it ends last, by itself.
 *
 * Two of them need no look at the whole process table, and are complete while the keeper lives as subreaper: the cgroup,
 * and descent by the kernel's own lists of children (`findNear`). What they cost grows with the run, not the machine.
 */
import type { ProcessIdentity } from '../lifecycle/process-identity.ts';
import { descendantsOf, stillThere } from './descendants.ts';
import { markedBy } from './harness-mark.ts';
import type { HarnessMarks } from './harness-mark.ts';
import { isHere, withLater } from './process-table.ts';
import type { ProcessFact, ProcessTable } from './process-table.ts';

export const RUN_MARK = 'REEVE_RUN';

export type Sign = 'cgroup' | 'record' | 'descent' | 'session' | 'group' | 'mark' | 'limit';

export interface Member {
  readonly pid: number;
  readonly startTime: string;
  readonly name: string;
  readonly signs: readonly Sign[];
}

export interface TreeRoots {
  readonly runId: string;
  /** Null while the run is only claimed: then only marks could tell, and nothing has been started. */
  readonly keeper: ProcessIdentity | null;
  /** The harness's own process, as it recorded itself before it executed: a member whatever it has become since. */
  readonly harness?: ProcessIdentity | null;
  /** How the harness itself marks what it starts, where no mark of ours is on it. */
  readonly harnessMarks?: HarnessMarks;
  /** Who was found by an earlier look. */
  readonly known?: readonly Member[];
  /** The run's mark in the kernel; null where there is none. */
  readonly mark?: string | null;
  /** Asks for the pids in the run's cgroup: after the process table was read, or a pid reused in between would pass. */
  readonly cgroupPids: () => readonly number[];
}

/** The living members, parents before their children where descent tells. */
export function findTree(table: ProcessTable, roots: TreeRoots): readonly Member[] {
  const earlier = table.all();
  const signs = new Map<number, Set<Sign>>();
  const add = (pid: number, sign: Sign) => signs.set(pid, (signs.get(pid) ?? new Set()).add(sign));

  for (const pid of roots.cgroupPids()) add(pid, 'cgroup');
  const marked = table.startedWith(`${RUN_MARK}=${roots.runId}`);
  for (const { pid } of marked) add(pid, 'mark');
  const limited = typeof roots.mark === 'string' ? table.bearing(roots.mark) : [];
  for (const { pid } of limited) add(pid, 'limit');
  const seen = withLater(earlier, [...marked, ...limited]);
  const facts = seen.filter((fact) => !fact.isZombie);
  const harness = roots.harness ?? null;
  if (harness !== null && isHere(table, harness)) {
    const itself = facts.find(({ pid, startTime }) => pid === harness.pid && startTime === harness.startTime);
    for (const { pid } of itself === undefined ? [] : [itself, ...descendantsOf([itself], facts)])
      add(pid, 'record');
  }
  for (const { pid } of descendantsOf(stillThere(roots.known ?? [], facts), facts)) add(pid, 'descent');
  const { harnessMarks } = roots;
  const its = harnessMarks === undefined ? [] : markedBy(table, facts, harnessMarks).its;
  for (const { pid } of its) add(pid, 'mark');
  if (roots.keeper !== null && isHere(table, roots.keeper)) {
    // A zombie holds its pid too, and a stranger's zombie shows that the keeper's was reused.
    const holder = seen.find((fact) => fact.pid === roots.keeper?.pid);
    const vouched = new Set(signs.keys());
    for (const { pid, sign } of signsOfKeeper(facts, roots.keeper, holder, vouched)) add(pid, sign);
  }
  return withLater(facts, its).flatMap((fact) => {
    const found = signs.get(fact.pid);
    if (found === undefined || fact.pid === roots.keeper?.pid) return [];
    return [{ pid: fact.pid, startTime: fact.startTime, name: fact.name, signs: [...found] }];
  });
}

/**
 * What descends from a keeper that was seen alive, and what is in the cgroup, zombies left out. Null where the kernel
 * keeps no lists of children.
 */
export function findNear(
  table: ProcessTable,
  keeper: Pick<ProcessIdentity, 'pid'>,
  cgroupPids: readonly number[],
): { readonly facts: readonly ProcessFact[]; readonly members: readonly Member[] } | null {
  const below = kernelDescendants(table, keeper.pid);
  if (below === null) return null;
  const inside = new Set(cgroupPids);
  const facts = new Map(below.map((fact) => [fact.pid, fact]));
  for (const pid of inside) {
    const reading = facts.has(pid) || pid === keeper.pid ? null : table.read(pid);
    if (reading?.is === 'there') facts.set(pid, reading.fact);
  }
  const descending = new Set(below.map(({ pid }) => pid));
  const living = [...facts.values()].filter(({ isZombie }) => !isZombie);
  const signsOf = (pid: number): Sign[] => [
    ...(inside.has(pid) ? (['cgroup'] as const) : []),
    ...(descending.has(pid) ? (['descent'] as const) : []),
  ];
  return {
    facts: living,
    members: living.map(({ pid, startTime, name }) => ({ pid, startTime, name, signs: signsOf(pid) })),
  };
}

/**
 * Parents before their children. The lists are not read in one instant: what has a parent that is neither in them nor
 * the root is a stranger who got the pid of one that ended meanwhile.
 */
function kernelDescendants(table: ProcessTable, root: number): readonly ProcessFact[] | null {
  const found = new Map<number, ProcessFact>();
  const parents = [root];
  for (const parent of parents) {
    const children = table.childrenOf(parent);
    if (children === null && parent === root) return null;
    // A parent that ended meanwhile has handed its children on, up to the root, which is asked again by the next look.
    for (const pid of children ?? []) {
      const reading = found.has(pid) ? null : table.read(pid);
      if (reading?.is !== 'there') continue;
      if (reading.fact.parentPid !== root && !found.has(reading.fact.parentPid)) continue;
      found.set(pid, reading.fact);
      parents.push(pid);
    }
  }
  return [...found.values()];
}

function signsOfKeeper(
  facts: readonly ProcessFact[],
  keeper: ProcessIdentity,
  holder: ProcessFact | undefined,
  vouched: ReadonlySet<number>,
): { pid: number; sign: Sign }[] {
  // A stranger has the keeper's pid now: whatever group, session or children go by that number are the stranger's.
  if (holder !== undefined && holder.startTime !== keeper.startTime) return [];
  const since = Number(keeper.startTime);
  const born = (fact: ProcessFact) => Number.isNaN(since) || Number(fact.startTime) >= since;
  const others = facts.filter((fact) => fact.pid !== keeper.pid && born(fact));
  // With the keeper gone, a stranger may have had its pid, led a session by that number, and gone too: then somebody
  // in it must be proven a member in another way.
  const led = (members: readonly ProcessFact[]) =>
    holder !== undefined || members.some(({ pid }) => vouched.has(pid)) ? members : [];
  const sessionLed = led(others.filter((fact) => fact.sessionId === keeper.pid));
  const groupLed = led(others.filter((fact) => fact.groupId === keeper.pid));
  const descendants =
    holder === undefined ? [] : descendantsOf([{ pid: keeper.pid, startTime: '-Infinity' }], others);
  return [
    ...descendants.map(({ pid }) => ({ pid, sign: 'descent' as const })),
    ...sessionLed.map(({ pid }) => ({ pid, sign: 'session' as const })),
    ...groupLed.map(({ pid }) => ({ pid, sign: 'group' as const })),
  ];
}
