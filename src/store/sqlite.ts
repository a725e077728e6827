/**
 * SQLite: the store of one machine. Write-ahead log with synchronous=FULL, so that what was answered is on disk.
 * Many processes open it at once; none of them may see "busy", and none may harm a file that is not ours.
 */
import { chmodSync, closeSync, existsSync, openSync, renameSync, rmSync, statSync, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite';
import { ReeveError } from '../api/errors.ts';
import { newer, SCHEMA_VERSION, upgraded } from './schema-version.ts';
import type { Durability, Migrating, Row, Sql, SqlDriver, SqlValue } from './sql.ts';
import { DatabaseSync } from './sqlite-binding.ts';
import { RESULT, resultOf } from './sqlite-result.ts';

/** How long one attempt waits inside SQLite for another writer. A claim takes well under a millisecond. */
const BUSY_WAIT_MS = 5_000;
/** After so many such waits a lock is not contention any more, but somebody holding it. */
const BUSY_ATTEMPTS = 6;
/** How long another opener may take to make the schema: a few milliseconds. */
const SWITCH_PAUSE_MS = 10;
/** "Reev" in ASCII, in the file's header: a database of another program is never migrated. */
const APPLICATION_ID = 0x52656576;

const OWN_MODE = 0o600;
const OTHERS = 0o077;

type Statement = StatementSyncInstance;

export async function openSqlite(path: string, migrating: Migrating = {}): Promise<SqlDriver> {
  const connection = new Connection(path);
  try {
    await inTurn(() => connection.prepareSchema(migrating));
  } catch (error) {
    connection.close();
    throw error;
  }
  return {
    engine: 'sqlite',
    place: path,
    read: (work) => inTurn(() => connection.read(work)),
    write: (_op, work, durability) => inTurn(() => connection.transaction(work, durability)),
    watch: async (listener) => watchFile(path, listener),
    close: () => inTurn(async () => connection.close()),
  };
}

let lastTurn: Promise<unknown> = Promise.resolve();

/**
 * One unit of work at a time in this process, whatever connection it is on. An await inside a transaction must not let
 * another one in; and SQLite waits for a lock with the whole process, so that a connection waiting for another one of
 * the same process would keep it from ever finishing.
 */
function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const result = lastTurn.then(work);
  lastTurn = result.catch(() => {});
  return result;
}

/** One write changes the log several times within a moment. */
const SETTLED_MS = 2;

/** What is written goes to the log beside the database, and now and then from there into it. */
function watchFile(path: string, listener: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  const watcher = watch(dirname(path), (_event, name) => {
    if (name !== null && !name.startsWith(basename(path))) return;
    timer ??= setTimeout(() => {
      timer = undefined;
      listener();
    }, SETTLED_MS);
  });
  // Whoever watches looks now and then by himself too: not every file system tells.
  watcher.on('error', () => {});
  return () => {
    clearTimeout(timer);
    watcher.close();
  };
}

function fileAt(path: string): string {
  const status = statSync(path, { throwIfNoEntry: false });
  return status === undefined ? 'none' : `${status.dev} ${status.ino}`;
}

/**
 * For this user alone from its first moment, as SQLite then makes the files beside it. One that is there is never opened
 * here: to close it again would give up the locks that another connection of this process has on it.
 */
function makeOwn(path: string): void {
  if (existsSync(path)) return;
  try {
    closeSync(openSync(path, 'wx', OWN_MODE));
  } catch {
    // Another opener was faster, or SQLite will say better what is in the way.
  }
}

/** Those that an earlier Reeve made were as open as the caller's umask left them. */
function closeToOthers(path: string): void {
  if ((statSync(path).mode & OTHERS) === 0) return;
  for (const each of [path, `${path}-wal`, `${path}-shm`].filter((file) => existsSync(file))) {
    try {
      chmodSync(each, OWN_MODE);
    } catch {
      // Another user's, whose directory is closed to others.
    }
  }
}

class Connection {
  readonly #path: string;
  readonly #database: DatabaseSyncInstance;
  readonly #statements = new Map<string, Statement>();

  readonly sql: Sql = {
    // The driver's rows are plain objects of the column types used in the schema: text, integer, null.
    all: async (text, values = []) => this.#statement(text).all(...values) as Row[],
    run: async (text, values: readonly SqlValue[] = []) => this.#statement(text).run(...values).changes,
    nowMs: async () => Date.now(),
    system: async () => '',
    isCopiedLater: async () => false,
    mayWrite: async () => true,
    forUpdate: '',
    // One writer at a time: its names are all its own, and its numbers become visible in their order.
    lock: async () => {},
    announceEvents: async () => {},
    settledSeq: null,
  };

  /** Which file was opened; null until it surely is there. */
  #file: string | null = null;
  #isPrepared = false;

  constructor(path: string) {
    this.#path = path;
    this.#database = this.#explained(() => {
      makeOwn(path);
      const database = new DatabaseSync(path);
      // Before anything that takes a lock, or simultaneous openers fail.
      database.exec(`pragma busy_timeout = ${BUSY_WAIT_MS}`);
      return database;
    });
  }

  async prepareSchema(migrating: Migrating): Promise<void> {
    const version = this.#explained(() => this.#schemaVersionAtOnce());
    await this.#switchToLog();
    this.#database.exec('pragma synchronous = full; pragma foreign_keys = on');
    this.#file = fileAt(this.#path);
    closeToOthers(this.#path);
    if (version !== SCHEMA_VERSION) await this.#migrate(version, migrating);
    this.#isPrepared = true;
  }

  async #migrate(version: number, { before, tell }: Migrating): Promise<void> {
    if (version > 0) await before?.();
    const { migrationsFrom } = await import('./migrations.ts');
    const done = await this.transaction(async () => {
      // Read again: of many openers, one migrates and the others find it done.
      const from = this.#schemaVersion();
      const statements = migrationsFrom(from, 'sqlite');
      const backup = from > 0 && statements.length > 0 ? this.#backUp(from) : null;
      for (const statement of statements) this.#database.exec(statement);
      this.#database.exec(
        `pragma application_id = ${APPLICATION_ID}; pragma user_version = ${SCHEMA_VERSION}`,
      );
      return { from, backup };
    });
    if (done.backup !== null) tell?.(upgraded(this.#path, done.from, `As it was, it is in ${done.backup}.`));
  }

  /** By another connection, which reads what was committed while this one holds the lock: nobody writes meanwhile. */
  #backUp(version: number): string {
    const backup = `${this.#path}.schema-${version}`;
    const unfinished = `${backup}.new`;
    rmSync(unfinished, { force: true });
    // For this user alone; SQLite takes an empty file as good as none.
    closeSync(openSync(unfinished, 'wx', OWN_MODE));
    const reader = new DatabaseSync(this.#path);
    try {
      reader.prepare('vacuum into ?').run(unfinished);
    } finally {
      reader.close();
    }
    renameSync(unfinished, backup);
    return backup;
  }

  async read<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    this.#requireSameFile();
    try {
      this.#requireSameSchema();
      return await work(this.sql);
    } catch (error) {
      throw this.#explain(error);
    }
  }

  async transaction<T>(work: (sql: Sql) => Promise<T>, durability: Durability = 'now'): Promise<T> {
    this.#requireSameFile();
    if (durability === 'now') return this.#transact(work);
    // The log is written in order, and waited for as a whole: what the next one waits for includes this.
    this.#database.exec('pragma synchronous = normal');
    try {
      return await this.#transact(work);
    } finally {
      this.#database.exec('pragma synchronous = full');
    }
  }

  async #transact<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    this.#begin();
    try {
      this.#requireSameSchema();
      const result = await work(this.sql);
      this.#database.exec('commit');
      return result;
    } catch (error) {
      this.#rollback();
      throw this.#explain(error);
    }
  }

  close(): void {
    this.#database.close();
  }

  /** Moved away or replaced, it is still open here, while others begin another one: there would be two owners. */
  #requireSameFile(): void {
    if (this.#file !== null && fileAt(this.#path) !== this.#file) throw replaced(this.#path);
  }

  /** Migrated since by a newer Reeve: whoever has it open still would go on by rules that are not in force any more. */
  #requireSameSchema(): void {
    if (!this.#isPrepared) return;
    const [version] = Object.values(this.#statement('pragma user_version').get() ?? {});
    if (version === SCHEMA_VERSION) return;
    throw Number(version) > SCHEMA_VERSION ? newer(this.#path, Number(version)) : replaced(this.#path);
  }

  /** SQLite does not wait with this one when another opener of a fresh file writes to it, so it is tried again. */
  async #switchToLog(): Promise<void> {
    for (let waitedMs = 0; ; waitedMs += SWITCH_PAUSE_MS) {
      try {
        this.#database.exec('pragma journal_mode = wal');
        return;
      } catch (error) {
        const isOver = waitedMs > BUSY_WAIT_MS * BUSY_ATTEMPTS;
        if (resultOf(error) !== RESULT.busy || isOver) throw this.#explain(error);
      }
      await new Promise((resolve) => setTimeout(resolve, SWITCH_PAUSE_MS));
    }
  }

  #begin(): void {
    for (let attempt = 1; ; attempt += 1) {
      try {
        this.#database.exec('begin immediate');
        return;
      } catch (error) {
        if (resultOf(error) !== RESULT.busy || attempt === BUSY_ATTEMPTS) throw this.#explain(error);
      }
    }
  }

  #rollback(): void {
    if (this.#database.isTransaction) this.#database.exec('rollback');
  }

  #statement(text: string): Statement {
    const known = this.#statements.get(text);
    if (known !== undefined) return known;
    const prepared = this.#database.prepare(text);
    this.#statements.set(text, prepared);
    return prepared;
  }

  /** As of one moment: between two of its reads, another opener may finish the schema, and it would look foreign. */
  #schemaVersionAtOnce(): number {
    this.#database.exec('begin');
    try {
      return this.#schemaVersion();
    } finally {
      this.#rollback();
    }
  }

  #schemaVersion(): number {
    const version = this.#number('pragma user_version');
    const isOurs = this.#number('pragma application_id') === APPLICATION_ID;
    const isEmpty = this.#number('select count(*) from sqlite_schema') === 0;
    if (!isOurs && !isEmpty) {
      throw new ReeveError(
        'store_damaged',
        `${this.#path} is a database of another program, so it was not touched.`,
        {
          hint: 'Choose another state directory with REEVE_HOME.',
        },
      );
    }
    if (version > SCHEMA_VERSION) throw newer(this.#path, version);
    return version;
  }

  #number(text: string): number {
    const row = this.#database.prepare(text).get();
    return Number(Object.values(row ?? {})[0] ?? 0);
  }

  #explained<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw this.#explain(error);
    }
  }

  #explain(error: unknown): unknown {
    switch (resultOf(error)) {
      case RESULT.busy:
        return new ReeveError('store_unavailable', `${this.#path} stayed locked by another process.`, {
          hint: 'Look for a stuck process that has it open, then try again; nothing was written.',
          cause: error,
        });
      case RESULT.corrupt:
      case RESULT.notADatabase:
        if (isWhole(this.#path)) return unread(this.#path, error);
        return new ReeveError(
          'store_damaged',
          `${this.#path} is damaged or not a database, so it was not touched.`,
          {
            hint: 'Restore it from a copy, or move it away: a new one then learns which runs live. The logs in runs/ are still there.',
            cause: error,
          },
        );
      case RESULT.full:
        return new ReeveError(
          'store_full',
          `The disk that holds ${this.#path} is full; nothing was written.`,
          {
            hint: 'Free some space and try again.',
            cause: error,
          },
        );
      case RESULT.readonly:
      case RESULT.cantOpen:
      case RESULT.ioError:
        if (lacksDescriptors(dirname(this.#path))) return tooManyFiles(this.#path, error);
        return new ReeveError('store_unavailable', `${this.#path} cannot be read and written.`, {
          hint: 'Check that the state directory and its files belong to you, or set REEVE_HOME.',
          cause: error,
        });
      case undefined:
      default:
        return error;
    }
  }
}

/**
 * SQLite calls a database malformed too when a read of it failed, and says nothing of that. So it is looked at once more,
 * all of it.
 */
function isWhole(path: string): boolean {
  try {
    const database = new DatabaseSync(path);
    try {
      const [verdict] = Object.values(database.prepare('pragma quick_check(1)').get() ?? {});
      return verdict === 'ok';
    } finally {
      database.close();
    }
  } catch {
    return false;
  }
}

function unread(path: string, cause: unknown): ReeveError {
  return new ReeveError('store_unavailable', `${path} could not be read this time, and is in order now.`, {
    hint: 'Nothing was written. Try again; if it comes back, look after the disk.',
    cause,
  });
}

function replaced(path: string): ReeveError {
  return new ReeveError('store_unavailable', `${path} is not the file any more that was opened.`, {
    hint: 'Put it back, or end what has it open (reeve serve stop) and begin anew.',
  });
}

/** SQLite needs these at once: the database, its log, the log's index, and the directory. */
const DESCRIPTORS_NEEDED = 4;

/**
 * SQLite says of a file that it cannot open it, but not why. The directory is opened, not the file: to close another
 * descriptor of that one would give up the locks that this process has on it.
 */
function lacksDescriptors(directory: string): boolean {
  const opened: number[] = [];
  try {
    while (opened.length < DESCRIPTORS_NEEDED) opened.push(openSync(directory, 'r'));
    return false;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    return code === 'EMFILE' || code === 'ENFILE';
  } finally {
    for (const each of opened) closeSync(each);
  }
}

function tooManyFiles(path: string, cause: unknown): ReeveError {
  return new ReeveError('store_unavailable', `${path} cannot be opened: too many files are open.`, {
    hint: 'Allow this process more of them (`ulimit -n`), then try again.',
    cause,
  });
}
