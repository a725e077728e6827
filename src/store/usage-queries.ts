/** What the ledger answers. */
import type { Tokens, UsagePosition } from '../lifecycle/usage.ts';
import { SELECT_RUN_WITH_SESSION, sessionWithRunOf } from './rows.ts';
import { slotsFor } from './sql.ts';
import type { SqlDriver } from './sql.ts';
import type { SessionWithRun, UsageFile, UsageQuery, UsageSum } from './store.ts';
import { COLUMNS, positionOf, sumOf, tokensOf } from './usage-rows.ts';

export function conversationsOf(driver: SqlDriver, sessionId: string) {
  return driver.read(async (sql) =>
    (
      await sql.all('select harness, native_id from native_sessions where session_id = ? order by bound_at', [
        sessionId,
      ])
    ).map((row) => ({ harness: String(row['harness']), nativeId: String(row['native_id']) })),
  );
}

export function usagePositions(
  driver: SqlDriver,
  sessionId: string,
): Promise<readonly (UsageFile & { position: UsagePosition })[]> {
  return driver.read(async (sql) =>
    (
      await sql.all(
        'select native_id, path, identity, offset_bytes, state from usage_files where session_id = ?',
        [sessionId],
      )
    ).map((row) => ({
      nativeId: String(row['native_id']),
      path: String(row['path']),
      position: positionOf(row),
    })),
  );
}

const NAME_OF: Readonly<Record<UsageQuery['by'], string>> = {
  run: 'u.run_id',
  session: 'u.session_id',
  model: 'u.model',
  day: 'u.day',
  harness: 's.harness',
};

/** Since a moment every answer counts by its own time; otherwise the sums are enough. */
export function usageOf(driver: SqlDriver, query: UsageQuery): Promise<readonly UsageSum[]> {
  const { by, sessionId, runId, sinceMs } = query;
  const conditions: [text: string, value: string | number][] = [
    ...(sessionId === undefined ? [] : [['u.session_id = ?', sessionId] as [string, string]]),
    ...(runId === undefined
      ? []
      : [
          ['u.run_id = ?', runId] as [string, string],
          // The sums are in the order of sessions.
          ['u.session_id = (select session_id from runs where id = ?)', runId] as [string, string],
        ]),
    ...(sinceMs === undefined ? [] : [['u.at >= ?', sinceMs] as [string, number]]),
  ];
  const table = sinceMs === undefined ? 'usage_sums' : 'usage';
  const where = conditions.length === 0 ? '' : `where ${conditions.map(([text]) => text).join(' and ')}`;
  const sums = COLUMNS.map((column) => `${sumOf(`u.${column}`)} as ${column}`).join(', ');
  const late = sumOf('u.late * (u.input + u.output + u.cache_read + u.cache_write)');
  return driver.read(async (sql) =>
    (
      await sql.all(
        `select ${NAME_OF[by]} as name, ${sums}, ${late} as late from ${table} u
         join sessions s on s.id = u.session_id ${where} group by ${NAME_OF[by]} order by ${NAME_OF[by]}`,
        conditions.map(([, value]) => value),
      )
    ).map((row) => ({ name: String(row['name']), ...tokensOf(row), late: Number(row['late']) })),
  );
}

export function usageTotals(
  driver: SqlDriver,
  sessionIds: readonly string[],
): Promise<ReadonlyMap<string, Tokens>> {
  if (sessionIds.length === 0) return Promise.resolve(new Map());
  const { places, values } = slotsFor(sessionIds);
  return totals(driver, 'session_id', `session_id in (${places})`, values);
}

export function usageOfRuns(
  driver: SqlDriver,
  runs: readonly { readonly id: string; readonly sessionId: string }[],
): Promise<ReadonlyMap<string, Tokens>> {
  if (runs.length === 0) return Promise.resolve(new Map());
  const ids = slotsFor(runs.map(({ id }) => id));
  // The sums are in the order of sessions.
  const sessions = slotsFor(runs.map(({ sessionId }) => sessionId));
  return totals(driver, 'run_id', `session_id in (${sessions.places}) and run_id in (${ids.places})`, [
    ...sessions.values,
    ...ids.values,
  ]);
}

function totals(
  driver: SqlDriver,
  by: 'session_id' | 'run_id',
  where: string,
  values: readonly (string | number)[],
): Promise<ReadonlyMap<string, Tokens>> {
  const sums = COLUMNS.map((column) => `${sumOf(column)} as ${column}`).join(', ');
  return driver.read(async (sql) => {
    const rows = await sql.all(`select ${by}, ${sums} from usage_sums where ${where} group by ${by}`, values);
    return new Map(rows.map((row) => [String(row[by]), tokensOf(row)]));
  });
}

export function unsettledRuns(
  driver: SqlDriver,
  sinceMs: number,
  limit: number,
): Promise<readonly SessionWithRun[]> {
  return driver.read(async (sql) =>
    (
      await sql.all(
        `${SELECT_RUN_WITH_SESSION} where r.state = 'ended' and r.settled_at is null and r.ended_at >= ?
         and s.harness <> 'command' order by r.ended_at limit ?`,
        [sinceMs, limit],
      )
    ).map(sessionWithRunOf),
  );
}
