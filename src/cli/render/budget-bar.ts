/** The tightest budget of a session in one cell: a bar, how much of it is used up, and a word where that is too much. */
import { percentWords, tightest } from '../../api/budget-words.ts';
import type { BudgetView } from '../../api/http-views.ts';
import type { Paint } from './line.ts';
import { green, magenta, red, yellow } from './style.ts';

const BAR_WIDTH = 8;

const COLOURS: Readonly<Record<BudgetView['state'], Paint>> = {
  within: green,
  warn: yellow,
  over: red,
  unknown: magenta,
};
/** Colour is never the only sign. */
const WORDS: Readonly<Record<BudgetView['state'], string>> = {
  within: '',
  warn: ' warn',
  over: ' over',
  unknown: ' unknown',
};

/** `██████░░ 84% warn` */
export function budgetCell(budgets: readonly BudgetView[]): string {
  const budget = tightest(budgets);
  if (budget === undefined) return '-';
  // Down, so that only what is used up wholly looks so.
  const used = Math.max(0, Math.min(BAR_WIDTH, Math.floor(budget.fraction * BAR_WIDTH)));
  const bar = '█'.repeat(used) + '░'.repeat(BAR_WIDTH - used);
  return `${bar} ${percentWords(budget)}${WORDS[budget.state]}`;
}

export function budgetPaint(budgets: readonly BudgetView[]): Paint | undefined {
  const budget = tightest(budgets);
  return budget === undefined ? undefined : COLOURS[budget.state];
}
