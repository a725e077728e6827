/**
 * Holds live runs to their budgets: reads what was spent, judges, and warns, asks or ends. The daemon does it for all, and
 * a run's own keeper for that run where no daemon is. Whoever does it may be killed at any point, and do it beside
 * others: what is told is told by the first, an end by its intent, which whoever comes next carries on.
 */
import { awakeSpan, clockOf } from '../lifecycle/awake.ts';
import { judge, nextLookMs, planForRun } from '../lifecycle/budget.ts';
import type { BudgetPlan, BudgetPolicy, Verdict } from '../lifecycle/budget.ts';
import { limitOf, spentOf } from '../lifecycle/budget-words.ts';
import type { LiveRun } from '../lifecycle/run.ts';
import type { BudgetFigures } from '../lifecycle/session-budget.ts';
import { checkpoint } from '../process/checkpoint.ts';
import type { SessionWithRun } from '../store/store.ts';
import { lookAtBudgets, mayHaveBudget } from './budget-facts.ts';
import { isConfigured, usablePolicy } from './budget-policy.ts';
import type { Context } from './context.ts';
import { isHere } from './reach.ts';
import { intentNow, retireRun } from './retire.ts';
import { needLedger, readSpending } from './read-spending.ts';

/** As long as anybody who ends a run gives it: a model call in flight may want saving. */
const GRACE_MS = 10_000;

export const BUDGET_ACTOR = 'budget';

export interface Enforced {
  /** How many runs have a budget. */
  readonly budgeted: number;
  /** How many were ended, or are being. */
  readonly ended: number;
  readonly problem: string | null;
}

/** All live runs of this host. However many there are, the store is asked and written to as often as for one. */
export async function enforceBudgets(given: Context): Promise<Enforced> {
  const context = { ...given, actor: BUDGET_ACTOR };
  const { policy, problem } = usablePolicy(context.environment);
  const nothing = { budgeted: 0, ended: 0, problem };
  // Most have no budgets at all, and then this is all that it costs.
  if (!isConfigured(policy) && (await context.store.budgetedSessions()).length === 0) return nothing;
  const live = (await context.store.live()).filter(({ run }) => isHere(context, run));
  const held = await hold(context, policy, live);
  return {
    budgeted: held.filter(({ verdicts }) => verdicts.length > 0).length,
    ended: held.filter(({ end }) => end !== null).length,
    problem,
  };
}

/** One run, for its own keeper. When to look again; null when there is nothing to look for. */
export async function enforceBudgetsOf(given: Context, found: SessionWithRun): Promise<number | null> {
  const context = { ...given, actor: BUDGET_ACTOR };
  const { policy } = usablePolicy(context.environment);
  if (needLedger((await lookAtBudgets(context, policy, [found])).of(found)))
    await readSpending(context, [found]);
  const [held] = await hold(context, policy, [found]);
  return held === undefined ? null : nextLookMs(found.run.id, held.verdicts, policy.warnAt);
}

interface Held {
  readonly run: LiveRun;
  readonly verdicts: readonly Verdict[];
  readonly plan: BudgetPlan;
  /** Why it has to end. */
  readonly end: string | null;
}

async function hold(
  context: Context,
  policy: BudgetPolicy,
  found: readonly SessionWithRun[],
): Promise<readonly Held[]> {
  const due = found.flatMap(({ session, run }) =>
    run.state !== 'ended' && (mayHaveBudget({ session, run }, policy) || begunEnd(run) !== null)
      ? [{ session, run }]
      : [],
  );
  if (due.length === 0) return [];
  const look = await lookAtBudgets(context, policy, due);
  const held = due.map((each) => holdTo(each.run, judge(look.of(each), policy.warnAt)));
  await checkpoint('budget.judged');
  await recordAwake(context, held);
  await warn(context, held);
  for (const each of held) await ask(context, each);
  // Side by side, for each may take its grace.
  await Promise.all(
    held.flatMap(({ run, end, plan }) => (end === null ? [] : [endRun(context, run, end, plan.end)])),
  );
  return held;
}

function holdTo(run: LiveRun, verdicts: readonly Verdict[]): Held {
  const plan = planForRun(run.id, verdicts);
  return { run, verdicts, plan, end: plan.end === null ? begunEnd(run) : `it was over ${spentOf(plan.end)}` };
}

/** Whoever put that on record may have died over it. */
function begunEnd({ intent }: LiveRun): string | null {
  return intent?.outcome === 'over_budget' ? (intent.reason ?? '') : null;
}

async function endRun(
  context: Context,
  run: LiveRun,
  reason: string,
  verdict: Verdict | null,
): Promise<void> {
  const intent = intentNow({
    outcome: 'over_budget',
    actor: BUDGET_ACTOR,
    reason,
    ...(verdict === null ? {} : { budget: figuresIn(verdict) }),
  });
  await retireRun(context, run, intent, GRACE_MS);
}

/** What a person is asked for is on record with the run, until there is nothing to ask any more. */
async function ask({ store, actor }: Context, { run, plan }: Held): Promise<void> {
  const verdict = plan.end === null ? plan.ask : null;
  // Without what is spent: that grows, and would be asked for again and again.
  const what = verdict === null ? null : limitOf(verdict);
  if (what === (run.overBudget?.what ?? null)) return;
  const kind = verdict === null ? 'budget.cleared' : 'budget.exceeded';
  const data = verdict === null ? {} : dataOf(verdict);
  const event = { sessionId: run.sessionId, runId: run.id, kind, actor, data };
  await store.setOverBudget({ runId: run.id, what, event });
}

/** A day warns once, and not once a run. Another limit is another warning. */
async function warn({ store, actor }: Context, held: readonly Held[]): Promise<void> {
  const due = held.flatMap(({ run, plan }) =>
    plan.warnings.map((verdict) => {
      const { scope, kind, limit, holder } = verdict;
      const event = { sessionId: run.sessionId, runId: run.id, kind: 'budget.warned', actor };
      return {
        key: `warned ${scope === 'day' ? holder : run.id} ${scope} ${kind} ${limit}`,
        event: { ...event, data: dataOf(verdict) },
      };
    }),
  );
  const told = await store.notedBudgets(due.map(({ key }) => key));
  for (const note of due) if (!told.has(note.key)) await store.noteBudget(note);
}

function dataOf(verdict: Verdict): Readonly<Record<string, unknown>> {
  return { ...figuresIn(verdict), what: spentOf(verdict) };
}

function figuresIn({ scope, kind, spent, limit, currency }: Verdict): BudgetFigures {
  return { scope, kind, spent, limit, ...(currency === undefined ? {} : { currency }) };
}

/** For whoever asks in another boot: what was recorded last is then all that is known. */
async function recordAwake({ store, table }: Context, held: readonly Held[]): Promise<void> {
  const now = { clock: clockOf(table.host), nowMs: table.awakeMs() };
  const timed = held.filter(({ verdicts }) => verdicts.some(({ kind }) => kind === 'minutes'));
  await store.recordAwake(
    timed.flatMap(({ run }) => {
      const span = awakeSpan(run, now);
      return span === null ? [] : [{ runId: run.id, awakeMs: span.toMs - span.fromMs }];
    }),
  );
}
