/** Who belongs to an outsider, in process tables that cannot be staged: a pid reused between two looks, and the like. */
import { expect, it } from 'vitest';
import { outsiderTree } from '../../src/process/outsider-tree.ts';
import type { ProcessFact, ProcessTable } from '../../src/process/process-table.ts';
import { fact, fakeTable, HERE } from '../process/fake-table.ts';

const ROOT = { ...HERE, pid: 100, startTime: '1000' };
const MARK = 'CLAUDE_PID=100';

/** A table that changes from look to look, each of which lists all processes once. */
function changingTable(
  looks: readonly (readonly ProcessFact[])[],
  marked: Readonly<Record<string, readonly number[]>> = {},
): ProcessTable {
  let look = 0;
  const all = () => looks[Math.min(look++, looks.length - 1)] ?? [];
  return { ...fakeTable(looks.at(-1) ?? [], marked), all };
}

const pidsOf = (tree: ReturnType<typeof outsiderTree>) => tree.find().map(({ pid }) => pid);

it('a stranger that got the pid of the one that was found, and its children, do not belong', () => {
  const stranger = [fact(100, 1, { startTime: '5000' }), fact(600, 100)];
  expect(pidsOf(outsiderTree(fakeTable(stranger), ROOT, [MARK]))).toEqual([]);
  const tree = outsiderTree(changingTable([[fact(100, 1), fact(101, 100)], stranger]), ROOT, [MARK]);
  expect(pidsOf(tree)).toEqual([100, 101]);
  expect(pidsOf(tree)).toEqual([]);
});

it('whoever belonged once does so until its end, also when its parents are gone', () => {
  const looks = [[fact(100, 1), fact(101, 100), fact(102, 101)], [fact(102, 1)], []];
  const tree = outsiderTree(changingTable(looks), ROOT, [MARK]);
  expect(pidsOf(tree)).toEqual([100, 101, 102]);
  expect(pidsOf(tree)).toEqual([102]);
  expect(pidsOf(tree)).toEqual([]);
});

it('whoever descends from one that belonged belongs too, also when it came after the end of the first', () => {
  const looks = [
    [fact(100, 1), fact(101, 100)],
    [fact(101, 1), fact(102, 101), fact(103, 1)],
  ];
  const tree = outsiderTree(changingTable(looks), ROOT, []);
  expect(pidsOf(tree)).toEqual([100, 101]);
  expect(pidsOf(tree)).toEqual([101, 102]);
});

it('a stranger that got the pid of one that belonged does not', () => {
  const looks = [[fact(100, 1), fact(101, 100)], [fact(101, 1, { startTime: '9000' })]];
  const tree = outsiderTree(changingTable(looks), ROOT, [MARK]);
  expect(pidsOf(tree)).toEqual([100, 101]);
  expect(pidsOf(tree)).toEqual([]);
});

it('what carries the mark belongs wherever it is, unless it is older than the one whose mark it is', () => {
  const facts = [fact(50, 1), fact(100, 1), fact(200, 1), fact(300, 1)];
  const table = fakeTable(facts, { [MARK]: [50, 200] });
  expect(pidsOf(outsiderTree(table, ROOT, [MARK]))).toEqual([100, 200]);
  expect(pidsOf(outsiderTree(table, ROOT, []))).toEqual([100]);
});

it('what carries the mark and came after the one whose mark it is was gone does not belong, and leaves a doubt', () => {
  const looks = [
    [fact(100, 1), fact(120, 1)],
    [fact(120, 1), fact(500, 1)],
  ];
  const tree = outsiderTree(changingTable(looks, { [MARK]: [120, 500] }), ROOT, [MARK]);
  expect(pidsOf(tree)).toEqual([100, 120]);
  expect(pidsOf(tree)).toEqual([120]);
  const later = outsiderTree(changingTable([[fact(100, 1)], [fact(500, 1)]], { [MARK]: [500] }), ROOT, [
    MARK,
  ]);
  expect(pidsOf(later)).toEqual([100]);
  expect([later.emptiness(), later.unaccounted()]).toEqual([
    'withheld',
    expect.stringContaining('(pid 500)'),
  ]);
});

it('the process that looks never ends itself', () => {
  const self = fact(process.pid, 100, { startTime: '2000' });
  expect(pidsOf(outsiderTree(fakeTable([fact(100, 1), self]), ROOT, []))).toEqual([100]);
});

it('being gone takes several looks that find nobody', () => {
  const looks = [[], [fact(100, 1)], []];
  const tree = outsiderTree(changingTable(looks), ROOT, []);
  expect([tree.emptiness(), tree.emptiness()]).toEqual(['not_empty', 'unseen']);
});
