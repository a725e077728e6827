/** Which budgets are in force for a run, and what was spent of each by all who count for it. */
import { awakeSpan, awakeTotalMs, clockOf, spanSince } from '../lifecycle/awake.ts';
import type { AwakeNow } from '../lifecycle/awake.ts';
import { sharingBudget } from '../lifecycle/budget.ts';
import type { Budget, BudgetPolicy, Spent } from '../lifecycle/budget.ts';
import { hasLimit, limitsOf } from '../lifecycle/session-budget.ts';
import type { Limits, SessionBudget } from '../lifecycle/session-budget.ts';
import type { Run } from '../lifecycle/run.ts';
import type { Session } from '../lifecycle/session.ts';
import { totalOf } from '../lifecycle/usage.ts';
import { costOf } from '../lifecycle/price.ts';
import type { Price, SpentOnDay } from '../lifecycle/price.ts';
import type { SessionWithRun } from '../store/store.ts';
import { isConfigured } from './budget-policy.ts';
import type { Context } from './context.ts';
import { unmeasured } from './unmeasured.ts';

/** Finds budgets for several runs in one go: what counts for many is asked once. */
export interface BudgetFinder {
  /** Of a run that is on record. */
  of(found: SessionWithRun): Promise<readonly Budget[]>;
  /** Of one that is about to be started, in a session that may be new, inside another run or not. */
  ofStart(start: BudgetedStart): Promise<readonly Budget[]>;
}

interface BudgetedStart {
  readonly session: Session | null;
  /** As the start would set it. */
  readonly budget: SessionBudget | null;
  readonly parentId: string | null;
}

/** Of a run that is not there yet. */
const NOBODY = '';

export function findBudgets(context: Context, policy: BudgetPolicy, nowMs = Date.now()): BudgetFinder {
  const known = new Map<string, Promise<Budget>>();
  const once = (key: string, find: () => Promise<Budget>) => {
    const found = known.get(key) ?? find();
    known.set(key, found);
    return found;
  };
  const here: AwakeNow = { clock: clockOf(context.table.host), nowMs: context.table.awakeMs() };
  const spentBy = (runs: readonly Run[]) => spentWithBelow(context, runs, { here, prices: policy.prices });
  const ofDay = () => once('day', async () => dayBudget(context, policy, here, nowMs));

  const ofHolder = async (holder: Holder, isRoot: boolean): Promise<readonly Budget[]> => {
    const { session, runId, budget } = holder;
    const runs = session === null ? [] : await context.store.runsOf(session.id);
    const sharing = sharingBudget(runs, runId === NOBODY ? (continued(runs) ?? NOBODY) : runId);
    const onExceeded = budget?.onExceeded ?? policy.onExceeded;
    const owned = (scope: 'run' | 'session' | 'tree', limits: Limits, by: readonly Run[], whose: string) =>
      hasLimit(limits)
        ? [
            once(`${scope} ${whose}`, async () => ({
              scope,
              holder: whose,
              ownerId: ownerOf(runId, by),
              limits,
              onExceeded,
              spent: await spentBy(by),
            })),
          ]
        : [];
    const first = sharing[0]?.id ?? runId;
    return Promise.all([
      ...owned('session', limitsOf(budget, policy.session), runs, session?.id ?? NOBODY),
      ...owned('run', policy.run, sharing, first),
      ...(isRoot ? owned('tree', policy.tree, sharing, first) : []),
    ]);
  };

  const ofLineage = async (holders: readonly Holder[]): Promise<readonly Budget[]> => {
    const found: Budget[] = [];
    for (const [index, holder] of holders.entries())
      found.push(...(await ofHolder(holder, index === holders.length - 1)));
    return hasLimit(policy.day) ? [...found, await ofDay()] : found;
  };

  return {
    of: async ({ session, run }) => {
      const own = { session, runId: run.id, budget: session.budget };
      if (run.parent === null && session.budget === null && !isConfigured(policy)) return [];
      return ofLineage([own, ...(await ancestors(context, await context.store.ancestorsOf(run.id)))]);
    },
    ofStart: async ({ session, budget, parentId }) => {
      const own = { session, runId: NOBODY, budget };
      const above = parentId === null ? [] : [parentId, ...(await context.store.ancestorsOf(parentId))];
      return ofLineage([own, ...(await ancestors(context, above))]);
    },
  };
}

interface Holder {
  readonly session: Session | null;
  readonly runId: string;
  readonly budget: SessionBudget | null;
}

/** The nearest first. */
async function ancestors(context: Context, ids: readonly string[]): Promise<readonly Holder[]> {
  if (ids.length === 0) return [];
  const found = new Map((await context.store.runsWithSession(ids)).map((each) => [each.run.id, each]));
  return ids.flatMap((id) => {
    const each = found.get(id);
    return each === undefined ? [] : [{ session: each.session, runId: id, budget: each.session.budget }];
  });
}

/** The run whose budget a next one would go on with; none after one that completed. */
function continued(runs: readonly Run[]): string | null {
  const last = runs.at(-1);
  return last === undefined || last.ending?.outcome === 'completed' ? null : last.id;
}

/** On the latest run of those whose budget it is, while that lives. */
function ownerOf(runId: string, runs: readonly Run[]): string | null {
  if (runId === NOBODY) return NOBODY;
  const last = runs.at(-1);
  return last === undefined || last.state === 'ended' ? null : last.id;
}

async function spentWithBelow(
  context: Context,
  runs: readonly Run[],
  { here, prices }: { here: AwakeNow; prices: readonly Price[] },
): Promise<Spent> {
  const ids = runs.map(({ id }) => id);
  const below = (await context.store.below(ids, 'all')).map(({ run }) => run);
  // One of them may be below another: a session that an agent started, and later started itself anew.
  const all = [...new Map([...runs, ...below].map((run) => [run.id, run])).values()];
  const spans = all.flatMap((run) => awakeSpan(run, here) ?? []);
  const sums = await context.store.spentByRuns(all.map(({ id }) => id));
  return {
    ...spentOf(sums, prices, awakeTotalMs(spans)),
    unmeasured: await unmeasured(context, all, here),
  };
}

/** What was live at midnight counts from then on, as far as the wall clock can tell. */
async function dayBudget(
  context: Context,
  policy: BudgetPolicy,
  here: AwakeNow,
  nowMs: number,
): Promise<Budget> {
  const day = new Date(nowMs).toISOString().slice(0, 10);
  const midnightMs = Date.parse(day);
  const runs = await context.store.runsSince(midnightMs);
  const spans = runs.flatMap((run) => {
    const span = awakeSpan(run, here);
    return span === null ? [] : [spanSince(span, midnightMs, run.ending?.endedAtMs ?? nowMs)];
  });
  return {
    scope: 'day',
    holder: day,
    ownerId: null,
    limits: policy.day,
    onExceeded: policy.onExceeded,
    spent: {
      ...spentOf(await context.store.spentOnDay(day), policy.prices, awakeTotalMs(spans)),
      unmeasured: await unmeasured(context, runs, here),
    },
  };
}

const MICROS = 1_000_000;

function spentOf(sums: readonly SpentOnDay[], models: readonly Price[], awakeMs: number): Spent {
  const unpriced = sums.filter((each) => costOf([each], { models }).unpricedTokens > 0);
  return {
    tokens: sums.reduce((total, sum) => total + totalOf(sum), 0),
    minutes: awakeMs / 60_000,
    cost: (costOf(sums, { models }).micros ?? 0) / MICROS,
    unpriced: [...new Set(unpriced.map(({ model }) => model))],
  };
}
