/** Budgets as people read them. */
import { money } from './money.ts';
import type { BudgetFigures, BudgetKind, BudgetScope } from './session-budget.ts';

/** Without a currency where none is on record. */
export function amount(kind: BudgetKind, value: number, currency?: string): string {
  switch (kind) {
    case 'tokens':
      return `${shortNumber(value)} tokens`;
    case 'cost':
      return currency === undefined ? `a cost of ${value.toFixed(2)}` : money(value, currency);
    case 'minutes':
      if (value < 1) return `${Math.round(value * 60)} s`;
      return `${value < 10 ? Number(value.toFixed(1)) : Math.round(value)} min`;
  }
}

const WHOSE: Readonly<Record<BudgetScope, string>> = {
  run: 'its budget',
  session: 'the budget of its session',
  tree: 'the budget of its tree',
  day: 'the budget of the day',
};

/** "the budget of its session of 2.0M tokens". */
export function limitOf({ scope, kind, limit, currency }: Omit<BudgetFigures, 'spent'>): string {
  return `${WHOSE[scope]} of ${amount(kind, limit, currency)}`;
}

/** "the budget of its session of 2.0M tokens: 2.1M tokens are spent". */
export function spentOf(figures: BudgetFigures): string {
  const { kind, spent, currency } = figures;
  return `${limitOf(figures)}: ${amount(kind, spent, currency)} ${kind === 'tokens' ? 'are' : 'is'} spent`;
}

function shortNumber(value: number): string {
  if (value >= 999_950) return `${(value / 1_000_000).toFixed(1)}M`;
  return value >= 1000 ? `${(value / 1000).toFixed(1)}k` : String(Math.round(value));
}
