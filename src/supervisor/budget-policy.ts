/** What the configuration says of budgets. */
import { ReeveError } from '../api/errors.ts';
import { NO_POLICY } from '../lifecycle/budget.ts';
import type { BudgetPolicy } from '../lifecycle/budget.ts';
import { hasLimit, NO_LIMITS } from '../lifecycle/session-budget.ts';
import type { Limits } from '../lifecycle/session-budget.ts';
import { readConfig } from './config.ts';
import type { Config } from './config.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export function readPolicy(environment: Environment): BudgetPolicy {
  return policyFrom(readConfig(environment));
}

/** A configuration that cannot be used lifts no limit that is on record with a session. */
export function usablePolicy(environment: Environment): { policy: BudgetPolicy; problem: string | null } {
  try {
    return { policy: readPolicy(environment), problem: null };
  } catch (error) {
    if (!(error instanceof ReeveError)) throw error;
    return { policy: NO_POLICY, problem: error.message };
  }
}

export function isConfigured({ run, session, tree, day }: BudgetPolicy): boolean {
  return [run, session, tree, day].some(hasLimit);
}

function policyFrom({ budget, prices }: Config): BudgetPolicy {
  const limits = (given: Limits | null) => given ?? NO_LIMITS;
  return {
    run: limits(budget.run),
    session: limits(budget.session),
    tree: limits(budget.tree),
    day: limits(budget.day),
    warnAt: budget.warnAt,
    onExceeded: budget.onExceeded,
    prices: prices.models,
    currency: prices.currency,
  };
}
