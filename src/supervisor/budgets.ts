/**
 * Holds live runs to their budgets: reads what was spent, judges, and warns, asks or ends. The daemon does it for all, and
 * a run's own keeper for that run where no daemon is. Whoever does it may be killed at any point, and do it beside
 * others: what is told is told by the first, an end by its intent, which whoever comes next carries on.
 */
import { awakeSpan, clockOf } from '../lifecycle/awake.ts';
import { judge, nextLookMs, planForRun } from '../lifecycle/budget.ts';
import type { BudgetPolicy, Verdict } from '../lifecycle/budget.ts';
import { limitOf, spentOf } from '../lifecycle/budget-words.ts';
import type { LiveRun } from '../lifecycle/run.ts';
import { checkpoint } from '../process/checkpoint.ts';
import type { SessionWithRun } from '../store/store.ts';
import { findBudgets } from './budget-facts.ts';
import type { BudgetFinder } from './budget-facts.ts';
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

/** All live runs of this host. */
export async function enforceBudgets(given: Context): Promise<Enforced> {
  const context = { ...given, actor: BUDGET_ACTOR };
  const { policy, problem } = usablePolicy(context.environment);
  const nothing = { budgeted: 0, ended: 0, problem };
  // Most have no budgets at all, and then this is all that it costs.
  if (!isConfigured(policy) && (await context.store.budgetedSessions()).length === 0) return nothing;
  const live = (await context.store.live()).filter(({ run }) => isHere(context, run));
  const finder = findBudgets(context, policy);
  const enforced: Held[] = [];
  for (const each of live) enforced.push(await hold(context, each, policy, finder));
  // Side by side, for each may take its grace.
  await Promise.all(enforced.flatMap(({ ending }) => (ending === null ? [] : [ending()])));
  return {
    budgeted: enforced.filter(({ verdicts }) => verdicts.length > 0).length,
    ended: enforced.filter(({ ending }) => ending !== null).length,
    problem,
  };
}

/** One run, for its own keeper. When to look again; null when there is nothing to look for. */
export async function enforceBudgetsOf(given: Context, found: SessionWithRun): Promise<number | null> {
  const context = { ...given, actor: BUDGET_ACTOR };
  const { policy } = usablePolicy(context.environment);
  if (needLedger(await findBudgets(context, policy).of(found))) await readSpending(context, [found]);
  const { verdicts, ending } = await hold(context, found, policy, findBudgets(context, policy));
  await ending?.();
  return nextLookMs(found.run.id, verdicts, policy.warnAt);
}

interface Held {
  readonly verdicts: readonly Verdict[];
  /** Ends it, where that is due. */
  readonly ending: (() => Promise<void>) | null;
}

async function hold(
  context: Context,
  { session, run }: SessionWithRun,
  policy: BudgetPolicy,
  finder: BudgetFinder,
): Promise<Held> {
  if (run.state === 'ended') return { verdicts: [], ending: null };
  // Whoever put that on record may have died over it.
  const isEnding = run.intent?.outcome === 'over_budget';
  const verdicts = judge(await finder.of({ session, run }), policy.warnAt);
  await checkpoint('budget.judged');
  const plan = planForRun(run.id, verdicts);
  if (verdicts.some(({ kind }) => kind === 'minutes')) await recordAwake(context, run);
  for (const verdict of plan.warnings) await warn(context, run, verdict);
  await ask(context, run, plan.end === null ? plan.ask : null);
  if (plan.end === null && !isEnding) return { verdicts, ending: null };
  const reason = plan.end === null ? (run.intent?.reason ?? '') : `it was over ${spentOf(plan.end)}`;
  return { verdicts, ending: () => end(context, run, reason) };
}

async function end(context: Context, run: LiveRun, reason: string): Promise<void> {
  const intent = intentNow({ outcome: 'over_budget', actor: BUDGET_ACTOR, reason });
  await retireRun(context, run, intent, GRACE_MS);
}

/** What a person is asked for is on record with the run, until there is nothing to ask any more. */
async function ask({ store, actor }: Context, run: LiveRun, verdict: Verdict | null): Promise<void> {
  // Without what is spent: that grows, and would be asked for again and again.
  const what = verdict === null ? null : limitOf(verdict);
  if (what === (run.overBudget?.what ?? null)) return;
  const kind = verdict === null ? 'budget.cleared' : 'budget.exceeded';
  const data = verdict === null ? {} : dataOf(verdict);
  const event = { sessionId: run.sessionId, runId: run.id, kind, actor, data };
  await store.setOverBudget({ runId: run.id, what, event });
}

/** A day warns once, and not once a run. Another limit is another warning. */
async function warn({ store, actor }: Context, run: LiveRun, verdict: Verdict): Promise<void> {
  const { scope, kind, limit, holder } = verdict;
  const event = { sessionId: run.sessionId, runId: run.id, kind: 'budget.warned', actor };
  await store.noteBudget({
    key: `warned ${scope === 'day' ? holder : run.id} ${scope} ${kind} ${limit}`,
    event: { ...event, data: dataOf(verdict) },
  });
}

function dataOf(verdict: Verdict): Readonly<Record<string, unknown>> {
  const { scope, kind, spent, limit } = verdict;
  return { scope, kind, spent, limit, what: spentOf(verdict) };
}

/** For whoever asks in another boot: what was recorded last is then all that is known. */
async function recordAwake({ store, table }: Context, run: LiveRun): Promise<void> {
  const span = awakeSpan(run, { clock: clockOf(table.host), nowMs: table.awakeMs() });
  if (span !== null) await store.recordAwake(run.id, span.toMs - span.fromMs);
}
