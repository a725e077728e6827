/** Budgets in words, in the terminal and on the page alike. */
import { money } from '../lifecycle/money.ts';
import { amount } from './amount.ts';
import type { BudgetView } from './http-views.ts';

/** What 0.29 times 100 lacks to 29. */
const ROUNDING = 1e-6;

/** `1.69M of 2M tokens, session`; `unknown of 60 min, run (measured on beta)`. */
export function budgetWords(budget: BudgetView): string {
  return `${spentWords(budget)}, ${budget.scope}${hostWords(budget)}`;
}

/** `84%`; never 100 before the limit is reached, nor 80 before a person is warned. */
export function percentWords({ fraction, state }: BudgetView): string {
  return state === 'unknown' ? '?' : `${percentOf(fraction)}%`;
}

/** Rounded down, as above. */
export function percentOf(fraction: number): number {
  return Math.floor(fraction * 100 + ROUNDING);
}

/** What is spent, given in words, as far as it is known. */
export function soFar({ state, spent }: Pick<BudgetView, 'state' | 'spent'>, words: string): string {
  if (state !== 'unknown') return words;
  return spent > 0 ? `at least ${words}` : 'unknown';
}

/** Who knows more; goes behind the figures. */
export function hostWords({ measuredOn }: Pick<BudgetView, 'measuredOn'>): string {
  return measuredOn === undefined ? '' : ` (measured on ${measuredOn})`;
}

/** The one that is used up most; undefined when there is none. */
export function tightest(budgets: readonly BudgetView[]): BudgetView | undefined {
  return budgets.toSorted((one, other) => other.fraction - one.fraction)[0];
}

function spentWords(budget: BudgetView): string {
  const { kind, spent, limit, currency = '' } = budget;
  switch (kind) {
    case 'tokens':
      return `${soFar(budget, amount(spent))} of ${amount(limit)} tokens`;
    case 'cost':
      return `${soFar(budget, money(spent, currency))} of ${money(limit, currency)}`;
    case 'minutes':
      return `${soFar(budget, minutes(spent))} of ${minutes(limit)} min`;
  }
}

function minutes(value: number): string {
  return String(value < 10 ? Number(value.toFixed(1)) : Math.round(value));
}
