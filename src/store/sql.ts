/**
 * The thin port below the store: one SQL text for both engines, `?` for values, and two kinds of unit of work.
 * Only what the engines really do differently is in a driver; every statement of the store is written once.
 */
import { randomUUID } from 'node:crypto';

export type SqlValue = string | number | null;
export type Row = Readonly<Record<string, SqlValue>>;

export interface Sql {
  all(text: string, values?: readonly SqlValue[]): Promise<readonly Row[]>;
  /** The number of rows changed. */
  run(text: string, values?: readonly SqlValue[]): Promise<number>;
  /** The store's own time: it alone orders what hosts with different clocks write. */
  nowMs(): Promise<number>;
  /** The server and its line of history; empty for a file, and where that cannot be told. */
  system(): Promise<string>;
  /** Whether it is copied to standbys none of which is waited for: what was answered may be lost with this server. */
  isCopiedLater(): Promise<boolean>;
  /** Whether whoever asks may write: not on a standby, and not as a role that may only look. */
  mayWrite(): Promise<boolean>;
  /** Ends a `select` whose row must not change before this unit of work is over. */
  readonly forUpdate: string;
  /** Waits until nobody else holds this name, and holds it until this unit of work is over. */
  lock(name: string): Promise<void>;
  /** Before an event is added: lets readers of the log know that a number is about to be drawn. Once is enough. */
  announceEvents(op: string): Promise<void>;
  /**
   * An expression: up to which number no event becomes visible any more, for a statement that comes after it. Null where
   * events become visible in the order of their numbers.
   */
  readonly settledSeq: string | null;
}

/**
 * `with_next`: on disk at the latest when the next write is; never before an earlier one. For what is worth nothing, or is
 * found out again, should the machine itself fail before that. A store on another machine may do more.
 */
export type Durability = 'now' | 'with_next';

export interface SqlDriver {
  readonly engine: 'sqlite' | 'postgres';
  /** Where the state is, for people. */
  readonly place: string;
  read<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  /**
   * One transaction. `op` is a fresh id that `work` stores with its event: when the answer to a commit is lost, the
   * driver looks for it to learn whether the commit happened, and repeats the work only if it did not.
   */
  write<T>(op: string, work: (sql: Sql) => Promise<T>, durability?: Durability): Promise<T>;
  /** Calls soon after anything was written, by whichever process. */
  watch(listener: () => void): Promise<() => void>;
  close(): Promise<void>;
}

/** What a store that an older Reeve made is brought up to date with. */
export interface Migrating {
  /** Throws where it must not be done now. */
  readonly before?: () => Promise<void>;
  /** Hears what was done, in a sentence. */
  readonly tell?: (words: string) => void;
}

export function inTransaction<T>(
  driver: SqlDriver,
  work: (sql: Sql, op: string) => Promise<T>,
  durability?: Durability,
): Promise<T> {
  const op = randomUUID();
  return driver.write(op, (sql) => work(sql, op), durability);
}

/** SQLite reads a text up to its first NUL, and would find what only begins like it; PostgreSQL refuses it. */
export function isUnstorable(text: string): boolean {
  return text.includes('\0');
}

/** For `in (…)`. Of few different lengths, for each length is a statement of its own, which is kept. */
export function slotsFor(ids: readonly string[]): { places: string; values: readonly string[] } {
  const length = 2 ** Math.ceil(Math.log2(Math.max(1, ids.length)));
  const values = Array.from({ length }, (_, slot) => ids[slot] ?? '');
  return { places: values.map(() => '?').join(', '), values };
}

/** Proves that a unit of work was committed, when its connection broke before the answer came. */
export async function wasCommitted(sql: Sql, op: string): Promise<boolean> {
  return (await sql.all('select 1 as found from events where op = ? limit 1', [op])).length > 0;
}
