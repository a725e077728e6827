import { expect, it } from 'vitest';
import { budgetWords, percentWords, tightest } from '../../src/api/budget-words.ts';
import type { BudgetView } from '../../src/api/http-views.ts';

const budget = (more: Partial<BudgetView>): BudgetView => ({
  scope: 'session',
  kind: 'tokens',
  spent: 1_690_000,
  limit: 2_000_000,
  fraction: 0.845,
  state: 'warn',
  ...more,
});

it('says what is spent of what, in the unit of its kind, and whose it is', () => {
  expect(
    [
      budget({}),
      budget({ kind: 'cost', scope: 'day', spent: 9.5, limit: 10, currency: 'USD' }),
      budget({ kind: 'cost', scope: 'day', spent: 9.5, limit: 10, currency: 'EUR' }),
      budget({ kind: 'cost', scope: 'day', spent: 9.5, limit: 1000, currency: 'CHF' }),
      budget({ kind: 'minutes', scope: 'run', spent: 27.4, limit: 60 }),
      budget({ kind: 'minutes', scope: 'tree', spent: 0.25, limit: 2.5 }),
      budget({ kind: 'minutes', spent: 1234.4, limit: 1440 }),
    ].map(budgetWords),
  ).toEqual([
    '1.69M of 2M tokens, session',
    '$9.50 of $10.00, day',
    '€9.50 of €10.00, day',
    '9.50 CHF of 1,000.00 CHF, day',
    '27 of 60 min, run',
    '0.3 of 2.5 min, tree',
    '1234 of 1440 min, session',
  ]);
});

it('a share is never rounded up over a limit', () => {
  expect([0.29, 0.7999, 0.9999, 1, 1.04].map((fraction) => percentWords(budget({ fraction })))).toEqual([
    '29%',
    '79%',
    '99%',
    '100%',
    '104%',
  ]);
});

it('the tightest is the one that is used up most', () => {
  const [one, other] = [budget({ fraction: 0.2 }), budget({ fraction: 0.9 })];
  expect(tightest([one, other])).toBe(other);
  expect(tightest([])).toBeUndefined();
});

it('what another host measures is unknown, or at least what is on record of it', () => {
  const elsewhere = { kind: 'minutes', limit: 60, state: 'unknown', measuredOn: 'beta' } as const;
  const [nothing, some] = [budget({ ...elsewhere, spent: 0 }), budget({ ...elsewhere, spent: 48 })];
  expect([nothing, some].map(budgetWords)).toEqual([
    'unknown of 60 min, session (measured on beta)',
    'at least 48 of 60 min, session (measured on beta)',
  ]);
  expect(percentWords(nothing)).toBe('?');
});
