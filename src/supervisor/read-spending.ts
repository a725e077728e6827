/** Brings the ledger up to date for those who count for a budget, before anybody judges by it. */
import { hasLimit, NO_LIMITS } from '../lifecycle/session-budget.ts';
import type { Budget } from '../lifecycle/budget.ts';
import type { SessionWithRun } from '../store/store.ts';
import type { Context } from './context.ts';
import { readLedger } from './ledger.ts';

/** More children than this at once have keepers and watchers of their own, which read for them. */
const MAX_READ = 50;

/** What cannot be read is not known to be spent; the ledger's own reader says so where a person looks. */
export async function readSpending(context: Context, own: readonly SessionWithRun[]): Promise<void> {
  const below = await context.store.below(
    own.map(({ run }) => run.id),
    'live',
  );
  const spenders = new Map([...own, ...below].map((each) => [each.session.id, each]));
  for (const each of [...spenders.values()].slice(0, MAX_READ)) {
    // Plain commands have no conversations.
    if (each.session.harness !== 'command') await readLedger(context, each).catch(() => {});
  }
}

/** Time is told by a clock; only the others are in the ledger. */
export function needLedger(budgets: readonly Budget[]): boolean {
  return budgets.some(({ limits }) => hasLimit({ ...NO_LIMITS, tokens: limits.tokens, cost: limits.cost }));
}
