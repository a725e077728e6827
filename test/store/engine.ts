/** What the contract needs of an engine beyond the port: fresh databases, and a way past the store. */
import type { Row, SqlDriver } from '../../src/store/sql.ts';
import type { Store } from '../../src/store/store.ts';

export interface Engine {
  readonly name: 'sqlite' | 'postgres';
  createDatabase(): Promise<Database>;
}

export interface Database {
  /** Another connection, closed with the database. */
  open(): Promise<Store>;
  driver(): Promise<SqlDriver>;
  /** Past the store, as no part of Reeve would. */
  sql(text: string): Promise<readonly Row[]>;
  /** From now on the database refuses events of this kind. */
  refuseEvents(kind: string): Promise<void>;
  close(): Promise<void>;
}
