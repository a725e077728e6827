import { expect, it } from 'vitest';
import { doubtAbout } from '../../src/process/tree-doubt.ts';
import type { TreeFacts } from '../../src/process/tree-look.ts';
import { fact, fakeTable, HERE } from './fake-table.ts';

const keeper = { ...HERE, pid: 20, startTime: '200' };
const of = (mark: TreeFacts['mark']): TreeFacts => ({
  id: 'r-1',
  keeper,
  harness: null,
  containment: { by: 'subreaper' },
  ...(mark === undefined ? {} : { mark }),
});

it('a mark that could not be read is a doubt, with the reason', () => {
  expect(doubtAbout(fakeTable([]), of({ is: 'unreadable', because: 'reading it gave EIO' }))).toContain(
    'EIO',
  );
});

it('without a mark, an orphan that shows nothing and is younger than the keeper is a doubt, and nobody else', () => {
  const withheld = [fact(10, 1), fact(30, 1), fact(40, 7), fact(50, 1, { isZombie: true })];
  const table = { ...fakeTable([fact(7, 1)]), withheld: () => withheld };
  const doubt = doubtAbout(table, of({ is: 'none' }));
  expect([10, 30, 40, 50].filter((pid) => doubt?.includes(`pid ${pid}`))).toEqual([30]);
  expect(doubtAbout(table, of({ is: 'set', mark: '7' }))).toBe(null);
});
