/** The list of sessions with what they cost. From the store alone, so that somebody may look every other second. */
import type { SessionRow } from '../api/http-views.ts';
import type { SessionView } from '../api/session-view.ts';
import { totalOf } from '../lifecycle/usage.ts';
import { budgetsForRows } from './budget-view.ts';
import type { Context } from './context.ts';
import { list } from './list.ts';
import type { Range } from './list.ts';

export type CostedSession = SessionView & Pick<SessionRow, 'tokens' | 'budgets'>;

export async function listWithCosts(context: Context, range: Range): Promise<readonly CostedSession[]> {
  const views = await list(context, range);
  const spent = await context.store.usageTotals(views.map(({ id }) => id));
  const live = views.flatMap(({ id, run }) => (run.state === 'ended' ? [] : [id]));
  const budgets = await budgetsForRows(context, live);
  return views.map((view) => {
    const sums = spent.get(view.id);
    const tokens = sums === undefined ? null : totalOf(sums);
    return { ...view, tokens, budgets: budgets.get(view.id) ?? [] };
  });
}
