import type { ProcessFact, ProcessReading, ProcessTable } from '../../src/process/process-table.ts';

export const HERE = { host: 'loom', boot: 'boot-1', pidNamespace: 'pid:[1]' } as const;

/** A process that leads nothing, unless told otherwise, and was born in the order of its pid. */
export function fact(pid: number, parentPid: number, more: Partial<ProcessFact> = {}): ProcessFact {
  return {
    pid,
    parentPid,
    groupId: 1,
    sessionId: 1,
    startTime: String(pid * 10),
    isZombie: false,
    isStopped: false,
    name: `program-${pid}`,
    ...more,
  };
}

/** A table of these processes; `marked` are those that carry a mark, by the assignment. */
export function fakeTable(
  facts: readonly ProcessFact[],
  marked: Readonly<Record<string, readonly number[]>> = {},
): ProcessTable {
  const bearing = (mark: string) => facts.filter(({ pid }) => marked[mark]?.includes(pid) === true);
  return {
    host: HERE,
    read: (pid): ProcessReading => {
      const found = facts.find((each) => each.pid === pid);
      return found === undefined ? { is: 'gone' } : { is: 'there', fact: found };
    },
    all: () => facts,
    childrenOf: () => null,
    startedWith: bearing,
    bearing,
    withheld: () => [],
    details: () => null,
    memoryOf: () => new Map(),
    startedAtMs: () => null,
    awakeMs: () => 0,
  };
}
