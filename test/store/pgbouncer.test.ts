/** Behind a pooler that hands each transaction another connection, and passes over what is asked for at the start. */
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openPostgres } from '../../src/store/postgres.ts';
import { openStore } from '../../src/store/open.ts';
import { createStore } from '../../src/store/sql-store.ts';
import type { Row, SqlDriver } from '../../src/store/sql.ts';
import { startPgbouncer } from '../support/pgbouncer.ts';
import type { Pgbouncer } from '../support/pgbouncer.ts';
import { startPostgres } from '../support/postgres.ts';
import type { PostgresServer } from '../support/postgres.ts';
import { eventually } from '../support/processes.ts';
import { describeStoreContract } from './contract.ts';
import type { Database } from './engine.ts';
import { claimOf, many, start, won } from './examples.ts';
import { describeStoreFence } from './fence.ts';
import { describeStoreLog } from './log.ts';

let server: PostgresServer;
/** As it is installed, and with the setting that made it pass over the schema. */
let plain: Pgbouncer;
let ignoring: Pgbouncer;
beforeAll(async () => {
  server = await startPostgres();
  plain = await startPgbouncer(server);
  ignoring = await startPgbouncer(server, ['ignore_startup_parameters = options,extra_float_digits']);
});
afterAll(async () => {
  await Promise.all([plain.stop(), ignoring.stop()]);
  await server.stop();
});

const engine = { name: 'postgres', createDatabase } as const;
describeStoreContract(engine);
describeStoreFence(engine);
describeStoreLog(engine);

describe.each([
  ['as it is installed', () => plain],
  ['that ignores startup options', () => ignoring],
] as const)('a pooler %s', (_, pooler) => {
  test('leads to the same store, in which an owner is an owner', async () => {
    const url = await server.createDatabase();
    const direct = await openStore({ postgres: url });
    const pooled = await openStore({ postgres: pooler().url(url) });
    const { session, run } = await won(direct, claimOf('alpha'));
    expect(await pooled.claim(claimOf('alpha'))).toMatchObject({
      won: false,
      because: 'owned',
      run: { id: run.id },
    });
    await pooled.step(run.id, start);
    expect(await direct.runsOf(session.id)).toHaveLength(1);
    expect(await tablesOutside(url)).toStrictEqual([]);
    await Promise.all([direct.close(), pooled.close()]);
  });

  test('that others use too hands on nothing of theirs', async () => {
    const url = await server.createDatabase();
    const stranger = new pg.Client(pooler().url(url));
    await stranger.connect();
    // Both connections there are keep what the stranger leaves.
    await Promise.all(
      many(4, () =>
        sql(
          pooler().url(url),
          `set search_path to public; create temp table if not exists events (x int);
           create temp table if not exists schema_version (version int); select pg_sleep(0.05)`,
        ),
      ),
    );
    const store = await openStore({ postgres: pooler().url(url) });
    const claims = await Promise.all(many(12, (index) => store.claim(claimOf(`session-${index % 3}`))));
    expect(claims.filter(({ won: isWon }) => isWon)).toHaveLength(3);
    expect(await sql(url, 'select count(*)::int as count from reeve.events')).toStrictEqual([{ count: 3 }]);
    await store.close();
    await stranger.end();
  });

  test('tells those who watch of what was written, although listening hears nothing there', async () => {
    const url = await server.createDatabase();
    const direct = await openStore({ postgres: url });
    const pooled = await openStore({ postgres: pooler().url(url) });
    let calls = 0;
    const stop = await pooled.watch(() => (calls += 1));
    await won(direct, claimOf('alpha'));
    await eventually('the watcher is told', () => calls > 0);
    stop();
    await Promise.all([direct.close(), pooled.close()]);
  });
});

async function createDatabase(): Promise<Database> {
  const url = await server.createDatabase();
  const drivers: SqlDriver[] = [];
  const driver = async () => {
    const opened = await openPostgres(ignoring.url(url));
    drivers.push(opened);
    return opened;
  };
  const inSchema = (text: string) => sql(`${url}?options=-c%20search_path%3Dreeve`, text);
  return {
    driver,
    open: async () => createStore(await driver()),
    sql: inSchema,
    refuseEvents: async (kind) => {
      await inSchema(
        `alter table events add constraint refused_by_the_test check (kind <> '${kind}') not valid`,
      );
    },
    close: async () => {
      for (const opened of drivers) await opened.close();
    },
  };
}

function tablesOutside(url: string): Promise<Row[]> {
  return sql(
    url,
    `select tablename from pg_tables where schemaname not in ('reeve', 'pg_catalog', 'information_schema')`,
  );
}

async function sql(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}
