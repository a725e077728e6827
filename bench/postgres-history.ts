/** Years of use on PostgreSQL, made by the server itself from one run that the store recorded. */
import pg from 'pg';
import { openStore } from '../src/store/open.ts';
import type { PostgresServer } from '../test/support/postgres.ts';
import { recordEnded } from './record.ts';

const ORIGINAL = 'ended';

/** Half of them are of as many sessions, the others are runs that came before those of the sessions that live. */
export async function addEnded(url: string, ended: number): Promise<void> {
  const store = await openStore({ postgres: url });
  try {
    await recordEnded(store, ORIGINAL);
  } finally {
    await store.close();
  }
  await inDatabase(url, async (client) => {
    const one = `original.id in ('s-${ORIGINAL}', 'r-${ORIGINAL}')`;
    const copies = (table: string, changes: string, from: string) =>
      client.query(
        `insert into ${table} select copy.* from ${table} as original, ${from},
           jsonb_populate_record(original, jsonb_build_object(${changes})) as copy where ${one}`,
      );
    const numbers = `generate_series(1, ${ended / 2}) as number`;
    await copies(
      'sessions',
      `'id', 's-' || number, 'name', 'ended ' || number, 'current_run_id', 'r-' || number`,
      numbers,
    );
    const run = `'id', 'r-' || number, 'session_id', 's-' || number, 'ended_at', original.ended_at - number`;
    await copies('runs', run, numbers);
    // The latest that ended, and none of them its session's current one.
    const earlier = `'id', live.id || number, 'session_id', live.id, 'epoch', -number, 'has_successor', 1,
      'ended_at', original.ended_at + number`;
    const eachLive = `select s.id, count(*) over () as of_all from sessions s join runs r on r.id = s.current_run_id
      where r.state <> 'ended'`;
    await copies(
      'runs',
      earlier,
      `(${eachLive}) as live, generate_series(1, ${ended / 2} / live.of_all) as number`,
    );
    await client.query(
      `insert into events (op, at, session_id, run_id, kind, actor, data)
       select op || number, at, 's-' || number, 'r-' || number, kind, actor, data from events, ${numbers}
       where session_id = 's-${ORIGINAL}'`,
    );
    // As the server does it by itself, some time later.
    await client.query('analyze');
  });
}

export async function inDatabase<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, options: '-c search_path=reeve' });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Nobody may be connected to it meanwhile. */
export async function copyDatabase(server: PostgresServer, url: string): Promise<string> {
  const name = new URL(url).pathname.slice(1);
  await inDatabase(server.url('postgres'), (client) =>
    client.query(`create database ${name}_copy template ${name}`),
  );
  return server.url(`${name}_copy`);
}
