import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { createStore } from '../../src/store/sql-store.ts';
import type { Row, SqlDriver } from '../../src/store/sql.ts';
import { openSqlite } from '../../src/store/sqlite.ts';
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

const engine = { name: 'sqlite', createDatabase } as const;
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
  const directory = mkdtempSync(join(tmpdir(), 'reeve-sqlite-'));
  const path = join(directory, 'reeve.db');
  const drivers: SqlDriver[] = [];
  const driver = async () => {
    const opened = await openSqlite(path);
    drivers.push(opened);
    return opened;
  };
  const sql = async (text: string) => {
    const direct = new DatabaseSync(path);
    try {
      direct.exec('pragma busy_timeout = 5000; pragma foreign_keys = on');
      return direct.prepare(text).all() as Row[]; // The schema has only text, integers and null.
    } finally {
      direct.close();
    }
  };
  return {
    driver,
    open: async () => createStore(await driver()),
    sql,
    refuseEvents: async (kind) => {
      await sql(`create trigger refuse before insert on events when new.kind = '${kind}'
        begin select raise(abort, 'refused by the test'); end`);
    },
    close: async () => {
      for (const opened of drivers) await opened.close();
      rmSync(directory, { recursive: true });
    },
  };
}
