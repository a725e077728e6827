import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decideWatch } from '../../src/lifecycle/head-watch.ts';
import type { WatchedHead } from '../../src/lifecycle/head-watch.ts';

type Step = readonly [atMs: number, head: string | null];

/** The heads that were triggered, with when. */
function triggered(steps: readonly Step[], debounceMs: number): readonly string[] {
  let state: ReadonlyMap<string, WatchedHead> = new Map();
  return steps.flatMap(([atMs, head]) => {
    const decision = decideWatch(state, new Map([['main', head]]), atMs, debounceMs);
    ({ state } = decision);
    return [...decision.trigger.values()].map((each) => `${atMs} ${each}`);
  });
}

it('a head is triggered once it stayed for the whole debounce, and once only', () => {
  expect(
    triggered(
      [
        [0, 'a'],
        [9, 'a'],
        [10, 'a'],
        [11, 'a'],
        [99, 'a'],
      ],
      10,
    ),
  ).toEqual(['10 a']);
});

it('a head that moves again begins to wait anew', () => {
  expect(
    triggered(
      [
        [0, 'a'],
        [9, 'b'],
        [18, 'b'],
        [19, 'b'],
      ],
      10,
    ),
  ).toEqual(['19 b']);
});

it('a head that comes back to what was triggered is not triggered again', () => {
  expect(
    triggered(
      [
        [0, 'a'],
        [10, 'a'],
        [11, 'b'],
        [12, 'a'],
        [40, 'a'],
      ],
      10,
    ),
  ).toEqual(['10 a']);
});

it('a branch that is not there yet, or no more, is waited for', () => {
  expect(
    triggered(
      [
        [0, null],
        [20, null],
        [30, 'a'],
        [40, 'a'],
        [50, null],
        [70, null],
      ],
      10,
    ),
  ).toEqual(['40 a']);
});

it('it says when to look again, at the latest', () => {
  const state = decideWatch(
    new Map(),
    new Map([
      ['one', 'a'],
      ['two', null],
    ]),
    0,
    10,
  ).state;
  const seen = new Map([
    ['one', 'a'],
    ['two', 'b'],
  ]);
  expect(decideWatch(state, seen, 4, 10).waitMs).toBe(6);
  expect(decideWatch(new Map(), new Map([['one', null]]), 4, 10).waitMs).toBeNull();
});

it('without a debounce every move is triggered, however the heads move', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1 }), (heads) => {
      const moves = heads.filter((head, index) => head !== heads[index - 1]);
      const steps = heads.map((head, index): Step => [index, head]);
      expect(triggered(steps, 0).map((each) => each.split(' ')[1])).toEqual(moves);
    }),
  );
});
