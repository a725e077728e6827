import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { judge, nextLookMs, planForRun, sharingBudget } from '../../src/lifecycle/budget.ts';
import type { Budget, Verdict } from '../../src/lifecycle/budget.ts';
import { amount, spentOf } from '../../src/lifecycle/budget-words.ts';
import type { Outcome, Run } from '../../src/lifecycle/run.ts';
import { BUDGET_KINDS, changeBudget, limitsOf, NO_LIMITS } from '../../src/lifecycle/session-budget.ts';
import { ENDED, ENDING, EXECUTING, OUTCOMES } from './samples.ts';

const NOTHING = { tokens: 0, cost: 0, minutes: 0, unpriced: [] };
const WARN_AT = 0.8;

function budget(more: Partial<Budget>): Budget {
  const plain = { scope: 'session', holder: 's', ownerId: 'r', onExceeded: 'end' } as const;
  return { ...plain, limits: NO_LIMITS, spent: NOTHING, ...more };
}

function tokens(spent: number, limit: number, more: Partial<Budget> = {}): Budget {
  return budget({ limits: { ...NO_LIMITS, tokens: limit }, spent: { ...NOTHING, tokens: spent }, ...more });
}

describe('the verdict on a limit', () => {
  it.each([
    [0, 'within'],
    [79, 'within'],
    [80, 'warn'],
    [99, 'warn'],
    [100, 'over'],
    [170, 'over'],
  ])('%i of 100 is %s', (spent, state) => {
    expect(judge([tokens(spent, 100)], WARN_AT)).toEqual([
      {
        scope: 'session',
        kind: 'tokens',
        spent,
        limit: 100,
        fraction: spent / 100,
        state,
        holder: 's',
        ownerId: 'r',
        onExceeded: 'end',
      },
    ]);
  });

  it.each([
    [0, { state: 'unknown', measuredOn: 'beta' }],
    [79, { state: 'unknown', measuredOn: 'beta' }],
    [80, { state: 'warn' }],
    [100, { state: 'over' }],
  ])('%i of 100, and more on a host that has not said how much, is what is known of it', (spent, verdict) => {
    const unmeasured = { tokens: 'beta', cost: 'beta' };
    const some = tokens(spent, 100, { spent: { ...NOTHING, tokens: spent, unmeasured } });
    expect(judge([some], WARN_AT)).toEqual([expect.objectContaining(verdict)]);
    const minutes = budget({ limits: { ...NO_LIMITS, minutes: 100 }, spent: { ...NOTHING, unmeasured } });
    expect(judge([minutes], WARN_AT)).toEqual([expect.objectContaining({ state: 'within' })]);
  });

  it('is given on every kind that has a limit, and on no other', () => {
    const all = budget({ limits: { tokens: 1, cost: 2, minutes: 3 } });
    expect(judge([all], WARN_AT).map(({ kind }) => kind)).toEqual(BUDGET_KINDS);
    expect(judge([budget({})], WARN_AT)).toEqual([]);
  });

  it('puts first what is used up most', () => {
    const verdicts = judge([tokens(1, 10), tokens(9, 10, { scope: 'day' }), tokens(5, 10)], WARN_AT);
    expect(verdicts.map(({ scope, fraction }) => [scope, fraction])).toEqual([
      ['day', 0.9],
      ['session', 0.5],
      ['session', 0.1],
    ]);
  });

  it('a limit of nought is over before anything is spent', () => {
    expect(judge([tokens(0, 0)], WARN_AT)[0]?.state).toBe('over');
  });

  it('never becomes milder by spending more, nor harder by a higher limit', () => {
    const rank = { unknown: 0, within: 0, warn: 1, over: 2 };
    const figure = fc.integer({ min: 1, max: 10_000 });
    fc.assert(
      fc.property(figure, figure, figure, (spent, limit, more) => {
        const state = (of: Budget) => rank[judge([of], WARN_AT)[0]?.state ?? 'within'];
        expect(state(tokens(spent + more, limit))).toBeGreaterThanOrEqual(state(tokens(spent, limit)));
        expect(state(tokens(spent, limit + more))).toBeLessThanOrEqual(state(tokens(spent, limit)));
      }),
    );
  });
});

describe('what a verdict means for a run', () => {
  const over = (more: Partial<Budget>) => judge([tokens(2, 1, more)], WARN_AT);

  it.each([
    ['its own, which ends it', { ownerId: 'r' }, 'end'],
    ['its own, which asks', { ownerId: 'r', onExceeded: 'ask' }, 'ask'],
    ['that of a day, which is everybody’s', { ownerId: null, scope: 'day' }, 'end'],
    ['that of an owner who is over', { ownerId: null }, 'end'],
    ['that of an owner who lives', { ownerId: 'other' }, 'nothing'],
  ] as const)('%s', (_, more, does) => {
    const verdicts = over(more);
    expect(planForRun('r', verdicts)).toEqual({
      warnings: [],
      end: does === 'end' ? verdicts[0] : null,
      ask: does === 'ask' ? verdicts[0] : null,
    });
  });

  it('a warning is told of one’s own only', () => {
    const verdicts = judge([tokens(9, 10), tokens(9, 10, { ownerId: 'other' })], WARN_AT);
    expect(planForRun('r', verdicts)).toEqual({ warnings: [verdicts[0]], end: null, ask: null });
  });

  it('ends and asks each for the limit that is used up most', () => {
    const verdicts = judge(
      [tokens(2, 1), tokens(3, 1), tokens(9, 1, { onExceeded: 'ask' }), tokens(4, 1, { onExceeded: 'ask' })],
      WARN_AT,
    );
    const { end, ask } = planForRun('r', verdicts);
    expect([end?.spent, ask?.spent]).toEqual([3, 9]);
  });
});

describe('the runs that share one budget', () => {
  const session = (...outcomes: (Outcome | null)[]): Run[] =>
    outcomes.map((outcome, index) =>
      outcome === null
        ? { ...EXECUTING, id: `r${index}` }
        : { ...ENDED, id: `r${index}`, ending: { ...ENDING, outcome } },
    );

  it.each(OUTCOMES)('after %s, a new run has a budget of its own only when that was completed', (outcome) => {
    const ids = sharingBudget(session(outcome, null), 'r1').map(({ id }) => id);
    expect(ids).toEqual(outcome === 'completed' ? ['r1'] : ['r0', 'r1']);
  });

  it('are told from any one of them', () => {
    const runs = session('completed', 'lost', 'over_budget', 'completed', 'failed', null);
    const groups = runs.map(({ id }) =>
      sharingBudget(runs, id)
        .map((run) => run.id)
        .join(' '),
    );
    expect(groups).toEqual(['r0', 'r1 r2 r3', 'r1 r2 r3', 'r1 r2 r3', 'r4 r5', 'r4 r5']);
    expect(sharingBudget(runs, 'another')).toEqual([]);
  });

  it('are every run once', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...OUTCOMES)), (outcomes) => {
        const runs = session(...outcomes, null);
        const groups = new Set(
          runs.map(({ id }) => sharingBudget(runs, id).map((run) => run.id)).map(String),
        );
        expect([...groups].join(',').split(',')).toEqual(runs.map(({ id }) => id));
      }),
    );
  });
});

describe('the next look', () => {
  const next = (...budgets: Budget[]) => nextLookMs('r', judge(budgets, WARN_AT), WARN_AT);
  const minutes = (spent: number, more: Partial<Budget> = {}) =>
    budget({ limits: { ...NO_LIMITS, minutes: 10 }, spent: { ...NOTHING, minutes: spent }, ...more });

  it.each([
    ['nothing to look for', null, []],
    ['time alone, at the warning', 3 * 60_000, [minutes(5)]],
    ['time alone, after the warning at the limit', 60_000, [minutes(9)]],
    ['tokens now and then', 20_000, [tokens(1, 10)]],
    ['both', 20_000, [tokens(1, 10), minutes(0)]],
    ['what is over already may be raised', 60_000, [minutes(11)]],
    ['what another run is ended for', 60_000, [tokens(1, 10, { ownerId: 'other' })]],
    ['days, an hour at most', 3_600_000, [budget({ limits: { ...NO_LIMITS, minutes: 9_999 } })]],
  ] as const)('%s', (_, expected, budgets) => {
    expect(next(...budgets)).toBe(expected);
  });

  it('never sleeps through a limit of time', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 9.99, noNaN: true }), (spent) => {
        const wait = next(minutes(spent)) ?? 0;
        const then = judge([minutes(spent + wait / 60_000)], WARN_AT)[0] as Verdict;
        const now = judge([minutes(spent)], WARN_AT)[0] as Verdict;
        // It arrives where the state changes, or just before, and never beyond the limit by more than a look is long.
        expect(then.spent).toBeLessThanOrEqual((now.state === 'within' ? 8 : 10) + 1 / 60_000);
        expect(wait).toBeGreaterThan(0);
      }),
    );
  });
});

describe('what is set for a session', () => {
  const set = { tokens: 5, cost: null, minutes: null, onExceeded: null };

  it('goes before the configuration, kind by kind', () => {
    expect(limitsOf(set, { tokens: 1, cost: 2, minutes: null })).toEqual({
      tokens: 5,
      cost: 2,
      minutes: null,
    });
    expect(limitsOf(null, NO_LIMITS)).toEqual(NO_LIMITS);
  });

  it.each([
    ['a limit more', set, { minutes: 9 }, { ...set, minutes: 9 }],
    ['another limit', set, { tokens: 7 }, { ...set, tokens: 7 }],
    ['nothing given', set, {}, set],
    ['the last limit lifted', set, { tokens: null }, null],
    ['only what happens', null, { onExceeded: 'ask' }, { ...NO_LIMITS, onExceeded: 'ask' }],
    ['nothing at all', null, {}, null],
  ] as const)('%s', (_, before, change, after) => {
    expect(changeBudget(before, change)).toEqual(after);
  });
});

describe('words', () => {
  it.each([
    ['tokens', 999, '999 tokens'],
    ['tokens', 1_000, '1.0k tokens'],
    ['tokens', 999_960, '1.0M tokens'],
    ['tokens', 2_100_000, '2.1M tokens'],
    ['cost', 5, 'a cost of 5.00'],
    ['minutes', 0.05, '3 s'],
    ['minutes', 1.25, '1.3 min'],
    ['minutes', 90.4, '90 min'],
  ] as const)('%s %d is %s', (kind, value, text) => {
    expect(amount(kind, value)).toBe(text);
  });

  it('have money in its own currency', () => {
    expect(amount('cost', 5, 'USD')).toBe('$5.00');
    expect(spentOf({ scope: 'day', kind: 'cost', spent: 12, limit: 10, currency: 'EUR' })).toBe(
      'the budget of the day of €10.00: €12.00 is spent',
    );
  });

  it('say whose, of what, and how much', () => {
    expect(spentOf({ scope: 'session', kind: 'tokens', spent: 2_100_000, limit: 2_000_000 })).toBe(
      'the budget of its session of 2.0M tokens: 2.1M tokens are spent',
    );
  });
});
