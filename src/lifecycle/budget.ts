/**
 * What may be spent, and by whom: tokens, cost, and minutes in which a machine was awake and something was live.
 *
 *   run      one run and all below it. A run that follows one which did not complete goes on with its budget: otherwise
 *            whatever ends at its limit, crashes or is taken over would get the whole of it again by being started again.
 *            What follows a completed run is a new piece of work.
 *   session  all runs of a session, and all below them
 *   tree     a run that nobody started, and all below it; a restart of it goes on likewise
 *   day      everything on one store, by the day in UTC
 *
 * A child counts for all its ancestors, for ever. A budget is enforced on its owner: the latest run of those whose
 * budget it is, with which its children are dealt with. Once that is over, whoever is left below is enforced on itself.
 */
import type { Run } from './run.ts';
import { BUDGET_KINDS, NO_LIMITS } from './session-budget.ts';
import type { Price } from './price.ts';
import type { BudgetKind, BudgetScope, Limits, OnExceeded } from './session-budget.ts';

export interface BudgetPolicy {
  readonly run: Limits;
  readonly session: Limits;
  readonly tree: Limits;
  readonly day: Limits;
  /** From which part of a limit on a person is warned. */
  readonly warnAt: number;
  readonly onExceeded: OnExceeded;
  /** What tokens cost, where anybody said so, and in which currency. */
  readonly prices: readonly Price[];
  readonly currency?: string;
}

export const NO_POLICY: BudgetPolicy = {
  run: NO_LIMITS,
  session: NO_LIMITS,
  tree: NO_LIMITS,
  day: NO_LIMITS,
  warnAt: 0.8,
  prices: [],
  onExceeded: 'end',
};

export interface Spent {
  readonly tokens: number;
  /** As far as prices are known. */
  readonly cost: number;
  readonly currency?: string;
  readonly minutes: number;
  /** Models whose price is not known: what they cost cannot exceed anything. */
  readonly unpriced: readonly string[];
  /** Present where a part is not in it, because the host that measures it has said nothing yet. */
  readonly unmeasured?: Unmeasured | undefined;
}

/** The host that measures it. */
export type Unmeasured = Partial<Readonly<Record<BudgetKind, string>>>;

/** A budget in force, and what was spent of it. */
export interface Budget {
  readonly scope: BudgetScope;
  /** Whose it is, for ever the same: the first run, a session, or a day. */
  readonly holder: string;
  /** On whom it is enforced; null for a day, which is enforced on everybody, and when that run is over. */
  readonly ownerId: string | null;
  readonly limits: Limits;
  readonly onExceeded: OnExceeded;
  readonly spent: Spent;
}

/** `unknown`: not near its limit as far as is known, but not all of what was spent is. */
type BudgetState = 'within' | 'warn' | 'over' | 'unknown';

export interface Verdict {
  readonly scope: BudgetScope;
  readonly kind: BudgetKind;
  readonly spent: number;
  readonly limit: number;
  readonly fraction: number;
  readonly state: BudgetState;
  /** Of a cost. */
  readonly currency?: string;
  /** Of an unknown one: the host that knows more. At least `spent` was spent. */
  readonly measuredOn?: string;
  readonly holder: string;
  readonly ownerId: string | null;
  readonly onExceeded: OnExceeded;
}

/** Each limit on its own, the one that is used up most first. */
export function judge(budgets: readonly Budget[], warnAt: number): readonly Verdict[] {
  return budgets
    .flatMap((budget) => BUDGET_KINDS.flatMap((kind) => verdictOn(budget, kind, warnAt) ?? []))
    .toSorted((one, other) => other.fraction - one.fraction);
}

function verdictOn(budget: Budget, kind: BudgetKind, warnAt: number): Verdict | null {
  const { scope, holder, ownerId, onExceeded } = budget;
  const limit = budget.limits[kind];
  if (limit === null) return null;
  const spent = budget.spent[kind];
  // A limit of nought is over from the beginning.
  const fraction = limit > 0 ? spent / limit : Number.MAX_VALUE;
  const { currency } = budget.spent;
  const inMoney = kind === 'cost' && currency !== undefined ? { currency } : {};
  const known = { scope, kind, spent, limit, fraction, holder, ownerId, onExceeded, ...inMoney };
  if (fraction >= warnAt) return { ...known, state: fraction >= 1 ? 'over' : 'warn' };
  const measuredOn = budget.spent.unmeasured?.[kind];
  return measuredOn === undefined
    ? { ...known, state: 'within' }
    : { ...known, state: 'unknown', measuredOn };
}

export interface BudgetPlan {
  /** To be told once each. */
  readonly warnings: readonly Verdict[];
  /** For which it has to end. */
  readonly end: Verdict | null;
  /** For which a person is asked. */
  readonly ask: Verdict | null;
}

/** What the verdicts mean for one live run: only those that are enforced on it do. */
export function planForRun(runId: string, verdicts: readonly Verdict[]): BudgetPlan {
  const own = verdicts.filter(({ ownerId }) => ownerId === null || ownerId === runId);
  const over = own.filter(({ state }) => state === 'over');
  return {
    warnings: own.filter(({ state }) => state === 'warn'),
    end: over.find(({ onExceeded }) => onExceeded === 'end') ?? null,
    ask: over.find(({ onExceeded }) => onExceeded === 'ask') ?? null,
  };
}

/** Of all runs of a session, the earliest first, those that share one run's budget. */
export function sharingBudget(runs: readonly Run[], runId: string): readonly Run[] {
  const at = runs.findIndex(({ id }) => id === runId);
  if (at === -1) return [];
  const isNew = (index: number) => runs[index - 1]?.ending?.outcome === 'completed';
  let [from, to] = [at, at + 1];
  while (from > 0 && !isNew(from)) from -= 1;
  while (to < runs.length && !isNew(to)) to += 1;
  return runs.slice(from, to);
}

/** A look every so often tells of tokens in time; a turn of a model takes as long. */
const SPENDING_LOOK_MS = 20_000;
/** What is not enforced on the run itself is looked at by whoever it is enforced on; over already, it may be raised. */
const OTHERS_LOOK_MS = 60_000;
/** A limit of days is looked at now and then all the same: the configuration may have changed. */
const LAST_LOOK_MS = 60 * 60_000;

/** When to look again at the earliest; null when there is no limit. Time cannot be spent faster than it passes. */
export function nextLookMs(runId: string, verdicts: readonly Verdict[], warnAt: number): number | null {
  if (verdicts.length === 0) return null;
  const waits = verdicts.map(({ kind, ownerId, state, spent, limit }) => {
    if ((ownerId !== null && ownerId !== runId) || state === 'over') return OTHERS_LOOK_MS;
    if (kind !== 'minutes') return SPENDING_LOOK_MS;
    const until = state === 'warn' ? limit : limit * warnAt;
    return Math.ceil((until - spent) * 60_000);
  });
  return Math.max(1, Math.min(LAST_LOOK_MS, ...waits));
}
