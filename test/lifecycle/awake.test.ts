import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { awakeAtEnd, awakeSpan, awakeTotalMs, clockOf, spanSince } from '../../src/lifecycle/awake.ts';
import type { AwakeSpan } from '../../src/lifecycle/awake.ts';
import { CLAIMED, ENDED, EXECUTING, identityOf } from './samples.ts';

const CLOCK = clockOf(identityOf(1));
const HERE = { clock: CLOCK, nowMs: 26_000 };

describe('how long a run was live and its machine awake', () => {
  it.each([
    ['nothing before it has started', CLAIMED, null],
    ['until now while it lives here', EXECUTING, 26_000],
    ['never backwards', { ...EXECUTING, awake: { fromMs: 30_000, ms: null } }, 30_000],
    ['as recorded at its end', { ...ENDED, awake: { fromMs: 20_000, ms: 1_500 } }, 21_500],
    ['nothing when its end was never recorded', ENDED, 20_000],
    [
      'as recorded last when it lived in another boot',
      {
        ...EXECUTING,
        keeper: { ...EXECUTING.keeper, boot: 'boot-0' },
        awake: { fromMs: 20_000, ms: 4_000 },
      },
      24_000,
    ],
  ])('%s', (_, run, toMs) => {
    expect(awakeSpan(run, HERE)?.toMs ?? null).toBe(toMs);
  });

  it('since a moment is no longer than the wall clock says', () => {
    const span = { clock: CLOCK, fromMs: 1_000, toMs: 9_000 };
    expect(spanSince(span, 100_000, 103_000)).toEqual({ ...span, fromMs: 6_000 });
    expect(spanSince(span, 100_000, 900_000)).toEqual(span);
    expect(spanSince(span, 100_000, 50_000)).toEqual({ ...span, fromMs: 9_000 });
  });
});

describe('what is recorded with the end', () => {
  // Started at 2 s of the wall clock and 20 s of the other.
  it.each([
    ['the time that passed', EXECUTING, HERE, 9_000, 6_000],
    ['no more than the wall clock says, for an end that was found late', EXECUTING, HERE, 3_000, 1_000],
    ['all that passed when the wall clock was set back', EXECUTING, HERE, 1_000, 6_000],
    [
      'no less than was recorded before',
      { ...EXECUTING, awake: { fromMs: 20_000, ms: 5_000 } },
      HERE,
      3_000,
      5_000,
    ],
    ['nothing of another boot', EXECUTING, { ...HERE, clock: 'another' }, 9_000, undefined],
    ['nothing without a clock', EXECUTING, { ...HERE, nowMs: null }, 9_000, undefined],
    ['nothing of what never started', CLAIMED, HERE, 9_000, undefined],
  ])('is %s', (_, run, here, endedAtMs, expected) => {
    expect(awakeAtEnd(run, here, endedAtMs)).toBe(expected);
  });
});

describe('the time of several together', () => {
  const at = (fromMs: number, toMs: number, clock = 'a'): AwakeSpan => ({ clock, fromMs, toMs });

  it.each([
    ['none', [], 0],
    ['one', [at(1, 5)], 4],
    ['side by side once', [at(1, 5), at(2, 4), at(3, 8)], 7],
    ['one after the other', [at(6, 8), at(1, 5)], 6],
    ['of two clocks, each', [at(1, 5), at(1, 5, 'b')], 8],
  ])('%s', (_, spans, total) => {
    expect(awakeTotalMs(spans)).toBe(total);
  });

  it('is at least the longest, at most the sum, and the same in any order', () => {
    const anySpan = fc
      .tuple(fc.integer({ min: 0, max: 100 }), fc.integer({ min: 0, max: 100 }), fc.constantFrom('a', 'b'))
      .map(([from, length, clock]) => at(from, from + length, clock));
    fc.assert(
      fc.property(fc.array(anySpan), (spans) => {
        const lengths = spans.map(({ fromMs, toMs }) => toMs - fromMs);
        const total = awakeTotalMs(spans);
        expect(total).toBeGreaterThanOrEqual(Math.max(0, ...lengths));
        expect(total).toBeLessThanOrEqual(lengths.reduce((sum, each) => sum + each, 0));
        expect(awakeTotalMs(spans.toReversed())).toBe(total);
      }),
    );
  });
});
