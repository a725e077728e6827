/** Before a start: whether there is anything left to spend. Nothing was claimed and nobody ended when it is refused. */
import { ReeveError } from '../api/errors.ts';
import { judge, nextLookMs } from '../lifecycle/budget.ts';
import type { Verdict } from '../lifecycle/budget.ts';
import { spentOf } from '../lifecycle/budget-words.ts';
import type { Run } from '../lifecycle/run.ts';
import { changeBudget, raises } from '../lifecycle/session-budget.ts';
import type { BudgetChange } from '../lifecycle/session-budget.ts';
import type { Session } from '../lifecycle/session.ts';
import { RUN_MARK } from '../process/tree.ts';
import { budgetsOfStart } from './budget-facts.ts';
import { readPolicy } from './budget-policy.ts';
import type { Context } from './context.ts';
import { needLedger, readSpending } from './read-spending.ts';

export interface WantedStart {
  readonly existing: { readonly session: Session; readonly run: Run } | null;
  readonly parentId: string | null;
  readonly change: BudgetChange | undefined;
}

/** When its keeper is to have it looked at for the first time; null when there is no budget. */
export async function checkBudget(context: Context, wanted: WantedStart): Promise<number | null> {
  const { existing, parentId, change } = wanted;
  refuseRaise(context, existing?.session ?? null, change ?? {});
  const policy = readPolicy(context.environment);
  const session = existing?.session ?? null;
  const start = { session, budget: changeBudget(session?.budget ?? null, change ?? {}), parentId };
  let budgets = await budgetsOfStart(context, policy, start);
  if (existing !== null && needLedger(budgets)) {
    // What the last run spent may not have been read yet, and a restart grants nothing.
    await readSpending(context, [existing]);
    budgets = await budgetsOfStart(context, policy, start);
  }
  const verdicts = judge(budgets, policy.warnAt);
  const [worst] = verdicts;
  if (worst?.state === 'over') throw refusal(worst, session?.name ?? null);
  return nextLookMs('', verdicts, policy.warnAt);
}

/** Whoever spends does not say how much may be spent. */
export function refuseRaise(context: Context, session: Session | null, change: BudgetChange): void {
  const run = context.environment[RUN_MARK] ?? '';
  if (run === '' || session === null || !raises(session.budget, change)) return;
  throw new ReeveError('forbidden', `Inside run ${run}, the budget of ${session.name} cannot be raised.`, {
    hint: 'Ask a person to do it, from outside of any run.',
  });
}

function refusal(verdict: Verdict, name: string | null): ReeveError {
  const { scope, kind, spent, limit, currency } = verdict;
  return new ReeveError('over_budget', `Nothing was started: it would be over ${spentOf(verdict)}.`, {
    hint: wayOn(verdict, name),
    details: { scope, kind, spent, limit, ...(currency === undefined ? {} : { currency }) },
  });
}

function wayOn({ scope, kind, ownerId }: Verdict, name: string | null): string {
  if (scope === 'session' && ownerId === '' && name !== null)
    return `Grant more: add --max-${kind} MORE, or: reeve budget set ${name} --max-${kind} MORE`;
  if (scope === 'session') return 'A run above this one is over its budget: `reeve budget` tells which.';
  if (scope === 'run' && ownerId === '')
    return 'A restart grants no fresh budget. Begin anew in another session, or raise budget.run in the configuration.';
  return `Raise budget.${scope} in the configuration${scope === 'day' ? ', or wait until midnight UTC' : ''}.`;
}
