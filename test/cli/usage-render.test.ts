/** What was spent, as a picture: it fits, it says what it leaves out, and its bars are true. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SpentView, UsageRowView, UsageTreeRowView, UsageView } from '../../src/api/usage-view.ts';
import { bar, sparkline } from '../../src/cli/render/bar.ts';
import { renderUsage } from '../../src/cli/render/usage.ts';
import { displayWidth } from '../../src/cli/render/width.ts';

const spent = (total: number, changes: Partial<SpentView> = {}): SpentView => ({
  input: total,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  reasoning: 0,
  total,
  late: 0,
  cost: null,
  unpricedTokens: total,
  ...changes,
});
const row = (name: string, total: number, changes: Partial<UsageRowView> = {}): UsageRowView => ({
  name,
  session: null,
  ...spent(total),
  ...changes,
});
const view = (rows: readonly UsageRowView[], changes: Partial<UsageView> = {}): UsageView => ({
  by: 'session',
  session: null,
  since: null,
  currency: 'USD',
  rows,
  all: spent(
    rows.reduce((sum, { total }) => sum + total, 0),
    { late: rows.reduce((sum, { late }) => sum + late, 0) },
  ),
  children: null,
  tree: null,
  problems: [],
  ...changes,
});
const lines = (text: string) => text.split('\n');
const sessions = (count: number) =>
  Array.from({ length: count }, (_, index) => row(`s${index}`, 1000 - index));

describe('a bar', () => {
  it('is as long as its share, an eighth of a column exact, and never nothing for something', () => {
    expect([bar(1, 1, 4), bar(1, 2, 4), bar(5, 8, 2), bar(1, 1e9, 4), bar(0, 1, 4), bar(0, 0, 4)]).toEqual([
      '████',
      '██',
      '█▎',
      '▏',
      '',
      '',
    ]);
  });

  it('of many is a line, lowest for nothing alone', () => {
    expect(sparkline([0, 1, 50, 100])).toBe('▁▂▅█');
    expect(sparkline([0, 0])).toBe('▁▁');
  });
});

describe('the table', () => {
  it('of one row has a bar and no sum; of several a bar in proportion, and a sum', () => {
    expect(lines(renderUsage(view([row('a', 1500)]), 10_000, 'most'))).toEqual([
      'SESSION  TOTAL  INPUT  OUTPUT  CACHE READ  CACHE WRITE  REASONING',
      `a         1.5k   1.5k       0           0            0          0  ${'█'.repeat(32)}`,
    ]);
    expect(lines(renderUsage(view([row('a', 1500), row('bé', 750)]), 60, 'most'))).toEqual([
      'SESSION  TOTAL  INPUT  OUTPUT  CACHE READ',
      `a         1.5k   1.5k       0           0  ${'█'.repeat(17)}`,
      `bé         750    750       0           0  ${'█'.repeat(8)}▌`,
      'all       2.3k   2.3k       0           0',
    ]);
  });

  it('of nothing is a sentence', () => {
    expect(lines(renderUsage(view([]), 80, 'most'))).toHaveLength(1);
    expect(renderUsage(view([], { session: 'a', since: '2026-11-01T00:00:00.000Z' }), 80, 'most')).toContain(
      '2026-11-01',
    );
  });

  it('has so many rows, says how many more there are, and has them when asked', () => {
    const count = (n: number, range: 'most' | 'all') =>
      lines(renderUsage(view(sessions(n)), 80, range)).length;
    // A heading, and a sum.
    expect([count(20, 'most'), count(21, 'most'), count(22, 'most'), count(22, 'all')]).toEqual([
      22, 23, 23, 24,
    ]);
    expect(lines(renderUsage(view(sessions(32)), 80, 'most')).at(-2)).toBe('… and 12 more');
    // No line says that one line is missing.
    expect(renderUsage(view(sessions(21)), 80, 'most')).not.toContain('…');
    expect(renderUsage(view(sessions(10_000)), 80, 'most').length).toBeLessThan(3000);
  });

  it('has the cost where there is one, and says how much has no price', () => {
    const rows = [row('a', 900, { cost: 4.12, unpricedTokens: 0 }), row('b', 100)];
    const all = spent(1000, { cost: 4.12, unpricedTokens: 100 });
    const text = renderUsage(view(rows, { all }), 10_000, 'most');
    expect(lines(text).map((each) => /\$[\d.]+|≥ \$[\d.]+| - /.exec(each)?.[0]?.trim() ?? '')).toEqual([
      '',
      '$4.12',
      '-',
      '≥ $4.12',
      '',
      '',
    ]);
    expect(lines(text).at(-1)).toContain('100 tokens');
    expect(renderUsage(view([row('a', 900)]), 10_000, 'most')).not.toContain('COST');
  });

  it('has the name and the total, where there is room for little more', () => {
    const rows = [row('a-long-name', 900, { cost: 4.12, late: 3 }), row('b', 100)];
    const text = renderUsage(view(rows), 26, 'most');
    expect(lines(text).slice(0, 3)).toEqual([
      'SESSION      TOTAL',
      'a-long-name    900',
      'b              100',
    ]);
  });

  it('has what was late as a figure of its own, only when something was', () => {
    const text = renderUsage(view([row('a', 900, { late: 300 }), row('b', 100)]), 10_000, 'most');
    expect(lines(text)[0]).toContain('LATE');
    expect(lines(text).at(-1)).toContain('300 tokens');
    expect(renderUsage(view([row('a', 900)]), 10_000, 'most')).not.toContain('LATE');
  });

  it('names the session of a run, unless it was asked for', () => {
    const rows = [row('r-1', 10, { session: 'web' })];
    expect(renderUsage(view(rows, { by: 'run' }), 80, 'most')).toContain('r-1 web');
    expect(renderUsage(view(rows, { by: 'run', session: 'web' }), 80, 'most')).not.toContain('web');
  });

  it('says what others spent that its runs started, and how to see it', () => {
    const text = renderUsage(
      view([row('r-1', 10)], { session: 'web', children: spent(4000) }),
      10_000,
      'most',
    );
    expect(lines(text).at(-1)).toMatch(/4\.0k tokens.*reeve usage web --tree$/);
    const none = view([row('r-1', 10)], { session: 'web', children: spent(0) });
    expect(renderUsage(none, 10_000, 'most')).not.toContain('--tree');
  });
});

describe('days', () => {
  const days = (...names: readonly string[]) => names.map((name, index) => row(name, 100 * (index + 1)));

  it('have a line above them, with the days on which nothing was spent', () => {
    const rows = days('2026-02-27', '2026-03-01', '2026-03-02');
    expect(lines(renderUsage(view(rows, { by: 'day' }), 80, 'most'))[0]).toBe('2026-02-27 ▃▁▆█ 2026-03-02');
  });

  it('have the latest in it when there is no room for all, and none for one day', () => {
    const rows = days('2020-01-01', '2026-03-02', '+275760-09');
    const text = renderUsage(view(rows, { by: 'day' }), 30, 'most');
    expect(lines(text)[0]).toBe('2026-02-23 ▁▁▁▁▁▁▁█ 2026-03-02');
    expect(lines(renderUsage(view(days('2026-03-02'), { by: 'day' }), 80, 'most'))[0]).toContain('DAY');
  });

  it('that are too many leave out the earlier ones', () => {
    const rows = Array.from({ length: 30 }, (_, index) =>
      row(`2026-03-${String(index + 1).padStart(2, '0')}`, 5),
    );
    const text = lines(renderUsage(view(rows, { by: 'day' }), 80, 'most'));
    expect(text[3]).toBe('… and 10 earlier');
    expect([text[4]?.slice(0, 10), text.at(-2)?.slice(0, 10)]).toEqual(['2026-03-11', '2026-03-30']);
  });
});

describe('a tree', () => {
  const node = (
    depth: number,
    session: string,
    run: string | null,
    own: number,
    all: number,
  ): UsageTreeRowView => ({
    depth,
    session,
    run,
    own: spent(own),
    inclusive: spent(all),
  });
  const tree = [
    node(0, 'web', null, 30, 100),
    node(1, 'web', 'r-1', 20, 80),
    node(2, 'review', 'r-2', 50, 60),
    node(3, 'sub', 'r-3', 10, 10),
    node(2, 'other', 'r-4', 0, 0),
    node(1, 'web', 'r-5', 10, 20),
  ];

  it('has branches, and of each row its own figure and that with all below', () => {
    const text = renderUsage(
      view([], { session: 'web', all: spent(30), children: spent(70), tree }),
      45,
      'most',
    );
    expect(lines(text).map((each) => each.trimEnd())).toEqual([
      'SESSION AND RUNS  OWN  WITH BELOW',
      'web                30         100  ██████████',
      '├ r-1              20          80  ████████',
      '│ ├ review r-2     50          60  ██████',
      '│ │ └ sub r-3      10          10  █',
      '│ └ other r-4       0           0',
      '└ r-5              10          20  ██',
    ]);
  });
});

it('fits every terminal, whatever the names are', () => {
  const name = fc.oneof(
    fc.string({ minLength: 1 }),
    fc.constant('日本語のセッション名はとても長い'),
    fc.constant('x'.repeat(90)),
  );
  const amount = fc.integer({ min: 0, max: 1e12 });
  const rows = fc.array(
    fc.record({
      name,
      total: amount,
      late: amount,
      cost: fc.option(fc.double({ min: 0, max: 1e7, noNaN: true })),
    }),
    {
      minLength: 1,
      maxLength: 30,
    },
  );
  const by = fc.constantFrom('run', 'session', 'model', 'day', 'harness');
  fc.assert(
    fc.property(rows, fc.integer({ min: 12, max: 200 }), by, fc.boolean(), (each, width, kind, isTree) => {
      const all = each.map((one) =>
        row(one.name, one.total + 1, { late: Math.min(one.late, one.total), cost: one.cost }),
      );
      const tree = all.map((one, depth) => ({
        depth: depth % 4,
        session: one.name,
        run: depth === 0 ? null : 'r-1',
        own: one,
        inclusive: one,
      }));
      const shown = renderUsage(
        view(all, { by: kind, session: isTree ? 'web' : null, tree: isTree ? tree : null }),
        width,
        'all',
      );
      // Words of what is said below the table break at spaces only.
      const table = lines(shown).slice(0, all.length);
      expect(table.filter((line) => displayWidth(line) > width)).toEqual([]);
      expect(shown.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
    }),
  );
});
