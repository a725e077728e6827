/** The store's methods of budgets. Their code is loaded where a budget is in force, or looked for. */
import type { Sql, SqlDriver } from './sql.ts';
import type { Store, StoredEvent } from './store.ts';

type AddEvent = (event: Omit<StoredEvent, 'seq' | 'atMs'>) => Promise<void>;

const budgets = () => import('./budgets.ts');

/** `write` is one transaction, whose events it adds. What adds no event may be done twice. */
export function budgetMethods(
  driver: SqlDriver,
  write: <T>(work: (sql: Sql, addEvent: AddEvent) => Promise<T>) => Promise<T>,
) {
  return {
    budgetedSessions: async () => driver.read((await budgets()).budgetedSessions),
    setBudget: async (sessionId, budget, actor) => {
      const { setBudget } = await budgets();
      return write((sql, addEvent) => setBudget(sql, { sessionId, budget, actor }, addEvent));
    },
    runsWithSession: async (ids) => {
      const { runsWithSession } = await budgets();
      return driver.read((sql) => runsWithSession(sql, ids));
    },
    budgetFacts: async (query) => {
      const { budgetFacts } = await import('./budget-facts.ts');
      return driver.read((sql) => budgetFacts(sql, query));
    },
    notedBudgets: async (keys) => {
      if (keys.length === 0) return new Set<string>();
      const { notedBudgets } = await budgets();
      return driver.read((sql) => notedBudgets(sql, keys));
    },
    noteBudget: async (note) => {
      const { noteBudget } = await budgets();
      return write((sql, addEvent) => noteBudget(sql, note, addEvent));
    },
    setOverBudget: async (order) => {
      const { setOverBudget } = await budgets();
      return write((sql, addEvent) => setOverBudget(sql, order, addEvent));
    },
    recordAwake: async (runs) => {
      if (runs.length === 0) return;
      const { recordAwake } = await budgets();
      await write((sql) => recordAwake(sql, runs));
    },
  } satisfies Partial<Store>;
}
