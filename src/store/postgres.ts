/**
 * PostgreSQL: the store of a fleet. A connection may break at any moment, also between a commit and its answer:
 * every unit of work can be repeated, because its op tells whether it already happened.
 */
import pg from 'pg';
import type { Patience } from './patience.ts';
import { connectPostgres } from './postgres-connect.ts';
import {
  explained,
  isConnectionLoss,
  isSerialisation,
  isWorthWaiting,
  reasonOf,
  unavailable,
  Unreached,
} from './postgres-errors.ts';
import { eventOrderIn } from './postgres-event-order.ts';
import { planFrom } from './postgres-parameters.ts';
import type { Environment } from './postgres-target.ts';
import { PostgresPool } from './postgres-pool.ts';
import { inSchema, migrate, SCHEMA, versionToMigrate } from './postgres-schema.ts';
import type { TransactionKind } from './postgres-schema.ts';
import { CHANNEL, watchPostgres } from './postgres-watch.ts';
import { wasCommitted } from './sql.ts';
import type { Migrating, Row, Sql, SqlDriver, SqlValue } from './sql.ts';

/** A CLI command needs one connection, a daemon a few. */
const MAX_CONNECTIONS = 4;
/** A statement takes a millisecond, or waits its turn behind others; beyond this the network swallowed it. */
const QUERY_TIMEOUT_MS = 5_000;
/** How often work is begun anew whose connection was lost in the middle, or that stood in another's way. */
const ATTEMPTS = 5;
const RETRY_PAUSE_MS = 200;
/** A server that is not there is knocked at less and less often, so that thousands of clients let it come up. */
const LONGEST_PAUSE_MS = 2_000;
/** Enough for a restart; whoever can wait for a failover says so. */
const PATIENCE_MS = 10_000;
/** A person is told after this time that there is something to wait for, and then now and again. */
const TELL_AFTER_MS = 1_000;
const TELL_EVERY_MS = 10_000;
const EVENT_ORDER = eventOrderIn(SCHEMA);
/** For the word to those who listen, which they can do without. */
const NOTIFY_WITHIN_MS = 1_000;

export interface PostgresOptions {
  readonly environment?: Environment;
  readonly patience?: Patience;
  readonly migrating?: Migrating;
}

export async function openPostgres(address: string, options: PostgresOptions = {}): Promise<SqlDriver> {
  const plan = planFrom(address, options.environment ?? process.env);
  const { place } = plan;
  const connect = (applicationName: string) => () =>
    connectPostgres(plan, { applicationName, queryTimeoutMs: QUERY_TIMEOUT_MS });
  const pool = new PostgresPool(connect('reeve'), MAX_CONNECTIONS);
  const patience = options.patience ?? { forMs: PATIENCE_MS };
  // Null until the tables are there, and are those of this Reeve.
  let known: string | null = null;
  const transaction = <T>(kind: TransactionKind, work: (client: pg.Client) => Promise<T>) =>
    retried(place, patience, (giveUpAtMs) =>
      pool.use(giveUpAtMs, (client) => inSchema(client, { kind, known }, () => work(client))),
    );
  const read: SqlDriver['read'] = (work) => transaction('read', (client) => work(sqlOf(client)));
  const driver: SqlDriver = {
    engine: 'postgres',
    place,
    read,
    write: async (op, work) => {
      const { result, hasEvents } = await writeOnce(transaction, op, work);
      if (hasEvents) await notify(pool);
      return result;
    },
    watch: (listener) =>
      watchPostgres({ connect: connect('reeve watching'), lastSeq: () => lastSeq(read) }, listener),
    close: () => pool.close(),
  };
  try {
    const version = await transaction('read', (client) => versionToMigrate(client, place));
    if (version !== null) {
      const { migrating = {} } = options;
      if (version > 0) await migrating.before?.();
      await transaction('write', (client) => migrate(client, place, migrating));
    }
    known = place;
  } catch (error) {
    await pool.close();
    throw error;
  }
  return driver;
}

type Transaction = <T>(kind: TransactionKind, work: (client: pg.Client) => Promise<T>) => Promise<T>;

async function writeOnce<T>(
  transaction: Transaction,
  op: string,
  work: (sql: Sql) => Promise<T>,
): Promise<{ result: T; hasEvents: boolean }> {
  let unanswered: { result: T; hasEvents: boolean } | undefined;
  return transaction('write', async (client) => {
    const sql = sqlOf(client);
    if (unanswered !== undefined) {
      // The lost attempt may be committing at this moment. It holds this lock until its outcome can be seen.
      await sql.lock(op);
      if (await wasCommitted(sql, op)) return unanswered;
    }
    unanswered = undefined;
    const result = await work(sql);
    unanswered = { result, hasEvents: sql.hasEvents() };
    return unanswered;
  });
}

/**
 * Inside the transaction it would hold a lock of the whole server over the commit, one writer after another. Whoever
 * listens looks now and then anyway, so that a lost word costs a moment.
 */
async function notify(pool: PostgresPool): Promise<void> {
  const giveUpAtMs = performance.now() + NOTIFY_WITHIN_MS;
  await pool.use(giveUpAtMs, (client) => client.query(`notify ${CHANNEL}`)).catch(() => {});
}

async function lastSeq(read: SqlDriver['read']): Promise<number> {
  const [row] = await read((sql) => sql.all('select max(seq) as seq from events'));
  return Number(row?.['seq'] ?? 0);
}

/**
 * Two things pass by themselves. A server that cannot be reached is waited for, as long as the caller's patience lasts:
 * nothing has begun. Work that lost its connection, or a race, is begun anew a few times.
 */
async function retried<T>(
  place: string,
  patience: Patience,
  work: (giveUpAtMs: number) => Promise<T>,
): Promise<T> {
  const startedAtMs = performance.now();
  const giveUpAtMs = startedAtMs + patience.forMs;
  let [losses, pauseMs, tellAtMs] = [0, RETRY_PAUSE_MS, startedAtMs + TELL_AFTER_MS];
  for (;;) {
    try {
      return await work(giveUpAtMs);
    } catch (error) {
      const isAway = error instanceof Unreached && isWorthWaiting(error);
      if (!isAway) losses += 1;
      if (!isConnectionLoss(error) && !isSerialisation(error)) throw explained(place, error);
      const nowMs = performance.now();
      if (losses === ATTEMPTS || nowMs + pauseMs > giveUpAtMs) throw unavailable(place, error);
      if (isAway && nowMs >= tellAtMs) {
        patience.tell?.(waiting(place, error, giveUpAtMs - nowMs));
        tellAtMs = nowMs + TELL_EVERY_MS;
      }
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
      if (isAway) pauseMs = Math.min(pauseMs * 1.5, LONGEST_PAUSE_MS);
    }
  }
}

function waiting(place: string, error: unknown, leftMs: number): string {
  return `The store at ${place} does not answer (${reasonOf(error)}). Trying for ${Math.ceil(leftMs / 1_000)} s more; Ctrl-C ends this.`;
}

interface UnitOfWork extends Sql {
  /** Whether it has added to the log. */
  hasEvents(): boolean;
}

function sqlOf(client: pg.Client): UnitOfWork {
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
    isCopiedLater: async () => {
      const { rows } = await query(
        `select count(*) as standbys, current_setting('synchronous_standby_names') as waited_for from pg_stat_replication`,
      );
      return Number(rows[0]?.['standbys']) > 0 && rows[0]?.['waited_for'] === '';
    },
    mayWrite: async () => {
      const { rows } = await query(
        `select (not pg_is_in_recovery() and current_setting('default_transaction_read_only') = 'off'
           and has_table_privilege('events', 'insert'))::int as may`,
      );
      return Number(rows[0]?.['may']) === 1;
    },
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
 * The cluster, its timeline, which changes when a standby is promoted or a backup of its files restored, and the table,
 * which is another one when what pg_dump wrote was put back. A standby has no timeline of its own yet; a server that does
 * not tell this user is not judged by it.
 */
async function systemOf(query: (text: string) => Promise<{ rows: readonly Row[] }>): Promise<string> {
  // What is refused would take the whole transaction with it.
  await query('savepoint asked');
  try {
    const { rows } = await query(
      `select case when pg_is_in_recovery() then '' else
         (select system_identifier::text from pg_control_system()) || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
           || '/' || 'store_identity'::regclass::oid
       end as system`,
    );
    return String(rows[0]?.['system'] ?? '');
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || error.code !== NO_RIGHT) throw error;
    await query('rollback to savepoint asked');
    return '';
  }
}

const NO_RIGHT = '42501';

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
