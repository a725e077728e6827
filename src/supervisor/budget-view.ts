/** Budgets for people and programs: those that count for a session, and what was spent of each by whom. */
import type { BudgetDetail, BudgetView, SessionBudgets } from '../api/http-views.ts';
import { judge } from '../lifecycle/budget.ts';
import type { Budget, BudgetPolicy, Verdict } from '../lifecycle/budget.ts';
import { changeBudget } from '../lifecycle/session-budget.ts';
import type { BudgetChange } from '../lifecycle/session-budget.ts';
import { LOOK_NOW, tellKeeper } from '../process/keeper.ts';
import type { SessionWithRun } from '../store/store.ts';
import { lookAtBudgets } from './budget-facts.ts';
import type { BudgetLook } from './budget-facts.ts';
import { isConfigured, readPolicy, usablePolicy } from './budget-policy.ts';
import type { Context } from './context.ts';
import { resolveSession } from './resolve.ts';
import { readSpending } from './read-spending.ts';
import { refuseRaise } from './start-budget.ts';

/** Of one session, or of all live ones that have any. */
export async function budget(context: Context, reference?: string): Promise<readonly SessionBudgets[]> {
  const policy = readPolicy(context.environment);
  const found =
    reference === undefined ? await context.store.live() : [await resolveSession(context, reference)];
  if (reference === undefined && (await isUnbudgeted(context, policy))) return [];
  await readSpending(context, found);
  const look = await lookAtBudgets(context, policy, found);
  const views = found.map((each) => viewOf(each, policy, look));
  return views.filter(({ budgets }) => reference !== undefined || budgets.length > 0);
}

export async function setBudget(
  context: Context,
  reference: string,
  change: BudgetChange,
): Promise<SessionBudgets> {
  const found = await resolveSession(context, reference);
  refuseRaise(context, found.session, change);
  await context.store.setBudget(found.session.id, changeBudget(found.session.budget, change), context.actor);
  // Its keeper may not look at it at all so far, or only in an hour.
  if (found.run.state === 'running') tellKeeper(context.table, found.run.keeper, LOOK_NOW);
  const [view] = await budget(context, found.session.id);
  if (view === undefined) throw new Error(`Session ${found.session.id} is gone.`);
  return view;
}

/** For the overview: nothing is read but the store, and nothing at all where there are no budgets. */
export async function budgetsForRows(
  context: Context,
  sessionIds: readonly string[],
): Promise<ReadonlyMap<string, readonly BudgetView[]>> {
  const { policy } = usablePolicy(context.environment);
  if (sessionIds.length === 0 || (await isUnbudgeted(context, policy))) return new Map();
  const found = await context.store.sessionsOf(sessionIds);
  const look = await lookAtBudgets(context, policy, found);
  return new Map(found.map((each) => [each.session.id, judge(look.of(each), policy.warnAt).map(shown)]));
}

async function isUnbudgeted(context: Context, policy: BudgetPolicy): Promise<boolean> {
  return !isConfigured(policy) && (await context.store.budgetedSessions()).length === 0;
}

function viewOf({ session, run }: SessionWithRun, policy: BudgetPolicy, look: BudgetLook): SessionBudgets {
  const budgets = look.of({ session, run });
  return {
    session: session.name,
    id: session.id,
    live: run.state !== 'ended',
    onExceeded: session.budget?.onExceeded ?? policy.onExceeded,
    ownTokens: look.ownTokens(session.id),
    budgets: judge(budgets, policy.warnAt).map((verdict) => detailed(verdict, budgets)),
  };
}

function detailed(verdict: Verdict, budgets: readonly Budget[]): BudgetDetail {
  const { holder, onExceeded, kind, scope } = verdict;
  const of = budgets.find((each) => each.scope === scope && each.holder === holder);
  return {
    ...shown(verdict),
    holder,
    onExceeded,
    unpriced: kind === 'cost' ? [...(of?.spent.unpriced ?? [])] : [],
  };
}

function shown({ scope, kind, spent, limit, fraction, state, currency, measuredOn }: Verdict): BudgetView {
  return {
    scope,
    kind,
    spent,
    limit,
    fraction,
    state,
    ...(currency === undefined ? {} : { currency }),
    ...(measuredOn === undefined ? {} : { measuredOn }),
  };
}
