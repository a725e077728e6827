/** Budgets as they are stored: what a session may spend, what was spent by whom, and what a person was told of it. */
import type { SessionBudget } from '../lifecycle/session-budget.ts';
import type { Run } from '../lifecycle/run.ts';
import { runOf, SELECT_RUN, SELECT_RUN_WITH_SESSION, sessionWithRunOf } from './rows.ts';
import { slotsFor } from './sql.ts';
import type { Row, Sql } from './sql.ts';
import type { SpentOnDay } from '../lifecycle/price.ts';
import type { BudgetNote, OverBudgetOrder, SessionWithRun, StoredEvent } from './store.ts';
import { COLUMNS, sumOf, tokensOf } from './usage-rows.ts';

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

/** Live, or ended since. */
export async function runsSince(sql: Sql, sinceMs: number): Promise<readonly Run[]> {
  const rows = await sql.all(
    `${SELECT_RUN} where state <> 'ended' union all ${SELECT_RUN} where state = 'ended' and ended_at >= ?`,
    [sinceMs],
  );
  return rows.map(runOf);
}

const SUMS = COLUMNS.map((column) => `${sumOf(column)} as ${column}`).join(', ');

export async function spentByRuns(sql: Sql, runIds: readonly string[]): Promise<readonly SpentOnDay[]> {
  if (runIds.length === 0) return [];
  const { places, values } = slotsFor(runIds);
  const rows = await sql.all(
    // The sums are in the order of sessions.
    `select model, day, ${SUMS} from usage_sums
     where session_id in (select session_id from runs where id in (${places})) and run_id in (${places})
     group by model, day order by model, day`,
    [...values, ...values],
  );
  return rows.map(modelSumOf);
}

export async function spentOnDay(sql: Sql, day: string): Promise<readonly SpentOnDay[]> {
  const rows = await sql.all(
    `select model, day, ${SUMS} from usage_sums where day = ? group by model, day order by model`,
    [day],
  );
  return rows.map(modelSumOf);
}

function modelSumOf(row: Row): SpentOnDay {
  return { model: String(row['model']), day: String(row['day']), ...tokensOf(row) };
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

/** Never less than before: of two that look at once, the later write may be the earlier look. */
export async function recordAwake(sql: Sql, runId: string, awakeMs: number): Promise<void> {
  await sql.run(
    `update runs set awake_ms = ? where id = ? and state <> 'ended' and (awake_ms is null or awake_ms < ?)`,
    [awakeMs, runId, awakeMs],
  );
}
