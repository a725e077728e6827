/** What was spent, added up by run, model and day: so that a list need not read every answer of what it shows. */
import { difference, NO_TOKENS, sum, unwantedAfterMs } from '../lifecycle/usage.ts';
import type { Spender, Tokens } from '../lifecycle/usage.ts';
import { runOf, SELECT_RUN } from './rows.ts';
import type { Sql } from './sql.ts';
import { COLUMNS, tokensOf, upsert } from './usage-rows.ts';

interface SumKey extends Spender {
  readonly model: string;
  readonly day: string;
}

interface Spent {
  readonly key: SumKey;
  readonly tokens: Tokens;
}

export async function addToSums(sql: Sql, sessionId: string, spent: readonly Spent[]): Promise<void> {
  const sums = new Map<string, Spent>();
  for (const { key, tokens } of spent) {
    const name = `${key.runId} ${key.day} ${key.isLate} ${key.model}`;
    sums.set(name, { key, tokens: sum(sums.get(name)?.tokens ?? NO_TOKENS, tokens) });
  }
  await add(sql, sessionId, [...sums.values()]);
}

function add(sql: Sql, sessionId: string, spent: readonly Spent[]): Promise<void> {
  return upsert(sql, {
    table: 'usage_sums',
    key: ['session_id', 'run_id', 'model', 'day', 'late'],
    columns: [],
    onConflict: (column) => `usage_sums.${column} + excluded.${column}`,
    rows: spent.map(({ key: { runId, model, day, isLate }, tokens }) => ({
      values: [sessionId, runId, model, day, Number(isLate)],
      tokens,
    })),
  });
}

export async function settleUsage(sql: Sql, runId: string): Promise<void> {
  const [row] = await sql.all(`${SELECT_RUN} where id = ?`, [runId]);
  if (row === undefined) return;
  const run = runOf(row);
  await sql.all(`select id from sessions where id = ?${sql.forUpdate}`, [run.sessionId]);
  await sql.run(`update runs set settled_at = ? where id = ? and state = 'ended'`, [
    await sql.nowMs(),
    runId,
  ]);
  const afterMs = unwantedAfterMs(run);
  if (afterMs === Number.POSITIVE_INFINITY) return;
  const rows = await sql.all(
    `select message, model, day, ${COLUMNS.join(', ')} from usage where run_id = ? and at > ? and late = 0`,
    [runId, afterMs],
  );
  for (const late of rows) {
    const key = { runId, model: String(late['model']), day: String(late['day']) };
    const tokens = tokensOf(late);
    await sql.run('update usage set late = 1 where session_id = ? and message = ?', [
      run.sessionId,
      late['message'] ?? null,
    ]);
    await add(sql, run.sessionId, [
      { key: { ...key, isLate: false }, tokens: difference(NO_TOKENS, tokens) },
      { key: { ...key, isLate: true }, tokens },
    ]);
  }
}
