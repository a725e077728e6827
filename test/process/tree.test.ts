import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ProcessIdentity } from '../../src/lifecycle/process-identity.ts';
import { harnessMarks } from '../../src/process/harness-mark.ts';
import type { ProcessFact } from '../../src/process/process-table.ts';
import { findNear, findTree } from '../../src/process/tree.ts';
import type { Sign } from '../../src/process/tree.ts';
import { fact, fakeTable, HERE } from './fake-table.ts';

const RUN = 'run-1';
const MARK = `REEVE_RUN=${RUN}`;
const KEEPER: ProcessIdentity = { ...HERE, pid: 100, startTime: '1000' };
/** A detached keeper leads a session and a group. */
const KEEPER_FACT = fact(100, 1, { groupId: 100, sessionId: 100 });

interface Situation {
  readonly facts: readonly ProcessFact[];
  readonly marked?: readonly number[];
  readonly cgroupPids?: readonly number[];
  readonly keeper?: ProcessIdentity | null;
}

/** Who is found, and by which signs. */
function found({ facts, marked = [], cgroupPids = [], keeper = KEEPER }: Situation): Record<number, Sign[]> {
  const members = findTree(fakeTable(facts, { [MARK]: marked }), {
    runId: RUN,
    keeper,
    cgroupPids: () => cgroupPids,
  });
  return Object.fromEntries(members.map(({ pid, signs }) => [pid, [...signs]]));
}

describe('the tree of a run', () => {
  it('has each sign find what it alone can tell', () => {
    const facts = [
      KEEPER_FACT,
      fact(101, 100),
      fact(102, 101),
      fact(103, 1, { sessionId: 100 }),
      fact(104, 1, { groupId: 100 }),
      fact(105, 1),
      fact(106, 1),
      fact(107, 1),
    ];
    expect(found({ facts, marked: [105], cgroupPids: [106] })).toEqual({
      101: ['descent'],
      102: ['descent'],
      103: ['session'],
      104: ['group'],
      105: ['mark'],
      106: ['cgroup'],
    });
  });

  it('names each member once, with all the signs that found it', () => {
    const member = fact(101, 100, { groupId: 100, sessionId: 100, name: 'claude' });
    const table = fakeTable([KEEPER_FACT, member], { [MARK]: [101] });
    expect(findTree(table, { runId: RUN, keeper: KEEPER, cgroupPids: () => [101] })).toEqual([
      {
        pid: 101,
        startTime: '1010',
        name: 'claude',
        signs: ['cgroup', 'mark', 'descent', 'session', 'group'],
      },
    ]);
  });

  it('never has the keeper in it, whatever sign finds it', () => {
    expect(found({ facts: [KEEPER_FACT], marked: [100], cgroupPids: [100] })).toEqual({});
  });

  it('has only what lives: no zombies, and nothing that is listed by a sign and is not there', () => {
    const facts = [KEEPER_FACT, fact(101, 100, { isZombie: true }), fact(102, 101)];
    expect(found({ facts, marked: [101, 555], cgroupPids: [101, 0, 556] })).toEqual({});
  });

  it('has only those with the mark or in the cgroup while there is no keeper', () => {
    const facts = [fact(101, 1), fact(102, 101), fact(103, 1)];
    expect(found({ facts, marked: [101], cgroupPids: [103], keeper: null })).toEqual({
      101: ['mark'],
      103: ['cgroup'],
    });
  });

  it.each([
    ['mark', MARK, { mark: null }],
    ['limit', '77', { mark: '77' }],
  ] as const)(
    'has whoever came to be after the table was read and bears its %s',
    (sign, mark, { mark: limit }) => {
      const facts = [fact(101, 1), fact(102, 1), fact(103, 1, { isZombie: true })];
      const table = { ...fakeTable(facts, { [mark]: [102, 103] }), all: () => [fact(101, 1)] };
      const roots = { runId: RUN, keeper: KEEPER, mark: limit, cgroupPids: () => [] };
      expect(findTree(table, roots)).toEqual([
        { pid: 102, startTime: '1020', name: 'program-102', signs: [sign] },
      ]);
    },
  );

  it('has what descends from whoever was found before, whatever else tells of it', () => {
    const facts = [fact(101, 1), fact(102, 101), fact(103, 1), fact(104, 103)];
    const known = facts.map(({ pid, startTime, name }) => ({ pid, startTime, name, signs: [] }));
    // Its pid is another's by now.
    const ended = { pid: 103, startTime: 'earlier', name: 'program-103', signs: [] };
    const roots = { runId: RUN, keeper: null, known: [...known.slice(0, 1), ended], cgroupPids: () => [] };
    expect(findTree(fakeTable(facts), roots)).toEqual([{ ...known[1], signs: ['descent'] }]);
  });

  it('still has the session and the group of a keeper that is gone, when somebody in them is proven a member', () => {
    const facts = [
      fact(101, 1, { groupId: 100, sessionId: 100 }),
      fact(102, 1, { groupId: 102, sessionId: 100 }),
      fact(103, 100),
    ];
    expect(found({ facts, marked: [101] })).toEqual({ 101: ['mark', 'session', 'group'], 102: ['session'] });
    expect(found({ facts, cgroupPids: [102] })).toEqual({ 101: ['session'], 102: ['cgroup', 'session'] });
  });

  it('still has the session and the group of a keeper that is a zombie', () => {
    const facts = [{ ...KEEPER_FACT, isZombie: true }, fact(101, 1, { groupId: 100, sessionId: 100 })];
    expect(found({ facts })).toEqual({ 101: ['session', 'group'] });
  });
});

describe('the lists of children that the kernel keeps', () => {
  /** As the kernel lists them, which may be a moment older than what is read of each. */
  function near(facts: readonly ProcessFact[], lists: Record<number, number[]>, inCgroup: number[] = []) {
    const table = { ...fakeTable(facts), childrenOf: (pid: number) => lists[pid] ?? [] };
    const members = findNear(table, KEEPER, inCgroup)?.members ?? [];
    return Object.fromEntries(members.map(({ pid, signs }) => [pid, [...signs]]));
  }

  it('give the tree together with the cgroup, without zombies and without the keeper', () => {
    const facts = [
      KEEPER_FACT,
      fact(101, 100),
      fact(102, 101),
      fact(103, 101, { isZombie: true }),
      fact(104, 1),
      fact(105, 1, { isZombie: true }),
    ];
    expect(near(facts, { 100: [101], 101: [102, 103] }, [100, 102, 104, 105, 106])).toEqual({
      101: ['descent'],
      102: ['cgroup', 'descent'],
      104: ['cgroup'],
    });
  });

  it('do not give a stranger who got the pid of a child that ended after they were read', () => {
    const facts = [KEEPER_FACT, fact(101, 100), fact(102, 7), fact(103, 102)];
    expect(near(facts, { 100: [101, 102], 101: [], 102: [103] })).toEqual({ 101: ['descent'] });
  });

  it('say nothing where there are none, which is not that there is nobody', () => {
    expect(findNear(fakeTable([KEEPER_FACT, fact(101, 100)]), KEEPER, [])).toBeNull();
  });
});

describe('a stranger', () => {
  const family = [
    fact(201, 100, { groupId: 100, sessionId: 100 }),
    fact(202, 201, { groupId: 100, sessionId: 100 }),
    fact(203, 1, { sessionId: 100 }),
    fact(204, 1, { groupId: 100 }),
  ];

  it.each([
    ['living', false],
    ['a zombie', true],
  ])('who has the pid of the keeper and is %s keeps his session, group and children', (_, isZombie) => {
    const stranger = { ...KEEPER_FACT, startTime: '1999', isZombie };
    expect(found({ facts: [stranger, ...family], marked: [202], cgroupPids: [204] })).toEqual({
      202: ['mark'],
      204: ['cgroup'],
    });
  });

  it('who had the pid of a keeper that is gone, led a session by it and is gone too, leaves strangers', () => {
    expect(found({ facts: family.slice(2) })).toEqual({});
  });

  it('has the pid of a keeper that was recorded without its start time, for all that can be proven', () => {
    expect(found({ facts: [KEEPER_FACT, ...family], keeper: { ...KEEPER, startTime: null } })).toEqual({});
  });

  it.each([
    ['on another host', { host: 'other', boot: 'boot-2' }],
    ['before the last boot', { boot: 'boot-0' }],
    ['in another pid namespace', { pidNamespace: 'pid:[2]' }],
  ])('is whoever goes by the number of a keeper %s', (_, elsewhere) => {
    const keeper = { ...KEEPER, ...elsewhere };
    expect(found({ facts: [KEEPER_FACT, ...family], keeper })).toEqual({});
    expect(found({ facts: family, marked: [201], keeper })).toEqual({ 201: ['mark'] });
  });

  it('is whoever bears the harness’s own mark and is older than the harness: its number was another’s then', () => {
    const mark = 'HARNESS_PID=20';
    const table = fakeTable([fact(15, 1), fact(20, 1), fact(25, 1)], { [mark]: [15, 25] });
    const harness = { ...HERE, pid: 20, startTime: '200' };
    const marks = harnessMarks(harness, [mark]);
    const roots = { runId: RUN, keeper: null, harness, harnessMarks: marks, cgroupPids: () => [] };
    expect(findTree(table, roots).map(({ pid, signs }) => ({ pid, signs }))).toEqual([
      { pid: 20, signs: ['record'] },
      { pid: 25, signs: ['mark'] },
    ]);
  });

  it('is whoever has the pid of the harness and was not started when that was', () => {
    const table = fakeTable([fact(20, 1), fact(21, 20)]);
    const harness = { ...HERE, pid: 20, startTime: '199' };
    expect(findTree(table, { runId: RUN, keeper: null, harness, cgroupPids: () => [] })).toEqual([]);
  });

  it('is a "child" that is older than the keeper', () => {
    const old = { startTime: '999' };
    expect(
      found({
        facts: [
          KEEPER_FACT,
          fact(201, 100, old),
          fact(202, 201),
          fact(203, 1, { ...old, sessionId: 100 }),
          fact(204, 1, { ...old, groupId: 100 }),
        ],
      }),
    ).toEqual({});
  });

  it('is a "parent" who is younger than the child: the pid was reused while the table was read', () => {
    const facts = [
      KEEPER_FACT,
      // Was read as a child of the keeper after its pid had been given away by the real parent of 202 and 203.
      fact(201, 100, { startTime: '5000' }),
      fact(202, 201, { startTime: '4999' }),
      fact(203, 201, { startTime: '5000' }),
    ];
    expect(found({ facts })).toEqual({ 201: ['descent'], 203: ['descent'] });
  });

  it('is whoever shares the shell with a foreground keeper, which leads neither group nor session', () => {
    const shell = { groupId: 60, sessionId: 50 };
    const facts = [
      fact(50, 1, { groupId: 50, sessionId: 50 }),
      fact(60, 50, shell),
      fact(100, 60, shell),
      fact(101, 100, shell),
      fact(102, 101, { groupId: 102, sessionId: 102 }),
      fact(103, 50, shell),
      fact(104, 50, { groupId: 104, sessionId: 50 }),
    ];
    expect(found({ facts, marked: [101] })).toEqual({ 101: ['mark', 'descent'], 102: ['descent'] });
  });
});

describe('on an operating system whose start times are no numbers and that tells no session', () => {
  const at = (second: string) => ({ startTime: `Mon Nov 3 10:11:${second} 2025`, sessionId: null });

  it('the tree is found by descent, group and mark', () => {
    const keeper = { ...KEEPER, startTime: at('12').startTime };
    const facts = [
      fact(100, 1, { groupId: 100, ...at('12') }),
      fact(101, 100, at('13')),
      fact(102, 101, at('14')),
      fact(103, 1, { groupId: 100, ...at('12') }),
      fact(104, 1, at('20')),
      fact(105, 1, at('20')),
    ];
    expect(found({ facts, marked: [104], keeper })).toEqual({
      101: ['descent'],
      102: ['descent'],
      103: ['group'],
      104: ['mark'],
    });
  });
});

describe('any process table', () => {
  const pids = Array.from({ length: 12 }, (_, index) => 95 + index);
  const anyPid = fc.constantFrom(...pids);
  const anyFact = fc.record({
    pid: anyPid,
    parentPid: fc.oneof(fc.constant(1), anyPid),
    groupId: anyPid,
    sessionId: fc.oneof(fc.constant(null), anyPid),
    startTime: fc.integer({ min: 990, max: 1_010 }).map(String),
    isZombie: fc.boolean(),
    isStopped: fc.boolean(),
    name: fc.constant('program'),
  });
  const anySituation = fc.record({
    facts: fc.uniqueArray(anyFact, { selector: ({ pid }) => pid, maxLength: 12 }),
    marked: fc.uniqueArray(anyPid),
    cgroupPids: fc.uniqueArray(anyPid),
  });
  const holds = (promise: (situation: Required<Omit<Situation, 'keeper'>>) => void) =>
    fc.assert(fc.property(anySituation, promise), { numRuns: 2_000 });

  it('gives a tree of living processes, without the keeper, each at most once', () => {
    holds((situation) => {
      const members = findTree(fakeTable(situation.facts, { [MARK]: situation.marked }), {
        runId: RUN,
        keeper: KEEPER,
        cgroupPids: () => situation.cgroupPids,
      });
      const living = situation.facts.filter(({ pid, isZombie }) => !isZombie && pid !== KEEPER.pid);
      const known = members.map(({ pid, startTime }) => `${pid}/${startTime}`);
      expect(living.map(({ pid, startTime }) => `${pid}/${startTime}`)).toEqual(
        expect.arrayContaining(known),
      );
      expect(known).toEqual([...new Set(known)]);
    });
  });

  it('gives every living process that has the mark or is in the cgroup', () => {
    holds((situation) => {
      const sure = situation.facts
        .filter(({ pid, isZombie }) => !isZombie && pid !== KEEPER.pid)
        .filter(({ pid }) => situation.marked.includes(pid) || situation.cgroupPids.includes(pid))
        .map(({ pid }) => String(pid));
      expect(Object.keys(found(situation))).toEqual(expect.arrayContaining(sure));
    });
  });

  it('gives nobody else when a stranger has the pid of the keeper', () => {
    holds((situation) => {
      const facts = [
        ...situation.facts.filter(({ pid }) => pid !== 100),
        fact(100, 1, { startTime: '1001' }),
      ];
      const strangers = Object.entries(found({ ...situation, facts })).filter(
        ([pid]) => !situation.marked.includes(Number(pid)) && !situation.cgroupPids.includes(Number(pid)),
      );
      expect(strangers).toEqual([]);
    });
  });

  it('gives nobody without a mark or cgroup who is older than the keeper', () => {
    holds((situation) => {
      const members = found(situation);
      const old = situation.facts.filter(
        ({ pid, startTime }) =>
          pid in members &&
          Number(startTime) < Number(KEEPER.startTime) &&
          !situation.marked.includes(pid) &&
          !situation.cgroupPids.includes(pid),
      );
      expect(old).toEqual([]);
    });
  });
});
