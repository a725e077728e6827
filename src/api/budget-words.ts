/** Budgets in words, in the terminal and on the page alike. */
import { amount } from './amount.ts';
import type { BudgetView } from './http-views.ts';

/** What 0.29 times 100 lacks to 29. */
const ROUNDING = 1e-6;

/** `1.69M of 2M tokens, session`. */
export function budgetWords({ kind, scope, spent, limit }: BudgetView): string {
  return `${spentWords(kind, spent, limit)}, ${scope}`;
}

/** `84%`; never 100 before the limit is reached, nor 80 before a person is warned. */
export function percentWords({ fraction }: BudgetView): string {
  return `${Math.floor(fraction * 100 + ROUNDING)}%`;
}

/** The one that is used up most; undefined when there is none. */
export function tightest(budgets: readonly BudgetView[]): BudgetView | undefined {
  return budgets.toSorted((one, other) => other.fraction - one.fraction)[0];
}

function spentWords(kind: BudgetView['kind'], spent: number, limit: number): string {
  switch (kind) {
    case 'tokens':
      return `${amount(spent)} of ${amount(limit)} tokens`;
    case 'cost':
      return `$${spent.toFixed(2)} of $${limit.toFixed(2)}`;
    case 'minutes':
      return `${minutes(spent)} of ${minutes(limit)} min`;
  }
}

function minutes(value: number): string {
  return String(value < 10 ? Number(value.toFixed(1)) : Math.round(value));
}
