/** What runs write: loaded by whoever makes or reads such a write, for every start pays for what is loaded. */
import type { FenceParts } from './fence.ts';
import { inTransaction, isUnstorable } from './sql.ts';
import type { SqlDriver } from './sql.ts';
import type { Store } from './store.ts';

const fence = () => import('./fence.ts');
const submitting = () => import('./submissions.ts');
const reported = () => import('./usage-reported.ts');

export function runWrites(driver: SqlDriver, parts: FenceParts) {
  return {
    heartbeat: async (runId, token, isStillLeft) => {
      const { heartbeat } = await fence();
      return inTransaction(driver, (sql, op) => heartbeat(sql, op, parts, { runId, token, isStillLeft }));
    },
    submit: async (submission) => {
      const { submit } = await submitting();
      return inTransaction(driver, (sql, op) => submit(sql, op, parts, submission));
    },
    submissions: async (query) => (await submitting()).submissions(driver, query),
    findSubmissions: async (reference) =>
      isUnstorable(reference) ? [] : (await submitting()).findSubmissions(driver, reference),
    addUsage: async (report) => {
      const { addUsage } = await reported();
      return inTransaction(driver, (sql, op) => addUsage(sql, op, parts, report));
    },
  } satisfies Partial<Store>;
}
