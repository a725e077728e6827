/** All that budgets go by, in one read: whoever holds many runs to their budgets asks once. */
import type { SpentOnDay } from '../lifecycle/price.ts';
import { SELECT_RUN_WITH_SESSION, sessionWithRunOf } from './rows.ts';
import { slotsFor } from './sql.ts';
import type { Row, Sql, SqlValue } from './sql.ts';
import type { SessionWithRun } from './store.ts';
import { COLUMNS, sumOf, tokensOf } from './usage-rows.ts';

export interface BudgetQuery {
  readonly runIds: readonly string[];
  readonly sessionIds: readonly string[];
  /** In UTC; null when it does not matter what was spent on it. */
  readonly day: string | null;
}

export interface BudgetFacts {
  /**
   * The runs, all above them, all runs of the sessions of these and of those asked for, and all below any of them. The
   * runs of a session are in the order of their epochs.
   */
  readonly family: readonly SessionWithRun[];
  /** What each of the family has spent, and each that is live on the day, by model and day, as prices go. */
  readonly spentByRun: ReadonlyMap<string, readonly SpentOnDay[]>;
  readonly day: DayFacts | null;
}

export interface DayFacts {
  readonly day: string;
  /** Live, or ended on the day. */
  readonly runs: readonly SessionWithRun[];
  readonly spent: readonly SpentOnDay[];
}

export async function budgetFacts(sql: Sql, query: BudgetQuery): Promise<BudgetFacts> {
  const family = familyOf(query);
  const inFamily = `r.id in (${family.ids})`;
  const runs = await runsWhere(sql, inFamily, family.values);
  return {
    family: runs.toSorted((one, other) => one.run.epoch - other.run.epoch),
    spentByRun: await spentByRun(sql, query.day === null ? [inFamily] : [inFamily, LIVE], family.values),
    day: query.day === null ? null : await dayFacts(sql, query.day),
  };
}

const LIVE = `r.state <> 'ended'`;

async function dayFacts(sql: Sql, day: string): Promise<DayFacts> {
  const live = await runsWhere(sql, LIVE);
  const ended = await runsWhere(sql, `r.state = 'ended' and r.ended_at >= ?`, [Date.parse(day)]);
  const sums = await sql.all(
    `select model, day, ${SUMS} from usage_sums where day = ? group by model, day order by model`,
    [day],
  );
  return { day, runs: [...live, ...ended], spent: sums.map(modelSumOf) };
}

async function runsWhere(
  sql: Sql,
  where: string,
  values: readonly SqlValue[] = [],
): Promise<readonly SessionWithRun[]> {
  return (await sql.all(`${SELECT_RUN_WITH_SESSION} where ${where}`, values)).map(sessionWithRunOf);
}

/** A subquery, and what stands in its slots. */
function familyOf({ runIds, sessionIds }: BudgetQuery): { ids: string; values: readonly string[] } {
  const [runs, sessions] = [slotsFor(runIds), slotsFor(sessionIds)];
  return {
    ids: `with recursive
      above (id, parent) as (
        select id, parent_run_id from runs where id in (${runs.places})
        union select runs.id, runs.parent_run_id from runs join above on runs.id = above.parent),
      held (id) as (
        select session_id from runs where id in (select id from above)
        union select id from sessions where id in (${sessions.places})),
      family (id) as (
        select id from runs where session_id in (select id from held)
        union select runs.id from runs join family on runs.parent_run_id = family.id)
      select id from family`,
    values: [...runs.values, ...sessions.values],
  };
}

const SUMS = COLUMNS.map((column) => `${sumOf(column)} as ${column}`).join(', ');

async function spentByRun(
  sql: Sql,
  wheres: readonly string[],
  values: readonly SqlValue[],
): Promise<ReadonlyMap<string, readonly SpentOnDay[]>> {
  const whose = wheres.map((where) => `select r.session_id, r.id from runs r where ${where}`).join(' union ');
  const rows = await sql.all(
    // The sums are in the order of sessions.
    `select run_id, model, day, ${SUMS} from usage_sums where (session_id, run_id) in (${whose})
     group by run_id, model, day order by run_id, model, day`,
    values,
  );
  const found = new Map<string, SpentOnDay[]>();
  for (const row of rows) {
    const id = String(row['run_id']);
    found.set(id, [...(found.get(id) ?? []), modelSumOf(row)]);
  }
  return found;
}

function modelSumOf(row: Row): SpentOnDay {
  return { model: String(row['model']), day: String(row['day']), ...tokensOf(row) };
}
