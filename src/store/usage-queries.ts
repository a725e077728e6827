/** What the ledger answers. */
import type { Tokens, UsagePosition } from '../lifecycle/usage.ts';
import { SELECT_RUN_WITH_SESSION, sessionWithRunOf } from './rows.ts';
import { slotsFor } from './sql.ts';
import type { Row, SqlDriver } from './sql.ts';
import type {
  KnownConversation,
  SessionWithRun,
  UsageFile,
  UsagePart,
  UsageQuery,
  UsageSum,
} from './store.ts';
import { COLUMNS, positionOf, sumOf, tokensOf } from './usage-rows.ts';

export async function ledgersOf(
  driver: SqlDriver,
  sessionIds: readonly string[],
): Promise<ReadonlyMap<string, readonly KnownConversation[]>> {
  const found = new Map<string, (KnownConversation & { readonly paths: string[] })[]>();
  if (sessionIds.length === 0) return found;
  const { places, values } = slotsFor(sessionIds);
  const rows = await driver.read((sql) =>
    sql.all(
      `select n.session_id, n.harness, n.native_id, f.path from native_sessions n
       left join usage_files f on f.session_id = n.session_id and f.native_id = n.native_id
       where n.session_id in (${places}) order by n.session_id, n.bound_at, n.harness, n.native_id, f.path`,
      values,
    ),
  );
  for (const row of rows) {
    const { session_id: sessionId, native_id: nativeId, harness } = row;
    const paths = row['path'] === null ? [] : [String(row['path'])];
    const conversations = found.get(String(sessionId)) ?? [];
    found.set(String(sessionId), conversations);
    // The files of one stand behind each other.
    const last = conversations.at(-1);
    if (last !== undefined && last.harness === harness && last.nativeId === nativeId)
      last.paths.push(...paths);
    else conversations.push({ harness: String(harness), nativeId: String(nativeId), paths });
  }
  return found;
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

export async function usageOf(driver: SqlDriver, query: UsageQuery): Promise<readonly UsageSum[]> {
  return (await sumsOf(driver, query, [])).map(sumFrom);
}

export async function usageParts(driver: SqlDriver, query: UsageQuery): Promise<readonly UsagePart[]> {
  const isOfOne = query.by === 'run' || query.by === 'session';
  const rows = await sumsOf(driver, query, ['u.model', 'u.day', ...(isOfOne ? ['s.name as session'] : [])]);
  return rows.map((row) => ({
    ...sumFrom(row),
    session: isOfOne ? String(row['session']) : null,
    model: String(row['model']),
    day: String(row['day']),
  }));
}

function sumFrom(row: Row): UsageSum {
  return { name: String(row['name']), ...tokensOf(row), late: Number(row['late']) };
}

async function sumsOf(
  driver: SqlDriver,
  query: UsageQuery,
  besides: readonly string[],
): Promise<readonly Row[]> {
  const { table, where, values } = rangeOf(query);
  const sums = COLUMNS.map((column) => `${sumOf(`u.${column}`)} as ${column}`).join(', ');
  const late = sumOf('u.late * (u.input + u.output + u.cache_read + u.cache_write)');
  const name = NAME_OF[query.by];
  const keys = [name, ...besides.map((each) => each.replace(/ as .*/, ''))].join(', ');
  return driver.read((sql) =>
    sql.all(
      `select ${[`${name} as name`, ...besides, sums].join(', ')}, ${late} as late from ${table} u
       join sessions s on s.id = u.session_id ${where} group by ${keys} order by ${keys}`,
      values,
    ),
  );
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** Since a moment within a day every answer counts by its own time; otherwise the sums are enough. */
function rangeOf({ sessionId, sessionIds, runId, sinceMs }: UsageQuery) {
  const conditions: { text: string; values: readonly (string | number)[] }[] = [];
  const add = (text: string, ...values: readonly (string | number)[]) => conditions.push({ text, values });
  if (sessionId !== undefined) add('u.session_id = ?', sessionId);
  if (sessionIds !== undefined) {
    const { places, values } = slotsFor(sessionIds);
    add(`u.session_id in (${places})`, ...values);
  }
  // The sums are in the order of sessions.
  if (runId !== undefined)
    add('u.run_id = ? and u.session_id = (select session_id from runs where id = ?)', runId, runId);
  const isWholeDays = sinceMs === undefined || sinceMs % DAY_MS === 0;
  if (sinceMs !== undefined) {
    // Days of the year 10000 and later, which a transcript may say, begin with a plus sign.
    if (isWholeDays) add(`(u.day >= ? or substr(u.day, 1, 1) = '+')`, dayFrom(sinceMs));
    else add('u.at >= ?', sinceMs);
  }
  return {
    table: isWholeDays ? 'usage_sums' : 'usage',
    where: conditions.length === 0 ? '' : `where ${conditions.map(({ text }) => text).join(' and ')}`,
    values: conditions.flatMap(({ values }) => values),
  };
}

function dayFrom(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
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
  sessionIds?: readonly string[],
): Promise<readonly SessionWithRun[]> {
  const { places, values } = slotsFor(sessionIds ?? []);
  const ofThese = sessionIds === undefined ? '' : ` and r.session_id in (${places})`;
  return driver.read(async (sql) =>
    (
      await sql.all(
        `${SELECT_RUN_WITH_SESSION} where r.state = 'ended' and r.settled_at is null and r.ended_at >= ?
         and s.harness <> 'command'${ofThese} order by r.ended_at limit ?`,
        [sinceMs, ...(sessionIds === undefined ? [] : values), limit],
      )
    ).map(sessionWithRunOf),
  );
}
