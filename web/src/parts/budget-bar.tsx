import { budgetWords, percentWords } from '../../../src/api/budget-words.ts';
import type { BudgetView } from '../../../src/api/http-views.ts';

/** The figure that a person is to notice; within its limit, the bar says enough. */
const SIGNS: Readonly<Record<BudgetView['state'], string | null>> = {
  within: null,
  warn: '▲',
  over: '✗',
  unknown: '',
};

/** How much of a limit is used up: a bar with a notch where warnings begin. Numbers, and other limits, in its title. */
export function BudgetBar({
  budget,
  all = [budget],
}: {
  readonly budget: BudgetView;
  readonly all?: readonly BudgetView[];
}) {
  const percent = percentWords(budget);
  const words = all.map((each) => `${budgetWords(each)}: ${percentWords(each)}`).join('\n');
  const sign = SIGNS[budget.state];
  return (
    <span class={`budget is-${budget.state}`} title={words}>
      <span
        class="bar"
        role="meter"
        aria-label={`Budget, ${budget.scope}`}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.min(100, Math.floor(budget.fraction * 100))}
        aria-valuetext={`${budgetWords(budget)}: ${percent}, ${STATE_WORDS[budget.state]}`}
      >
        <span class="filled" style={{ width: `${Math.min(100, budget.fraction * 100)}%` }} />
      </span>
      {sign !== null && (
        <span class="share" aria-hidden="true">
          {sign} {percent}
        </span>
      )}
    </span>
  );
}

export const STATE_WORDS: Readonly<Record<BudgetView['state'], string>> = {
  within: 'within the limit',
  warn: 'near the limit',
  over: 'over the limit',
  unknown: 'not known here',
};
