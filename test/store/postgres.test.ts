import pg from 'pg';
import { afterAll, beforeAll } from 'vitest';
import { openPostgres } from '../../src/store/postgres.ts';
import { createStore } from '../../src/store/sql-store.ts';
import type { Row, SqlDriver } from '../../src/store/sql.ts';
import { startPostgres } from '../support/postgres.ts';
import type { PostgresServer } from '../support/postgres.ts';
import { describeStoreContract } from './contract.ts';
import type { Database } from './engine.ts';
import { describeStoreFence } from './fence.ts';
import { describeStoreNative } from './native.ts';
import { describeGeneratedHistories } from './generated-histories.ts';
import { describeStoreBudgets } from './budgets.ts';
import { describeStoreChildren } from './children.ts';
import { describeStoreLists } from './lists.ts';
import { describeStoreLog } from './log.ts';
import { describeStoreRaces } from './races.ts';
import { describeStoreReportedUsage } from './reported-usage.ts';
import { describeStoreSubmissions } from './submissions.ts';
import { describeStoreReviews } from './reviews.ts';
import { describeStoreUsage } from './usage.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

const engine = { name: 'postgres', createDatabase } as const;
describeStoreContract(engine);
describeStoreFence(engine);
describeStoreNative(engine);
describeStoreChildren(engine);
describeStoreBudgets(engine);
describeStoreLists(engine);
describeStoreLog(engine);
describeStoreRaces(engine);
describeStoreReviews(engine);
describeStoreUsage(engine);
describeStoreReportedUsage(engine);
describeStoreSubmissions(engine);
describeGeneratedHistories(engine);

async function createDatabase(): Promise<Database> {
  const url = await server.createDatabase();
  const drivers: SqlDriver[] = [];
  const driver = async () => {
    const opened = await openPostgres(url);
    drivers.push(opened);
    return opened;
  };
  const sql = async (text: string) => {
    const client = new pg.Client({ connectionString: url, options: '-c search_path=reeve' });
    await client.connect();
    try {
      return (await client.query<Row>(text)).rows;
    } finally {
      await client.end();
    }
  };
  return {
    driver,
    open: async () => createStore(await driver()),
    sql,
    refuseEvents: async (kind) => {
      await sql(`alter table events add constraint refused_by_the_test check (kind <> '${kind}') not valid`);
    },
    close: async () => {
      for (const opened of drivers) await opened.close();
    },
  };
}
