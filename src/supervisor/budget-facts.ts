/** Which budgets are in force for runs, and what was spent of each by all who count for it. One read, however many. */
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
import type { SpentOnDay } from '../lifecycle/price.ts';
import type { BudgetFacts, BudgetQuery, DayFacts } from '../store/budget-facts.ts';
import type { SessionWithRun } from '../store/store.ts';
import { isConfigured } from './budget-policy.ts';
import type { Context } from './context.ts';
import { unmeasured } from './unmeasured.ts';

export interface BudgetLook {
  /** Of one of the runs that were asked for. */
  of(found: SessionWithRun): readonly Budget[];
  /** What a session's own runs have spent, without those below. */
  ownTokens(sessionId: string): number;
}

export interface BudgetedStart {
  /** It may be new. */
  readonly session: Session | null;
  /** As the start would set it. */
  readonly budget: SessionBudget | null;
  /** The run inside which it is started, if any. */
  readonly parentId: string | null;
}

/** Of a run that is not there yet. */
const NOBODY = '';

/** Whether anything has to be read to know. */
export function mayHaveBudget({ session, run }: SessionWithRun, policy: BudgetPolicy): boolean {
  return run.parent !== null || session.budget !== null || isConfigured(policy);
}

/** Of runs that are on record. */
export async function lookAtBudgets(
  context: Context,
  policy: BudgetPolicy,
  runs: readonly SessionWithRun[],
): Promise<BudgetLook> {
  const facts = await read(context, policy, { runIds: runs.map(({ run }) => run.id), sessionIds: [] });
  const family = new Family(facts.family);
  const budgetsOf = accountant(context, policy, facts, family);
  return {
    of: ({ session, run }) =>
      budgetsOf([{ session, runId: run.id, budget: session.budget }, ...family.above(run)]),
    ownTokens: (sessionId) =>
      family
        .ofSession(sessionId)
        .flatMap(({ id }) => facts.spentByRun.get(id) ?? [])
        .reduce((sum, each) => sum + totalOf(each), 0),
  };
}

/** Of a run that is about to be started. */
export async function budgetsOfStart(
  context: Context,
  policy: BudgetPolicy,
  { session, budget, parentId }: BudgetedStart,
): Promise<readonly Budget[]> {
  const facts = await read(context, policy, {
    runIds: parentId === null ? [] : [parentId],
    sessionIds: session === null ? [] : [session.id],
  });
  const family = new Family(facts.family);
  const own = { session, runId: NOBODY, budget };
  return accountant(context, policy, facts, family)([own, ...family.from(parentId)]);
}

function read(context: Context, policy: BudgetPolicy, query: Omit<BudgetQuery, 'day'>): Promise<BudgetFacts> {
  const day = hasLimit(policy.day) ? new Date().toISOString().slice(0, 10) : null;
  return context.store.budgetFacts({ ...query, day });
}

interface Holder {
  readonly session: Session | null;
  readonly runId: string;
  readonly budget: SessionBudget | null;
}

/** Who started whom. */
class Family {
  readonly #byId = new Map<string, SessionWithRun>();
  readonly #bySession = new Map<string, Run[]>();
  readonly #byParent = new Map<string, Run[]>();

  constructor(members: readonly SessionWithRun[]) {
    for (const each of members) {
      this.#byId.set(each.run.id, each);
      add(this.#bySession, each.session.id, each.run);
      if (each.run.parent !== null) add(this.#byParent, each.run.parent.startedBy, each.run);
    }
  }

  ofSession(id: string): readonly Run[] {
    return this.#bySession.get(id) ?? [];
  }

  /** The nearest first. */
  above(run: Run): readonly Holder[] {
    return this.from(run.parent?.startedBy ?? null);
  }

  from(runId: string | null): readonly Holder[] {
    const found = new Map<string, Holder>();
    // A ring cannot come about, but a damaged record must not hang whoever reads it.
    for (let id = runId; id !== null && !found.has(id);) {
      const each = this.#byId.get(id);
      if (each === undefined) break;
      found.set(id, { session: each.session, runId: id, budget: each.session.budget });
      id = each.run.parent?.startedBy ?? null;
    }
    return [...found.values()];
  }

  /** Each once: one of them may be below another, as a session that an agent started, and later started itself anew. */
  withBelow(runs: readonly Run[]): readonly SessionWithRun[] {
    const found = new Set<string>();
    const waiting = runs.map(({ id }) => id);
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      if (found.has(id)) continue;
      found.add(id);
      waiting.push(...(this.#byParent.get(id) ?? []).map((run) => run.id));
    }
    return [...found].flatMap((id) => this.#byId.get(id) ?? []);
  }
}

function add(groups: Map<string, Run[]>, key: string, run: Run): void {
  const group = groups.get(key);
  if (group === undefined) groups.set(key, [run]);
  else group.push(run);
}

/** The budgets of a run, from those who hold them: itself, and all above it. What counts for many is summed up once. */
function accountant(
  context: Context,
  policy: BudgetPolicy,
  facts: BudgetFacts,
  family: Family,
): (holders: readonly Holder[]) => readonly Budget[] {
  const known = new Map<string, Budget>();
  const once = (key: string, find: () => Budget) => {
    const found = known.get(key) ?? find();
    known.set(key, found);
    return found;
  };
  const here: AwakeNow = { clock: clockOf(context.table.host), nowMs: context.table.awakeMs() };
  const spentBy = (runs: readonly Run[]): Spent => {
    const all = family.withBelow(runs);
    const spans = all.flatMap(({ run }) => awakeSpan(run, here) ?? []);
    return {
      ...spentOf(sumsOf(facts, all), policy, awakeTotalMs(spans)),
      unmeasured: unmeasured(context, all, facts.spentByRun, here),
    };
  };

  const ofHolder = ({ session, runId, budget }: Holder, isRoot: boolean): readonly Budget[] => {
    const runs = session === null ? [] : family.ofSession(session.id);
    const sharing = sharingBudget(runs, runId === NOBODY ? (continued(runs) ?? NOBODY) : runId);
    const onExceeded = budget?.onExceeded ?? policy.onExceeded;
    const owned = (scope: 'run' | 'session' | 'tree', limits: Limits, by: readonly Run[], whose: string) =>
      hasLimit(limits)
        ? [
            once(`${scope} ${whose}`, () => ({
              scope,
              holder: whose,
              ownerId: ownerOf(runId, by),
              limits,
              onExceeded,
              spent: spentBy(by),
            })),
          ]
        : [];
    const first = sharing[0]?.id ?? runId;
    return [
      ...owned('session', limitsOf(budget, policy.session), runs, session?.id ?? NOBODY),
      ...owned('run', policy.run, sharing, first),
      ...(isRoot ? owned('tree', policy.tree, sharing, first) : []),
    ];
  };

  return (holders) => {
    const found = holders.flatMap((holder, index) => ofHolder(holder, index === holders.length - 1));
    const { day } = facts;
    return day === null
      ? found
      : [...found, once('day', () => dayBudget(context, policy, day, facts.spentByRun, here))];
  };
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

/** What was live at midnight counts from then on, as far as the wall clock can tell. */
function dayBudget(
  context: Context,
  policy: BudgetPolicy,
  { day, runs, spent }: DayFacts,
  spentByRun: BudgetFacts['spentByRun'],
  here: AwakeNow,
): Budget {
  const midnightMs = Date.parse(day);
  const spans = runs.flatMap(({ run }) => {
    const span = awakeSpan(run, here);
    return span === null ? [] : [spanSince(span, midnightMs, run.ending?.endedAtMs ?? Date.now())];
  });
  return {
    scope: 'day',
    holder: day,
    ownerId: null,
    limits: policy.day,
    onExceeded: policy.onExceeded,
    spent: {
      ...spentOf(spent, policy, awakeTotalMs(spans)),
      unmeasured: unmeasured(context, runs, spentByRun, here),
    },
  };
}

function sumsOf({ spentByRun }: BudgetFacts, runs: readonly SessionWithRun[]): readonly SpentOnDay[] {
  return runs.flatMap(({ run }) => spentByRun.get(run.id) ?? []);
}

const MICROS = 1_000_000;

function spentOf(
  sums: readonly SpentOnDay[],
  { prices: models, currency }: BudgetPolicy,
  awakeMs: number,
): Spent {
  const unpriced = sums.filter((each) => costOf([each], { models }).unpricedTokens > 0);
  return {
    tokens: sums.reduce((total, sum) => total + totalOf(sum), 0),
    minutes: awakeMs / 60_000,
    cost: (costOf(sums, { models }).micros ?? 0) / MICROS,
    unpriced: [...new Set(unpriced.map(({ model }) => model))],
    ...(currency === undefined ? {} : { currency }),
  };
}
