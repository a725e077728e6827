/** `budget` and `budget set`: what may be spent, and what is spent of it. */
import { withReeve } from '../with-reeve.ts';
import { ReeveError } from '../../api/errors.ts';
import { hostWords, soFar } from '../../api/budget-words.ts';
import type { BudgetDetail, SessionBudgets } from '../../api/http-views.ts';
import { amount } from '../../lifecycle/budget-words.ts';
import { NO_BUDGET } from '../../lifecycle/session-budget.ts';
import { printLines } from '../output.ts';
import type { OutputOptions } from '../output.ts';
import { bold, dim, magenta, red, yellow } from '../render/style.ts';
import { budgetFrom } from './run.ts';
import type { StartOptions } from './run.ts';

export async function budget(reference: string | undefined, options: OutputOptions): Promise<number> {
  return withReeve(async (reeve) => {
    const found = await reeve.budget(reference);
    const text =
      found.length === 0
        ? ['No budget is set for anything that is live.']
        : found.flatMap((each, index) => [...(index === 0 ? [] : ['']), ...render(each)]);
    printLines(options, found, text);
    return 0;
  });
}

export async function budgetSet(
  reference: string,
  options: StartOptions & { none?: boolean },
): Promise<number> {
  const change = budgetFrom(options);
  if (change === undefined && options.none !== true) {
    throw new ReeveError('usage', 'Nothing to set was given.', {
      hint: 'Give --max-tokens, --max-cost, --max-minutes, --on-budget, or --none.',
    });
  }
  return withReeve(async (reeve) => {
    const set = await reeve.setBudget(reference, { ...(options.none === true ? NO_BUDGET : {}), ...change });
    printLines(options, set, render(set));
    return 0;
  });
}

function render(of: SessionBudgets): string[] {
  const { session, budgets } = of;
  if (budgets.length === 0) return [`${bold(session)}  no budget`];
  return [bold(session), ...budgets.flatMap((each) => lines(each, of))];
}

const BAR_WIDTH = 20;
const COLOURS = { within: (text: string) => text, warn: yellow, over: red, unknown: magenta } as const;

function lines(of: BudgetDetail, { id, ownTokens }: SessionBudgets): string[] {
  const { scope, kind, spent, limit, fraction, state, onExceeded, unpriced, holder, currency } = of;
  const filled = Math.max(0, Math.min(BAR_WIDTH, Math.round(fraction * BAR_WIDTH)));
  const bar = COLOURS[state](`${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)}`);
  const percent = (state === 'unknown' ? '?' : `${Math.min(999, Math.floor(fraction * 100))}%`).padStart(4);
  // Of another holder, what this session's own runs spent is itself below.
  const below = kind === 'tokens' && holder === id ? spent - ownTokens : 0;
  const whose = below > 0 ? dim(`, ${amount('tokens', below)} of it by its children`) : '';
  const then = state === 'over' ? `, ${onExceeded === 'ask' ? 'a person is asked' : 'over'}` : '';
  const figures = `${soFar(of, amount(kind, spent, currency))} of ${amount(kind, limit, currency)}${hostWords(of)}`;
  const line = `  ${scope.padEnd(8)} ${bar} ${percent}  ${figures}${then}${whose}`;
  return unpriced.length === 0
    ? [line]
    : [line, dim(`           cost not known for model ${unpriced.join(', ')}`)];
}
