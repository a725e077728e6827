/** Runs that were started by runs, as they are stored: who started whom, and who has to be dealt with at whose end. */
import type { ClaimedRun } from '../lifecycle/run.ts';
import { SELECT_RUN_WITH_SESSION, sessionWithRunOf } from './rows.ts';
import { slotsFor } from './sql.ts';
import type { Sql } from './sql.ts';
import type { SessionWithRun, StoredEvent } from './store.ts';

export async function startedBy(sql: Sql, runIds: readonly string[]): Promise<readonly SessionWithRun[]> {
  if (runIds.length === 0) return [];
  const { places, values } = slotsFor(runIds);
  return select(sql, `r.parent_run_id in (${places})`, values);
}

export async function below(
  sql: Sql,
  runIds: readonly string[],
  which: 'all' | 'live',
): Promise<readonly SessionWithRun[]> {
  if (runIds.length === 0) return [];
  const { places, values } = slotsFor(runIds);
  const live = which === 'live' ? ` and r.state <> 'ended'` : '';
  return select(
    sql,
    `r.id in (
      with recursive beneath (id) as (
        select id from runs where parent_run_id in (${places})
        union select runs.id from runs join beneath on runs.parent_run_id = beneath.id
      ) select id from beneath)${live}`,
    values,
  );
}

export async function ancestorsOf(sql: Sql, runId: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (let id: string | null = runId; id !== null;) {
    const [row] = await sql.all('select parent_run_id from runs where id = ?', [id]);
    const parent = row?.['parent_run_id'] ?? null;
    // A ring cannot come about, but a damaged record must not hang whoever reads it.
    id = parent === null || found.includes(String(parent)) ? null : String(parent);
    if (id !== null) found.push(id);
  }
  return found;
}

export function undealtChildren(sql: Sql, runId: string): Promise<readonly SessionWithRun[]> {
  return select(sql, `r.owner_run_id = ? and r.state <> 'ended' and r.adopt_until is null`, [runId]);
}

export async function overdueChildren(sql: Sql): Promise<readonly SessionWithRun[]> {
  return select(sql, `r.owner_run_id is not null and r.state <> 'ended' and r.adopt_until <= ?`, [
    await sql.nowMs(),
  ]);
}

/** A claim is the one moment at which a session has a successor: whoever waits for one becomes its child, or nobody's. */
export async function adoptWaiting(
  sql: Sql,
  successor: ClaimedRun,
  atMs: number,
  addEvent: (event: Omit<StoredEvent, 'seq' | 'atMs'>) => Promise<void>,
): Promise<void> {
  const waiting = await select(
    sql,
    `r.owner_run_id is not null and r.state <> 'ended' and r.adopt_until > ?
     and r.owner_run_id in (select id from runs where session_id = ?)`,
    [atMs, successor.sessionId],
  );
  for (const { run } of waiting) {
    // Still waiting: what ended it in between has won.
    const changed = await sql.run(
      `update runs set owner_run_id = ?, adopt_until = null where id = ? and state <> 'ended' and adopt_until is not null`,
      [successor.id, run.id],
    );
    if (changed !== 1) continue;
    await addEvent({
      sessionId: run.sessionId,
      runId: run.id,
      kind: 'child.adopted',
      actor: `run ${successor.id}`,
      data: { owner: successor.id, before: run.parent?.ownerId ?? null },
    });
  }
}

async function select(
  sql: Sql,
  where: string,
  values: readonly (string | number)[],
): Promise<readonly SessionWithRun[]> {
  const rows = await sql.all(`${SELECT_RUN_WITH_SESSION} where ${where} order by r.claimed_at, r.id`, values);
  return rows.map(sessionWithRunOf);
}
