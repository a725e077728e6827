/** The store's methods about itself: which one it is, and what it may have forgotten. */
import { ReeveError } from '../api/errors.ts';
import type { AnnounceParts } from './announce.ts';
import { inTransaction } from './sql.ts';
import type { Sql, SqlDriver } from './sql.ts';
import { hosts, markAnnounced, readState } from './state.ts';
import type { Store } from './store.ts';
import type { TriedWrites } from './try-write.ts';

/** Hardly ever needed, so loaded only then. */
const announcing = () => import('./announce.ts');

export function stateMethods(driver: SqlDriver, parts: AnnounceParts & TriedWrites) {
  const write = <T>(work: (sql: Sql, op: string) => Promise<T>) => inTransaction(driver, work);
  return {
    state: (installation, last = null) => driver.read((sql) => readState(sql, installation, last)),
    recordSystem: (system, instead) =>
      write(async (sql) => {
        await sql.run('update store_identity set system = ? where system = ?', [system, instead]);
      }),
    beginIncarnation: async (from, known) => {
      const { beginIncarnation } = await announcing();
      return write((sql) => beginIncarnation(sql, from, known));
    },
    raiseEpochs: async (floor) => {
      const { raiseEpochs } = await announcing();
      return write((sql) => raiseEpochs(sql, floor));
    },
    announce: async (forgotten) => {
      const { announce } = await announcing();
      return write((sql, op) => announce(sql, op, parts, forgotten));
    },
    markAnnounced: (host) => write((sql) => markAnnounced(sql, host)),
    isCopiedLater: () => driver.read((sql) => sql.isCopiedLater()),
    mayWrite: () => driver.read((sql) => sql.mayWrite()),
    hosts: () => driver.read(hosts),
    tryWrite: async () => (await import('./try-write.ts')).tryWrite(driver, parts),
    forgetHost: (id) =>
      write(async (sql) => {
        await sql.run('delete from hosts where id = ?', [id]);
      }),
  } satisfies Partial<Store>;
}

/** In the transaction of a claim: as long as a host may have a living run that is not on record, nothing is given out. */
export async function refuseUnannounced(sql: Sql): Promise<void> {
  const silent = (await hosts(sql)).filter(({ hasAnnounced }) => !hasAnnounced).map(({ name }) => name);
  if (silent.length === 0) return;
  throw new ReeveError(
    'store_behind',
    `The store has lost part of its history, and these hosts have not said yet which of their runs live: ${silent.join(', ')}.`,
    {
      hint: `Run a reeve command there, \`reeve ls\` for instance. If one of them is gone for good: reeve settle --host-gone NAME`,
      details: { hosts: silent },
    },
  );
}
