/** What stands in a store, read beside the code under test, on either engine. */
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import pg from 'pg';
import type { Sandbox } from './sandbox.ts';

type Row = Readonly<Record<string, unknown>>;

export interface Stored {
  readonly schema: number;
  readonly rows: (query: string) => Promise<readonly Row[]>;
  /** Every table with every row. */
  readonly all: () => Promise<Readonly<Record<string, readonly Row[]>>>;
}

export async function withStored<T>(sandbox: Sandbox, work: (stored: Stored) => Promise<T>): Promise<T> {
  const url = sandbox.env['REEVE_STORE'];
  return url === undefined ? inFile(join(sandbox.home, 'reeve.db'), work) : inPostgres(url, work);
}

export async function inFile<T>(path: string, work: (stored: Stored) => Promise<T>): Promise<T> {
  const database = new DatabaseSync(path, { readOnly: true });
  // The driver's rows have no prototype, and so would be like no other object.
  const rows = async (query: string) => (database.prepare(query).all() as Row[]).map((row) => ({ ...row }));
  try {
    const [version] = await rows('pragma user_version');
    const tables = `select name from sqlite_schema where type = 'table' order by name`;
    return await work({
      schema: Number(version?.['user_version']),
      rows,
      all: async () => dump(rows, await rows(tables)),
    });
  } finally {
    database.close();
  }
}

async function inPostgres<T>(url: string, work: (stored: Stored) => Promise<T>): Promise<T> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query('set search_path to reeve');
    const rows = async (query: string) => (await client.query(query)).rows as Row[];
    const [version] = await rows('select max(version) as version from schema_version');
    const tables = `select tablename as name from pg_tables where schemaname = 'reeve' order by 1`;
    return await work({
      schema: Number(version?.['version']),
      rows,
      all: async () => dump(rows, await rows(tables)),
    });
  } finally {
    await client.end();
  }
}

async function dump(
  rows: Stored['rows'],
  tables: readonly Row[],
): Promise<Readonly<Record<string, readonly Row[]>>> {
  const found: Record<string, readonly Row[]> = {};
  // By all that is in them: neither engine promises an order.
  for (const { name } of tables)
    found[String(name)] = (await rows(`select * from ${String(name)}`)).toSorted((a, b) =>
      JSON.stringify(a).localeCompare(JSON.stringify(b)),
    );
  return found;
}
