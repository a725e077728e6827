import { expect, it } from 'vitest';
import { harnessBelow } from '../../src/process/harness-below.ts';
import type { ProcessFact } from '../../src/process/process-table.ts';
import { fact, fakeTable, HERE } from './fake-table.ts';

const KEEPER = fact(10, 1, { name: 'reeve-keeper a' });
const below = (...facts: ProcessFact[]) =>
  harnessBelow(fakeTable(facts), { ...HERE, pid: 10, startTime: '100' });

it('the first child of a keeper is its harness', () => {
  const orphan = fact(9, 10, { startTime: '130' });
  expect(below(KEEPER, orphan, fact(12, 10), fact(13, 12))).toEqual({ ...HERE, pid: 12, startTime: '120' });
});

it.each<[string, ProcessFact[]]>([
  ['two are equally old', [KEEPER, fact(12, 10), fact(13, 10, { startTime: '120' })]],
  ['two start times cannot be compared', [KEEPER, fact(12, 10, { startTime: 'Mon' }), fact(13, 10)]],
  ['the keeper has become the finaliser', [fact(10, 1, { name: 'node' }), fact(12, 10)]],
  ['the harness is gone', [KEEPER, fact(12, 10, { isZombie: true }), fact(13, 1)]],
])('it is not known when %s', (_when, facts) => {
  expect(below(...facts)).toBeNull();
});
