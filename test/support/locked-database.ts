/** A database that opens for one role alone, by its password: what an operator's PostgreSQL is, and trust is not. */
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import pg from 'pg';
import type { PostgresServer } from './postgres.ts';

export interface LockedDatabase {
  readonly address: string;
  readonly password: string;
}

export async function createLockedDatabase(server: PostgresServer): Promise<LockedDatabase> {
  const database = new URL(await server.createDatabase()).pathname.slice(1);
  const password = randomBytes(12).toString('hex');
  const role = `locked_${randomBytes(4).toString('hex')}`;
  const client = new pg.Client({ connectionString: server.url('postgres') });
  await client.connect();
  try {
    await client.query(`create role ${role} login password '${password}'`);
    await client.query(`alter database ${database} owner to ${role}`);
    const { rows } = await client.query<{ file: string }>(`select current_setting('hba_file') as file`);
    const file = rows[0]?.file ?? '';
    writeFileSync(file, `host all ${role} 127.0.0.1/32 scram-sha-256\n${readFileSync(file, 'utf8')}`);
    await client.query('select pg_reload_conf()');
    const address = (key: string) => `postgres://${role}:${key}@${server.host}:${server.port}/${database}`;
    await refused(address('wrong'));
    return { address: address(password), password };
  } finally {
    await client.end();
  }
}

/** The server reads its rules anew a moment after it was told to. */
async function refused(address: string): Promise<void> {
  for (;;) {
    const client = new pg.Client({ connectionString: address });
    try {
      await client.connect();
    } catch (error) {
      if (error instanceof pg.DatabaseError && error.code === '28P01') return;
      throw error;
    }
    await client.end();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
