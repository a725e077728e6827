/** What a session may spend, as it is set for it. What a budget is, and how it is judged, is in budget.ts. */

export const BUDGET_KINDS = ['tokens', 'cost', 'minutes'] as const;
export type BudgetKind = (typeof BUDGET_KINDS)[number];
export type BudgetScope = 'run' | 'session' | 'tree' | 'day';

export const ON_EXCEEDED = ['end', 'ask'] as const;
/** `ask` leaves it running and says that a person is needed. */
export type OnExceeded = (typeof ON_EXCEEDED)[number];

/** Null is no limit. */
export type Limits = Readonly<Record<BudgetKind, number | null>>;

export const NO_LIMITS: Limits = { tokens: null, cost: null, minutes: null };

/** What is on record for one session. */
export interface SessionBudget extends Limits {
  /** Null goes by the configuration. */
  readonly onExceeded: OnExceeded | null;
}

/** Only what is given is changed; a limit that is null is lifted. */
export type BudgetChange = Partial<SessionBudget>;

export const NO_BUDGET: SessionBudget = { ...NO_LIMITS, onExceeded: null };

/** A limit is more than nothing: to let nothing run, nothing need be started. Tokens are whole. */
export function isLimit(kind: BudgetKind, value: number): boolean {
  const isRight = value > 0 && value <= MAX_LIMIT;
  return isRight && (kind !== 'tokens' || Number.isInteger(value));
}

/** The end of a sentence that says what is one. */
export function limitWords(kind: BudgetKind): string {
  return `${kind === 'tokens' ? 'a whole number' : 'a number'} above 0 and at most 10^15`;
}

/** Beyond this a sum is not exact any more, and nobody means it. */
const MAX_LIMIT = 1e15;

export function hasLimit(limits: Limits): boolean {
  return BUDGET_KINDS.some((kind) => limits[kind] !== null);
}

/** A session's own limit goes before the configured one of the same kind. */
export function limitsOf(budget: SessionBudget | null, configured: Limits): Limits {
  return {
    tokens: budget?.tokens ?? configured.tokens,
    cost: budget?.cost ?? configured.cost,
    minutes: budget?.minutes ?? configured.minutes,
  };
}

/** Null when nothing is left of it. */
export function changeBudget(budget: SessionBudget | null, change: BudgetChange): SessionBudget | null {
  const changed = { ...NO_BUDGET, ...budget, ...change };
  return hasLimit(changed) || changed.onExceeded !== null ? changed : null;
}

/** Whether a change lets more be spent than before. */
export function raises(budget: SessionBudget | null, change: BudgetChange): boolean {
  return BUDGET_KINDS.some((kind) => {
    const before = budget?.[kind] ?? null;
    const after = change[kind];
    return before !== null && after !== undefined && (after === null || after > before);
  });
}

/** One limit, and what was spent of it. */
export interface BudgetFigures {
  readonly scope: BudgetScope;
  readonly kind: BudgetKind;
  readonly spent: number;
  readonly limit: number;
  /** Of a cost, where it is on record. */
  readonly currency?: string;
}

const SCOPES: readonly BudgetScope[] = ['run', 'session', 'tree', 'day'];

/** The figures in what is on record; null when they make no sense. */
export function figuresOf(data: unknown): BudgetFigures | null {
  if (typeof data !== 'object' || data === null) return null;
  const given = data as Readonly<Partial<Record<keyof BudgetFigures, unknown>>>; // Each is checked.
  const scope = SCOPES.find((each) => each === given.scope);
  const kind = BUDGET_KINDS.find((each) => each === given.kind);
  const { spent, limit, currency } = given;
  if (scope === undefined || kind === undefined || !isFigure(spent) || !isFigure(limit)) return null;
  const inMoney = typeof currency === 'string' ? { currency } : {};
  return limit > 0 ? { scope, kind, spent, limit, ...inMoney } : null;
}

function isFigure(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}
