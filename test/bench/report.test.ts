import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { lineOf, tableOf } from '../../bench/render.ts';
import { collect, exitCodeOf } from '../../bench/report.ts';
import type { Result } from '../../bench/report.ts';
import type { Figure } from '../../bench/support.ts';
import { MissingProgram } from '../support/missing-program.ts';

const ok: Figure = { figure: 'fast', measured: 1, bar: { atMost: 2 }, unit: 'ratio', from: 'a look' };
const over: Figure = { ...ok, figure: 'slow', measured: 3 };
const nothing = () => {};

describe('a figure', () => {
  it.each([
    [{ atMost: 2 }, 2, true],
    [{ atMost: 2 }, 2.1, false],
    [{ atLeast: 2 }, 2, true],
    [{ atLeast: 2 }, 1.9, false],
    [{ exactly: 2 }, 2, true],
    [{ exactly: 2 }, 3, false],
    [{ atMost: 2 }, Number.NaN, false],
    [{ atLeast: 2 }, Number.NaN, false],
  ])('with the bar %o is judged at %d: %s', async (bar, measured, expected) => {
    const figure = { ...ok, bar, measured };
    const results = await collect([['bench', async () => [figure]]], nothing);
    expect(results).toEqual([{ is: 'measured', bench: 'bench', ...figure, ok: expected }]);
  });

  it('is told when it is known, not when its bench is done', async () => {
    const order: string[] = [];
    await collect(
      [
        [
          'bench',
          async (telling) => {
            telling.figure(ok);
            order.push('the bench goes on');
            return [over];
          },
        ],
      ],
      (result) => order.push(result.figure ?? ''),
    );
    expect(order).toEqual(['fast', 'the bench goes on', 'slow']);
  });

  it('that lacks a program is skipped by name, without the others of its bench', async () => {
    const results = await collect(
      [
        [
          'page',
          async (telling) => {
            await telling.part('paint', () => Promise.reject(new MissingProgram('chromium', 'get it')));
            return [ok];
          },
        ],
      ],
      nothing,
    );
    expect(results).toEqual([
      { is: 'skipped', bench: 'page', figure: 'paint', reason: 'chromium is not here: get it' },
      { is: 'measured', bench: 'page', ...ok, ok: true },
    ]);
  });
});

describe('a bench', () => {
  it('that throws keeps what it told and leaves the others alone', async () => {
    const results = await collect(
      [
        [
          'first',
          async (telling) => {
            telling.figure(ok);
            throw new Error('the disk is full');
          },
        ],
        ['second', async () => [ok]],
      ],
      nothing,
    );
    expect(results).toEqual([
      { is: 'measured', bench: 'first', ...ok, ok: true },
      { is: 'failed', bench: 'first', figure: null, reason: 'the disk is full' },
      { is: 'measured', bench: 'second', ...ok, ok: true },
    ]);
  });

  it('whose program is not on the path is skipped', async () => {
    const nowhere: string = 'reeve-no-such-program';
    const results = await collect(
      [['odd', async () => [{ ...ok, from: execFileSync(nowhere).toString() }]]],
      nothing,
    );
    expect(results).toEqual([
      { is: 'skipped', bench: 'odd', figure: null, reason: 'reeve-no-such-program is not here' },
    ]);
  });

  it('that measured nothing has failed', async () => {
    const results = await collect([['empty', async () => []]], nothing);
    expect(results).toEqual([{ is: 'failed', bench: 'empty', figure: null, reason: 'It measured nothing.' }]);
  });
});

const results = {
  ok: { is: 'measured', bench: 'start', ...ok, ok: true },
  over: { is: 'measured', bench: 'start', ...over, ok: false },
  skipped: { is: 'skipped', bench: 'daemon', figure: 'paint', reason: 'chromium is not here: get it' },
  failed: { is: 'failed', bench: 'stop', figure: null, reason: 'no crowd' },
} as const satisfies Record<string, Result>;

it.each([
  [0, ['ok']],
  [1, ['ok', 'over']],
  [1, ['over', 'skipped', 'failed']],
  [3, ['ok', 'skipped']],
  [3, ['ok', 'failed']],
] as const)('the exit code is %d for %j', (code, names) => {
  expect(exitCodeOf(names.map((name) => results[name]))).toBe(code);
});

it('a line has the bench, the judgement and what it rests on', () => {
  expect(Object.values(results).map(lineOf)).toEqual([
    'start: ok: fast: 1.00 (≤ 2.00), a look',
    'start: not ok: slow: 3.00 (≤ 2.00), a look',
    'daemon: skipped: paint: chromium is not here: get it',
    'stop: failed: the rest of it: no crowd',
  ]);
});

it('the table has every result, and names what is not ok, skipped or failed', () => {
  expect(tableOf(Object.values(results)).split('\n')).toEqual([
    'figure  measured  bar              from',
    'fast    1.00      ≤ 2.00  ok       a look',
    'slow    3.00      ≤ 2.00  not ok   a look',
    'paint                     skipped  chromium is not here: get it',
    'stop                      failed   no crowd',
    '',
    '1 of 4 ok; 1 not ok: slow; 1 skipped: paint; 1 failed: stop',
  ]);
});
