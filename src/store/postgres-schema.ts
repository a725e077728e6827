/**
 * Where Reeve's tables are, and how they come to be there.
 *
 * The schema is chosen in every transaction, in the same message that begins it. What is set when a connection is made
 * does not last: behind a pooler the next transaction may be on another connection, and a pooler may pass over what is
 * asked for at the start. The same command would then find other tables, and a second owner for a session.
 */
import type pg from 'pg';
import { ReeveError } from '../api/errors.ts';
import { migrationsFrom } from './migrations.ts';
import { isConnectionLoss, reasonOf } from './postgres-errors.ts';
import { newer, SCHEMA_VERSION, upgraded } from './schema-version.ts';
import type { Migrating } from './sql.ts';

export const SCHEMA = 'reeve';
/**
 * The server ends a transaction whose client vanished, which would otherwise hold its rows, and hold up whoever reads
 * the log, until TCP gives up after hours. Shorter than the query timeout, so that those who wait get their turn.
 */
const IDLE_IN_TRANSACTION_MS = 3_000;
/** Temporary tables come last, or one of another client of the same pooler would stand in for a table of ours. */
const SETTINGS = `set local search_path to ${SCHEMA}, pg_temp; set local idle_in_transaction_session_timeout to ${IDLE_IN_TRANSACTION_MS}`;
/** A number for an advisory lock: one that no other program in the database uses. */
const MIGRATION_LOCK = 7_233_391;
/** An index on years of history takes its time, and whoever comes second waits for it. */
const MIGRATION_TIMEOUT_MS = 600_000;

const VERSION = `select max(version) as version from ${SCHEMA}.schema_version`;

const NO_SUCH_TABLE = '42P01';
const NO_SUCH_SCHEMA = '3F000';
const NO_RIGHT = '42501';
const READ_ONLY = '25006';
const TABLE_EXISTS = '42P07';

const OTHER_HOSTS = 'Update Reeve on every host that uses it: older ones are refused.';

export type TransactionKind = 'read' | 'write';

/**
 * Begins, works, commits; or rolls back, unless there is nobody left to tell. `known` is the place of a store that was
 * brought up to date: then the same message asks whether a newer Reeve has migrated it since, by whose rules this one
 * does not go.
 */
export async function inSchema<T>(
  client: pg.Client,
  { kind, known }: { readonly kind: TransactionKind; readonly known: string | null },
  work: () => Promise<T>,
): Promise<T> {
  const begin = `begin isolation level read committed${kind === 'read' ? ' read only' : ''}; ${SETTINGS}`;
  try {
    if (known === null) await client.query(begin);
    else requireSame(known, await client.query(`${begin}; ${VERSION}`));
    const result = await work();
    await client.query('commit');
    return result;
  } catch (error) {
    if (!isConnectionLoss(error)) await client.query('rollback');
    throw known !== null && codeOf(error) === NO_SUCH_TABLE ? incomplete(known, error) : error;
  }
}

/** The answers of a message of several statements, the last of which is about the version. */
function requireSame(place: string, answers: unknown): void {
  const last = (answers as readonly pg.QueryResult<{ version: number | null }>[]).at(-1);
  const version = last?.rows[0]?.version ?? 0;
  if (version > SCHEMA_VERSION) throw newer(place, version);
}

/**
 * A store that is up to date is only read: by a role that may make no tables, on a standby, and while somebody else
 * holds a lock. Null when there is nothing to be done.
 */
export async function versionToMigrate(client: pg.Client, place: string): Promise<number | null> {
  const version = await versionOf(client);
  if (version > SCHEMA_VERSION) throw newer(place, version);
  return version < SCHEMA_VERSION ? version : null;
}

export async function migrate(client: pg.Client, place: string, { tell }: Migrating): Promise<void> {
  const run = async (text: string, values: readonly unknown[] = []) =>
    (await client.query({ text, values: [...values], query_timeout: MIGRATION_TIMEOUT_MS } as pg.QueryConfig))
      .rows;
  try {
    await run('select pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    const [there] = await run(`select to_regnamespace('${SCHEMA}') is not null as found`);
    // Not `if not exists`: that asks for the right to make one even where it is there.
    if (there?.found !== true) await run(`create schema ${SCHEMA}`);
    await run(`create table if not exists ${SCHEMA}.schema_version (version integer not null)`);
    // By whoever held the lock before, perhaps.
    const version = await versionOf(client);
    if (version > SCHEMA_VERSION) throw newer(place, version);
    for (const statement of migrationsFrom(version, 'postgres')) await run(statement);
    if (version < SCHEMA_VERSION) await run('insert into schema_version values ($1)', [SCHEMA_VERSION]);
    if (version > 0 && version < SCHEMA_VERSION) tell?.(upgraded(place, version, OTHER_HOSTS));
  } catch (error) {
    if (codeOf(error) === TABLE_EXISTS) throw emptied(place, error);
    throw isRefusal(error) ? unmade(place, error) : error;
  }
}

/** A table that it had when it was opened, or by its version, was dropped. */
function incomplete(place: string, cause: unknown): ReeveError {
  return new ReeveError(
    'store_damaged',
    `The store at ${place} lacks a table of Reeve: ${reasonOf(cause)}.`,
    { hint: ANEW, cause },
  );
}

const ANEW = `Restore a backup. To begin anew: drop schema ${SCHEMA} cascade; then run \`reeve ls\` on every host, which puts its living runs on record again.`;

/** Its tables are there, and none of them says which step made it: nobody but a person empties them. */
function emptied(place: string, cause: unknown): ReeveError {
  return new ReeveError(
    'store_damaged',
    `The store at ${place} has tables of Reeve, but ${SCHEMA}.schema_version does not say of which version: its rows were removed.`,
    {
      hint: ANEW,
      cause,
    },
  );
}

async function versionOf(client: pg.Client): Promise<number> {
  try {
    const { rows } = await client.query<{ version: number | null }>(VERSION);
    return rows[0]?.version ?? 0;
  } catch (error) {
    if ([NO_SUCH_TABLE, NO_SUCH_SCHEMA].includes(codeOf(error))) return 0;
    throw error;
  }
}

function isRefusal(error: unknown): boolean {
  return [NO_RIGHT, READ_ONLY].includes(codeOf(error));
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

function unmade(place: string, cause: unknown): ReeveError {
  return new ReeveError(
    'store_unavailable',
    `The store at ${place} has not the tables of this Reeve, and they cannot be made: ${reasonOf(cause)}.`,
    {
      hint: 'Call any command of this Reeve once on the primary server, as a role that may create a schema and tables; then grant this role the use of them.',
      cause,
    },
  );
}
