import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EndedRun, Intent, Outcome, Run, RunningRun } from '../../src/lifecycle/run.ts';
import { difference, larger, NO_TOKENS, spenderOf, sum, totalOf } from '../../src/lifecycle/usage.ts';
import type { Tokens } from '../../src/lifecycle/usage.ts';
import { CLAIMED as claimed, RUNNING as running } from './samples.ts';

function live(id: string, startedAtMs: number, intent: Intent | null = null): RunningRun {
  return { ...running, id, startedAtMs, claimedAtMs: startedAtMs - 1, intent };
}

function over(run: Run, endedAtMs: number, outcome: Outcome = 'completed'): EndedRun {
  const ending = { outcome, reason: 'r', actor: 'a', evidence: [], exitCode: 0, signal: null, endedAtMs };
  return { ...run, state: 'ended', ending };
}

const superseded = (atMs: number): Intent => ({
  outcome: 'superseded',
  actor: 'ada',
  reason: 'r',
  atMs,
  uptimeMs: 1,
});

describe('who spent it', () => {
  it('is nobody before the first run', () => {
    expect(spenderOf([], 5)).toBeNull();
    expect(spenderOf([live('one', 10)], 9)).toBeNull();
    expect(spenderOf([live('one', 10)], 10)).toEqual({ runId: 'one', isLate: false });
  });

  it('is the last that had started, late when it was over', () => {
    const runs = [over(live('one', 10), 20), over(live('two', 30), 40), live('three', 50)];
    const spender = (atMs: number) => Object.values(spenderOf(runs, atMs) ?? {});
    expect([10, 20, 21, 29].map(spender)).toEqual([
      ['one', false],
      ['one', false],
      ['one', true],
      ['one', true],
    ]);
    expect([30, 41, 50, 999].map(spender)).toEqual([
      ['two', false],
      ['two', true],
      ['three', false],
      ['three', false],
    ]);
  });

  it('is none that never started, but one that is about to', () => {
    const never = over({ ...claimed, id: 'never', claimedAtMs: 30 }, 31, 'never_started');
    const about: Run = { ...claimed, id: 'about', claimedAtMs: 40 };
    const runs = [over(live('one', 10), 20), never, about];
    expect([35, 45].map((atMs) => spenderOf(runs, atMs)?.runId)).toEqual(['one', 'about']);
  });

  it('is late from the moment on at which a successor was wanted, not at which a stop was', () => {
    const run = live('one', 10, superseded(20));
    expect([20, 21].map((atMs) => spenderOf([run], atMs)?.isLate)).toEqual([false, true]);
    expect(spenderOf([over(run, 30)], 25)?.isLate).toBe(true);
    // It was over before anybody's wish could matter.
    expect(spenderOf([over(run, 15)], 18)?.isLate).toBe(true);
    const stopped = live('one', 10, { ...superseded(20), outcome: 'stopped' });
    expect(spenderOf([stopped], 25)?.isLate).toBe(false);
  });
});

const count = fc.nat(1_000_000);
const tokens = fc.record({
  input: count,
  output: count,
  cacheRead: count,
  cacheWrite: count,
  reasoning: count,
});

describe('tokens', () => {
  it('grow to the same in whatever order, and however often, they are told', () => {
    fc.assert(
      fc.property(fc.array(tokens, { minLength: 1 }), fc.array(fc.nat()), (told, order) => {
        const all = told.reduce(larger);
        const again = [...told, ...order.map((index) => told[index % told.length] ?? NO_TOKENS)].toReversed();
        expect(again.reduce(larger)).toEqual(all);
      }),
    );
  });

  it('are what they grew by, added up', () => {
    fc.assert(
      fc.property(fc.array(tokens), (told) => {
        let [known, grown]: [Tokens, Tokens] = [NO_TOKENS, NO_TOKENS];
        for (const each of told) {
          const next = larger(known, each);
          grown = sum(grown, difference(next, known));
          known = next;
        }
        expect(grown).toEqual(known);
      }),
    );
  });

  it('have a total that counts reasoning once', () => {
    expect(totalOf({ input: 1, output: 10, cacheRead: 100, cacheWrite: 1000, reasoning: 9 })).toBe(1111);
  });
});
