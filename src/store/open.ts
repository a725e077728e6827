import { createStore } from './sql-store.ts';
import type { PostgresOptions } from './postgres.ts';
import type { Migrating } from './sql.ts';
import type { Store } from './store.ts';

export type StoreAddress =
  | { readonly sqlite: string; readonly migrating?: Migrating }
  | ({ readonly postgres: string } & PostgresOptions);

/** Each engine is loaded only when it is used: a command on a laptop never pays for the PostgreSQL client. */
export async function openStore(address: StoreAddress): Promise<Store> {
  if ('postgres' in address) {
    const { openPostgres } = await import('./postgres.ts');
    return createStore(await openPostgres(address.postgres, address));
  }
  const { openSqlite } = await import('./sqlite.ts');
  return createStore(await openSqlite(address.sqlite, address.migrating));
}
