/** The store's methods of the ledger. */
import type { Sql, SqlDriver } from './sql.ts';
import type { Store } from './store.ts';

/**
 * Loaded by whoever keeps or asks the ledger: every start pays for what is loaded, and few need it. None of these writes
 * has an event by which a lost commit is known; done again, a batch finds the position moved, and settling settles.
 */
const usage = () => import('./usage.ts');
const sums = () => import('./usage-sums.ts');
const queries = () => import('./usage-queries.ts');

export function usageMethods(driver: SqlDriver, write: <T>(work: (sql: Sql) => Promise<T>) => Promise<T>) {
  return {
    ledgersOf: async (sessionIds) => (await queries()).ledgersOf(driver, sessionIds),
    recordUsage: async (batch) => {
      const { recordUsage } = await usage();
      return write((sql) => recordUsage(sql, batch));
    },
    usagePositions: async (sessionId) => (await queries()).usagePositions(driver, sessionId),
    usageOf: async (query) => (await queries()).usageOf(driver, query),
    usageParts: async (query) => (await queries()).usageParts(driver, query),
    usageTotals: async (sessionIds) => (await queries()).usageTotals(driver, sessionIds),
    usageOfRuns: async (runs) => (await queries()).usageOfRuns(driver, runs),
    unsettledRuns: async (...range) => (await queries()).unsettledRuns(driver, ...range),
    settleUsage: async (runId) => {
      const { settleUsage } = await sums();
      return write((sql) => settleUsage(sql, runId));
    },
  } satisfies Partial<Store>;
}
