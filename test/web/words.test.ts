import { describe, expect, test } from 'vitest';
import { plainOutput } from '../../web/src/session/plain-output.ts';
import { layOutStrip } from '../../web/src/session/strip-layout.ts';
import { amount } from '../../src/api/amount.ts';
import { bytes, commandLine, shortCommand, shortPath } from '../../web/src/words/short.ts';
import { age, longLength } from '../../web/src/words/time.ts';
import { fortyRuns } from './fake-scenes.ts';
import { DAY_MS, FakeWorld, HOUR_MS } from './fake-world.ts';

const NOW_MS = Date.UTC(2026, 10, 16, 12);

describe('words', () => {
  test.each([
    ['/src/web', 20, '/src/web'],
    ['/home/alice/work/clients/northwind/web', 24, '/home/…/northwind/web'],
    ['/home/alice/an-extraordinarily-long-name', 24, '…traordinarily-long-name'],
    ['/an-extraordinarily-long-name', 12, '…y-long-name'],
  ])('the path %s in %d characters', (path, limit, short) => {
    expect(shortPath(path, limit)).toBe(short);
    expect(shortPath(path, limit).length).toBeLessThanOrEqual(limit);
  });

  test('ages, lengths, sizes and commands', () => {
    expect([0, 59_000, 61_000, 47 * HOUR_MS, 3 * DAY_MS].map((ms) => age(NOW_MS - ms, NOW_MS))).toEqual([
      '0s',
      '59s',
      '1m',
      '47h',
      '3d',
    ]);
    expect([0, 400, 61_000, HOUR_MS, 3 * DAY_MS + 4 * HOUR_MS].map(longLength)).toEqual([
      '0s',
      'less than 1s',
      '1m 1s',
      '1h',
      '3d 4h',
    ]);
    expect([0, 950, 12_345, 1_690_000, 2e9].map(amount)).toEqual(['0', '950', '12.3k', '1.69M', '2G']);
    expect([2048, 5 * 1024 ** 2, 1.5 * 1024 ** 3].map(bytes)).toEqual(['2 KB', '5 MB', '1.5 GB']);
    expect(commandLine(['claude', '-p', 'fix the\nlogin'])).toBe(String.raw`claude -p "fix the\nlogin"`);
  });

  test('of a command in a row, its beginning, however long it is', () => {
    expect(shortCommand(['claude', '-p', 'a b'])).toBe('claude -p "a b"');
    expect(shortCommand(Array.from({ length: 300_000 }, () => 'x'))).toBe(`${'x '.repeat(500)}…`);
    expect(shortCommand(['x'.repeat(3_000_000)])).toBe(`${'x'.repeat(1000)}…`);
  });

  test('of output, what a terminal would have left', () => {
    expect(plainOutput('\u001B[1;32mok\u001B[0m\r\n\u001B]0;title\u0007a 1%\ra 9%\r\nend')).toBe(
      'ok\na 9%\nend',
    );
  });
});

describe('the strip', () => {
  const runs = () =>
    new FakeWorld(NOW_MS).add({ name: 'forty', status: 'working', runs: fortyRuns(NOW_MS) }).detail.runs;

  test('spreads more runs than fit evenly over lines, and loses none', () => {
    const lines = layOutStrip(runs(), NOW_MS, 1210);
    const counts = lines.map(({ pieces }) => pieces.filter(({ kind }) => kind === 'run').length);
    expect(counts).toEqual([20, 20]);
    expect(layOutStrip(runs(), NOW_MS, 40)).toHaveLength(40);
  });

  test('joins by a hand-over after a supersession, by a pause otherwise, and shortens what is too long', () => {
    const plan = [
      { actor: 'alice', startMs: 0, endMs: HOUR_MS, outcome: 'superseded' },
      { actor: 'bob', startMs: HOUR_MS, endMs: 2 * HOUR_MS, outcome: 'completed' },
      { actor: 'bob', startMs: 100 * HOUR_MS, endMs: 101 * HOUR_MS, outcome: 'completed' },
      { actor: 'bob', startMs: 101.1 * HOUR_MS, endMs: null, outcome: null },
    ] as const;
    const { runs: four } = new FakeWorld(NOW_MS).add({ name: 'four', status: 'working', runs: plan }).detail;
    const [line] = layOutStrip(four, 102.1 * HOUR_MS, 1000);
    expect(
      line?.pieces.map((piece) =>
        piece.kind === 'pause' ? [piece.isCut, piece.weight / HOUR_MS] : piece.kind,
      ),
    ).toEqual([
      'run',
      'handover',
      'run',
      [true, expect.closeTo(0.6, 5)],
      'run',
      [false, expect.closeTo(0.1, 5)],
      'run',
    ]);
    expect(line?.toMs).toBe(null);
  });
});
