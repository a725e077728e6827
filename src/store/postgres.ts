/**
 * PostgreSQL: the store of a fleet. A connection may break at any moment, also between a commit and its answer:
 * every unit of work can be repeated, because its op tells whether it already happened.
 */
import pg from 'pg';
import { ReeveError } from '../api/errors.ts';
import { migrationsFrom, SCHEMA_VERSION } from './migrations.ts';
import { eventOrderIn } from './postgres-event-order.ts';
import { wasCommitted } from './sql.ts';
import type { Row, Sql, SqlDriver, SqlValue } from './sql.ts';

const SCHEMA = 'reeve';
/** A CLI command needs one connection, a daemon a few. */
const MAX_CONNECTIONS = 4;
const CONNECT_TIMEOUT_MS = 5_000;
/** A statement takes a millisecond, or waits its turn behind others; beyond this the network swallowed it. */
const QUERY_TIMEOUT_MS = 5_000;
/**
 * The server ends a transaction whose client vanished, which would otherwise hold its rows, and hold up whoever reads
 * the log, until TCP gives up after hours. Shorter than the query timeout, so that those who wait get their turn.
 */
const IDLE_IN_TRANSACTION_MS = 3_000;
/** Bounds how long a person waits for a server that cannot be reached: so many attempts, and none begun later. */
const ATTEMPTS = 5;
const GIVE_UP_AFTER_MS = 10_000;
const RETRY_PAUSE_MS = 200;
/** The number of an advisory lock: any that no other program in the database uses. */
const MIGRATION_LOCK = 7_233_391;
const EVENT_ORDER = eventOrderIn(SCHEMA);
/** Where it is said that something was written. */
const CHANNEL = 'reeve_written';
const LISTEN_PAUSE_MS = 1_000;

export async function openPostgres(url: string): Promise<SqlDriver> {
  const pool = new pg.Pool({
    connectionString: url,
    max: MAX_CONNECTIONS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    options: `-c search_path=${SCHEMA} -c idle_in_transaction_session_timeout=${IDLE_IN_TRANSACTION_MS}`,
    application_name: 'reeve',
    // An idle pool must not keep a command from exiting.
    allowExitOnIdle: true,
  });
  // A broken idle connection is replaced by the pool; without a listener it would end the process.
  pool.on('error', () => {});
  const place = placeOf(url);
  const driver: SqlDriver = {
    engine: 'postgres',
    place,
    read: (work) => retried(place, () => withConnection(pool, (client) => work(sqlOf(client)))),
    write: (op, work) => writeOnce(pool, place, op, work),
    watch: (listener) => listen(url, listener),
    close: () => pool.end(),
  };
  try {
    await retried(place, () => withConnection(pool, (client) => migrate(client, place)));
  } catch (error) {
    await pool.end();
    throw error;
  }
  return driver;
}

async function writeOnce<T>(
  pool: pg.Pool,
  place: string,
  op: string,
  work: (sql: Sql) => Promise<T>,
): Promise<T> {
  let unanswered: { result: T } | undefined;
  let hasEvents = false;
  const answer = await retried(place, () =>
    withConnection(pool, async (client) => {
      const sql = sqlOf(client);
      await client.query('begin');
      try {
        if (unanswered !== undefined) {
          // The lost attempt may be committing at this moment. It holds this lock until its outcome can be seen.
          await sql.lock(op);
          if (await wasCommitted(sql, op)) {
            await client.query('rollback');
            return unanswered.result;
          }
        }
        unanswered = undefined;
        const result = await work(sql);
        unanswered = { result };
        hasEvents = sql.hasEvents();
        await client.query('commit');
        return result;
      } catch (error) {
        if (!isConnectionLoss(error)) await client.query('rollback');
        throw error;
      }
    }),
  );
  // Inside the transaction it would hold a lock of the whole server over the commit, one writer after another. Whoever
  // listens looks now and then anyway, so that a lost word costs a moment.
  if (hasEvents) await pool.query(`notify ${CHANNEL}`).catch(ignore);
  return answer;
}

async function withConnection<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  client.on('error', ignore);
  try {
    return await work(client);
  } catch (error) {
    if (isConnectionLoss(error)) broken = error instanceof Error ? error : new Error(String(error));
    throw error;
  } finally {
    client.off('error', ignore);
    client.release(broken);
  }
}

async function retried<T>(place: string, work: () => Promise<T>): Promise<T> {
  const giveUpAtMs = performance.now() + GIVE_UP_AFTER_MS;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isConnectionLoss(error) && !isSerialisation(error)) throw explained(place, error);
      if (attempt === ATTEMPTS || performance.now() > giveUpAtMs) throw unavailable(place, error);
      await new Promise((resolve) => setTimeout(resolve, RETRY_PAUSE_MS));
    }
  }
}

interface UnitOfWork extends Sql {
  /** Whether it has added to the log. */
  hasEvents(): boolean;
}

function sqlOf(client: pg.PoolClient): UnitOfWork {
  let isAnnounced = false;
  const query = async (text: string, values: readonly SqlValue[] = []) =>
    client.query<Row>({ text: numbered(text), values: [...values], types: TYPES });
  return {
    all: async (text, values) => (await query(text, values)).rows,
    run: async (text, values) => (await query(text, values)).rowCount ?? 0,
    nowMs: async () => {
      const { rows } = await query('select (extract(epoch from clock_timestamp()) * 1000)::bigint as now');
      return Number(rows[0]?.['now']);
    },
    system: () => systemOf(query),
    forUpdate: ' for update',
    lock: async (name) => {
      await query('select pg_advisory_xact_lock(hashtextextended(?, 0))', [name]);
    },
    announceEvents: async (op) => {
      if (!isAnnounced) await query(EVENT_ORDER.announce, [op]);
      isAnnounced = true;
    },
    settledSeq: EVENT_ORDER.settled,
    hasEvents: () => isAnnounced,
  };
}

/**
 * The cluster and its timeline, which changes when a standby is promoted or a backup restored. A standby has none of its
 * own yet; a server that does not tell this user is not judged by it.
 */
async function systemOf(query: (text: string) => Promise<{ rows: readonly Row[] }>): Promise<string> {
  try {
    const { rows } = await query(
      `select case when pg_is_in_recovery() then '' else
         (select system_identifier::text from pg_control_system()) || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
       end as system`,
    );
    return String(rows[0]?.['system'] ?? '');
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === NO_RIGHT) return '';
    throw error;
  }
}

const NO_RIGHT = '42501';

/** A connection of its own, for it must stay. Lost, it is made anew; meanwhile something may have been written. */
async function listen(url: string, listener: () => void): Promise<() => void> {
  let isOver = false;
  let subscription = await subscribe(url, listener);
  const keep = async () => {
    for (;;) {
      await subscription.lost;
      if (isOver) return;
      await new Promise((resolve) => setTimeout(resolve, LISTEN_PAUSE_MS).unref());
      const next = await subscribe(url, listener).catch(() => null);
      if (next === null) continue;
      subscription = next;
      if (isOver) void next.end();
      else listener();
    }
  };
  void keep();
  return () => {
    isOver = true;
    void subscription.end();
  };
}

async function subscribe(url: string, listener: () => void) {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    application_name: 'reeve watching',
    keepAlive: true,
  });
  const lost = new Promise<void>((resolve) => client.once('end', () => resolve()));
  client.on('error', () => {});
  client.on('notification', listener);
  await client.connect();
  await client.query(`listen ${CHANNEL}`);
  return { lost, end: () => client.end() };
}

async function migrate(client: pg.PoolClient, place: string): Promise<void> {
  await client.query('begin');
  try {
    await client.query('select pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    await client.query(`create schema if not exists ${SCHEMA}`);
    await client.query('create table if not exists schema_version (version integer not null)');
    const { rows } = await client.query<{ version: number }>(
      'select max(version) as version from schema_version',
    );
    const version = rows[0]?.version ?? 0;
    if (version > SCHEMA_VERSION) throw newer(place, version);
    for (const statement of migrationsFrom(version, 'postgres')) await client.query(statement);
    if (version < SCHEMA_VERSION)
      await client.query('insert into schema_version values ($1)', [SCHEMA_VERSION]);
    await client.query('commit');
  } catch (error) {
    if (!isConnectionLoss(error)) await client.query('rollback');
    throw error;
  }
}

const numberedTexts = new Map<string, string>();

/** `?` to `$1`, `$2`, …; no statement of the store has a question mark in a literal. */
function numbered(text: string): string {
  const known = numberedTexts.get(text);
  if (known !== undefined) return known;
  let count = 0;
  const result = text.replaceAll('?', () => `$${(count += 1)}`);
  numberedTexts.set(text, result);
  return result;
}

/** Times and event numbers fit a double for 285,000 years; as strings they would differ from the other engine. */
const TYPES = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format ?? 'text'),
};

/**
 * Class 08 is a lost connection, 57P01 to 57P03 a server going down or coming up, 53300 one with no room, and 25P03 a
 * transaction that the server ended because nothing was heard of it.
 */
const LOSS_STATES = /^(08|57P0[123]$|53300$|25P03$)/;
const LOSS_ERRNOS = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'ENOENT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);
const LOSS_MESSAGES =
  /Connection terminated|timeout exceeded when trying to connect|not queryable|Query read timeout/;

function isConnectionLoss(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? String(error.code) : '';
  if (LOSS_STATES.test(code) || LOSS_ERRNOS.has(code)) return true;
  if (error instanceof AggregateError) return error.errors.some(isConnectionLoss);
  return LOSS_MESSAGES.test(error.message);
}

function isSerialisation(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === '40001' || error.code === '40P01');
}

function unavailable(place: string, cause: unknown): ReeveError {
  return new ReeveError('store_unavailable', `The store at ${place} does not answer.`, {
    hint: 'Check REEVE_STORE and that PostgreSQL is running, then try again.',
    cause,
  });
}

const DISK_FULL = '53100';
/** Not let in (28), no such database (3D), no right (42501), only to be read (25006), out of resources (53). */
const REFUSAL_STATES = /^(28|3D|42501$|25006$|53)/;

/** What the server itself refuses, trying again would not change. */
function explained(place: string, error: unknown): unknown {
  if (!(error instanceof pg.DatabaseError) || error.code === undefined) return error;
  if (error.code === DISK_FULL) {
    return new ReeveError('store_full', `The disk of the store at ${place} is full; nothing was changed.`, {
      hint: 'Free some space there and try again.',
      cause: error,
    });
  }
  if (!REFUSAL_STATES.test(error.code)) return error;
  return new ReeveError('store_unavailable', `The store at ${place} refused: ${error.message}.`, {
    hint: 'Check REEVE_STORE: the database must exist, and this user must be allowed to write to it.',
    cause: error,
  });
}

function newer(place: string, version: number): ReeveError {
  return new ReeveError(
    'store_newer',
    `The store at ${place} was written by a newer Reeve (schema ${version}, this one knows ${SCHEMA_VERSION}).`,
    { hint: 'Update this Reeve; nothing was changed.' },
  );
}

/** The address without user and password. */
function placeOf(url: string): string {
  try {
    const parsed = new URL(url);
    return `postgres://${parsed.host}${parsed.pathname}`;
  } catch {
    throw new ReeveError('usage', 'REEVE_STORE is not a PostgreSQL address.', {
      hint: 'It looks like postgres://user:password@host:5432/database.',
    });
  }
}

function ignore(): void {}
