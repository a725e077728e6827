/** Budgets as they are stored: what a session may spend, what was spent by whom, and what a person was told of it. */
import type { SessionBudget } from '../lifecycle/session-budget.ts';
import { SELECT_RUN_WITH_SESSION, sessionWithRunOf } from './rows.ts';
import { slotsFor } from './sql.ts';
import type { Sql } from './sql.ts';
import type { AwakeRun, BudgetNote, OverBudgetOrder, SessionWithRun, StoredEvent } from './store.ts';

type AddEvent = (event: Omit<StoredEvent, 'seq' | 'atMs'>) => Promise<void>;

export async function budgetedSessions(sql: Sql): Promise<readonly string[]> {
  const rows = await sql.all('select id from sessions where budget is not null');
  return rows.map((row) => String(row['id']));
}

export async function setBudget(
  sql: Sql,
  order: { sessionId: string; budget: SessionBudget | null; actor: string },
  addEvent: AddEvent,
): Promise<void> {
  const { sessionId, budget, actor } = order;
  const changed = await sql.run('update sessions set budget = ? where id = ?', [
    budget === null ? null : JSON.stringify(budget),
    sessionId,
  ]);
  if (changed === 1) await addEvent({ sessionId, runId: null, kind: 'budget.set', actor, data: { budget } });
}

export async function runsWithSession(sql: Sql, ids: readonly string[]): Promise<readonly SessionWithRun[]> {
  if (ids.length === 0) return [];
  const { places, values } = slotsFor(ids);
  return (await sql.all(`${SELECT_RUN_WITH_SESSION} where r.id in (${places})`, values)).map(
    sessionWithRunOf,
  );
}

/** Whoever is first to write the mark adds the event: of several that judge at once, one tells. */
export async function noteBudget(sql: Sql, { key, event }: BudgetNote, addEvent: AddEvent): Promise<boolean> {
  const marked = await sql.run(
    'insert into budget_marks (key, session_id, at) values (?, ?, ?) on conflict (key) do nothing',
    [key, event.sessionId, await sql.nowMs()],
  );
  if (marked === 1) await addEvent(event);
  return marked === 1;
}

/** Nothing is told when it is over, or was so already. */
export async function setOverBudget(
  sql: Sql,
  { runId, what, event }: OverBudgetOrder,
  addEvent: AddEvent,
): Promise<boolean> {
  const isOther = what === null ? 'over_budget is not null' : '(over_budget is null or over_budget <> ?)';
  const changed = await sql.run(
    `update runs set over_budget = ?, over_budget_at = ? where id = ? and state <> 'ended' and ${isOther}`,
    what === null ? [null, null, runId] : [what, await sql.nowMs(), runId, what],
  );
  if (changed === 1) await addEvent(event);
  return changed === 1;
}

/** Of these, those under which something was noted. */
export async function notedBudgets(sql: Sql, keys: readonly string[]): Promise<ReadonlySet<string>> {
  const { places, values } = slotsFor(keys);
  const rows = await sql.all(`select key from budget_marks where key in (${places})`, values);
  return new Set(rows.map((row) => String(row['key'])));
}

/** Never less than before: of two that look at once, the later write may be the earlier look. */
export async function recordAwake(sql: Sql, runs: readonly AwakeRun[]): Promise<void> {
  for (const { runId, awakeMs } of runs) {
    await sql.run(
      `update runs set awake_ms = ? where id = ? and state <> 'ended' and (awake_ms is null or awake_ms < ?)`,
      [awakeMs, runId, awakeMs],
    );
  }
}
