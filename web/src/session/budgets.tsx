import { budgetWords, percentWords } from '../../../src/api/budget-words.ts';
import type { SessionDetailView } from '../../../src/api/http-views.ts';
import { BudgetBar, STATE_WORDS } from '../parts/budget-bar.tsx';
import { count } from '../words/short.ts';
import { Panel } from './panel.tsx';

/** Every limit that counts for the session, and how much of it is used up. */
export function Budgets({ session: { budgets } }: { readonly session: SessionDetailView }) {
  if (budgets.length === 0) return null;
  return (
    <Panel title="Budgets" note={count(budgets.length, 'limit')}>
      <ul class="budgets" role="list">
        {budgets.map((budget, index) => (
          <li key={index} class={`is-${budget.state}`}>
            <span>{budgetWords(budget)}</span>
            <span class="dim share-words">
              {percentWords(budget)}
              {budget.state !== 'within' && `, ${STATE_WORDS[budget.state]}`}
            </span>
            <BudgetBar budget={budget} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}
