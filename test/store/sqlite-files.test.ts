/** SQLite as many processes use it, and as a disk can let it down. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { closeSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { SCHEMA_VERSION } from '../../src/store/schema-version.ts';
import { openStore } from '../../src/store/open.ts';
import { openSqlite } from '../../src/store/sqlite.ts';
import { bundleStoreChild, resultOf, startAtOnce } from './child-programs.ts';
import { claimOf, end, many, start, won } from './examples.ts';

const OPEN_REEVE = fileURLToPath(new URL('../fixtures/store-open.mjs', import.meta.url));

/** SQLite's default. */
const PAGE_SIZE = 4096;

let programs: string;
let child: string;
beforeAll(async () => {
  programs = mkdtempSync(join(tmpdir(), 'reeve-store-child-'));
  child = await bundleStoreChild(programs);
});
afterAll(() => rmSync(programs, { recursive: true }));

let directory: string;
let path: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'reeve-files-'));
  path = join(directory, 'reeve.db');
});
afterEach(() => rmSync(directory, { recursive: true }));

test('what was answered is on disk: a write-ahead log, synced at every commit, is in force', async () => {
  // Twice: a database that exists already is opened on another way.
  for (let time = 0; time < 2; time += 1) {
    const driver = await openSqlite(path);
    const settings = ['journal_mode', 'synchronous', 'foreign_keys', 'busy_timeout'];
    const values = await driver.read(async (sql) => {
      const rows = [];
      for (const setting of settings) rows.push(...(await sql.all(`pragma ${setting}`)));
      return rows.flatMap((row) => Object.values(row));
    });
    const FULL = 2;
    expect(values).toStrictEqual(['wal', FULL, 1, 5_000]);
    await driver.close();
  }
});

describe('many processes at once', () => {
  test('28 open a fresh state directory, and none fails', async () => {
    const home = join(directory, 'home');
    const children = await startAtOnce(many(28, () => [process.execPath, OPEN_REEVE, home]));
    const ends = await Promise.all(children.map(({ ended }) => ended));
    const expected = { code: 0, signal: null, lines: ['ready', '[]'], stderr: '' };
    expect(ends).toStrictEqual(many(28, () => expected));
    expect(schemaOf(join(home, 'reeve.db'))).toStrictEqual({ version: SCHEMA_VERSION, check: 'ok' });
  });

  test('one opens a fresh file in the moment in which another writes to it, and waits', async () => {
    const other = new DatabaseSync(path);
    other.exec('begin immediate');
    const opening = openSqlite(path);
    // By then the first attempt was made, and has failed at once.
    await new Promise((resolve) => setImmediate(resolve));
    other.exec('commit');
    await (await opening).close();
    other.close();
    expect(schemaOf(path)).toStrictEqual({ version: SCHEMA_VERSION, check: 'ok' });
  });

  test('50 write, no "busy" reaches any, one of them wins what all claim, and nothing is lost', async () => {
    const [processes, sessions] = [50, 5];
    const children = await startAtOnce(
      many(processes, (index) => [process.execPath, child, 'write', path, `p${index}`, String(sessions)]),
    );
    const ends = await Promise.all(children.map(({ ended }) => ended));
    expect(ends.filter(({ code }) => code !== 0)).toStrictEqual([]);
    const winners = ends.filter(({ lines }) => lines.at(-1) === JSON.stringify({ won: true }));
    expect(winners).toHaveLength(1);

    const store = await openStore({ sqlite: path });
    expect((await store.live()).map(({ session }) => session.name)).toStrictEqual(['shared']);
    const { ended } = await store.overview(10_000);
    expect(ended).toHaveLength(processes * sessions);
    for (const { session } of ended) {
      const kinds = (await store.eventsOf(session.id)).map(({ kind }) => kind);
      expect(kinds).toStrictEqual(['run.claimed', 'run.started', 'run.ended']);
    }
    await store.close();
  });

  test('one is killed inside a transaction: its half-done work is gone, the others get their turn', async () => {
    const store = await openStore({ sqlite: path });
    const { session, run } = await won(store, claimOf('alpha'));
    await store.step(run.id, start);
    const before = [await store.run(run.id), await store.eventsOf(session.id)];

    const [hanging] = await startAtOnce([[process.execPath, child, 'hang', path]]);
    expect(await hanging?.line()).toBe('inside');
    expect([await store.run(run.id), await store.eventsOf(session.id)]).toStrictEqual(before);
    const [waiting] = await startAtOnce([[process.execPath, child, 'write', path, 'waiting', '1']]);
    hanging?.process.kill('SIGKILL');
    expect((await hanging?.ended)?.signal).toBe('SIGKILL');
    expect((await waiting?.ended)?.code).toBe(0);

    expect([await store.run(run.id), await store.eventsOf(session.id)]).toStrictEqual(before);
    expect(await store.eventsOf('half-done')).toStrictEqual([]);
    expect(await store.step(run.id, end())).toMatchObject({ taken: true });
    await store.close();
    expect(schemaOf(path)).toStrictEqual({ version: SCHEMA_VERSION, check: 'ok' });
  });
});

// As SQLite puts it when the disk gave an error for one of its pages.
test('one read that failed is told as that, and not as damage', async () => {
  const driver = await openSqlite(path);
  const malformed = Object.assign(new Error('database disk image is malformed'), { errcode: 11 });
  const reading = driver.read(async () => {
    throw malformed;
  });
  await expect(reading).rejects.toMatchObject({ code: 'store_unavailable', cause: malformed });
  expect(await driver.read((sql) => sql.all('select 1 as one'))).toEqual([{ one: 1 }]);
  await driver.close();
});

describe('a file that Reeve must not touch is named as what it is, and stays as it was:', () => {
  test.each(['no database at all\n', 'no database at all\n'.repeat(10_000)])('a text', async (text) => {
    writeFileSync(path, text);
    await expectUntouched('store_damaged');
  });

  test.each([0, SCHEMA_VERSION])('a database of another program, with its version %i', async (version) => {
    direct(`create table theirs (x); insert into theirs values (1); pragma user_version = ${version}`);
    await expectUntouched('store_damaged');
  });

  test('a database of a newer Reeve', async () => {
    await (await openStore({ sqlite: path })).close();
    direct(`pragma user_version = ${SCHEMA_VERSION + 1}`);
    await expectUntouched('store_newer');
  });

  test('a database with damaged pages in its middle', async () => {
    const size = await someHistory();
    const file = openSync(path, 'r+');
    // All but the first page, which has the schema, and the last: no work gets by on pages that are whole.
    const [from, to] = [PAGE_SIZE, size - PAGE_SIZE];
    writeSync(file, Buffer.alloc(to - from, 0xa5), 0, to - from, from);
    closeSync(file);
    await expectUntouched('store_damaged');
  });

  test('a database that lost its second half', async () => {
    truncateSync(path, Math.floor((await someHistory()) / 2));
    await expectUntouched('store_damaged');
  });
});

describe('without the right to write, the store is told as unavailable, and nothing changes, when', () => {
  afterEach(() => chmodSync(directory, 0o700));

  test('the directory is empty', async () => {
    chmodSync(directory, 0o500);
    expect(await resultOf(unprivileged([process.execPath, child, 'use', path]))).toBe('store_unavailable');
    expect(readdirSync(directory)).toStrictEqual([]);
  });

  test('the directory has a store', async () => {
    await someHistory();
    const before = readFileSync(path);
    chmodSync(path, 0o400);
    chmodSync(directory, 0o500);
    expect(await resultOf(unprivileged([process.execPath, child, 'use', path]))).toBe('store_unavailable');
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  test('only the file is protected', async () => {
    await someHistory();
    const before = readFileSync(path);
    chmodSync(path, 0o400);
    expect(await resultOf(unprivileged([process.execPath, child, 'use', path]))).toBe('store_unavailable');
    expect(readFileSync(path).equals(before)).toBe(true);
  });
});

test('a full disk is told as such, what was answered is kept, and with space again it goes on', async () => {
  const disk = join(directory, 'disk');
  mkdirSync(disk);
  const onSmallDisk = smallDiskAt(disk);
  const program = [process.execPath, child, 'fill', join(disk, 'reeve.db')];
  const result = await resultOf(onSmallDisk === null ? [...program, 'pages'] : [...onSmallDisk, ...program]);
  // Its type is what the program above returns.
  const { codes, next, answered, whenFull, whenFreed } = result as Record<
    'codes' | 'answered' | 'whenFull' | 'whenFreed',
    string[]
  > & { next: boolean };
  // Where the disk is a real one, a new and an existing database were also opened on it.
  expect(codes).toStrictEqual(many(onSmallDisk === null ? 2 : 4, () => 'store_full'));
  expect(next).toBe(true);
  const isStillThere = (name: string) => name !== 'session-0' || whenFull.includes(name);
  expect(whenFull).toStrictEqual(answered.filter(isStillThere).toSorted());
  expect(whenFreed).toStrictEqual([...whenFull, 'next'].toSorted());
});

/** Opening it, or else any work on it, fails with the code; its bytes stay the same. */
async function expectUntouched(code: string): Promise<void> {
  const before = readFileSync(path);
  const use = async () => {
    const store = await openStore({ sqlite: path });
    try {
      await expect(store.live()).rejects.toMatchObject({ code });
      await expect(store.claim(claimOf('another'))).rejects.toMatchObject({ code });
      await store.overview(10_000);
    } finally {
      await store.close();
    }
  };
  await expect(use()).rejects.toMatchObject({ name: 'ReeveError', code });
  expect(readFileSync(path).equals(before)).toBe(true);
}

/** Enough sessions that each table has many pages, all in the one file and none in its log; the size of the file. */
async function someHistory(): Promise<number> {
  await resultOf([process.execPath, child, 'write', path, 'session', '100']);
  direct('pragma wal_checkpoint(truncate)');
  return readFileSync(path).length;
}

function direct(sql: string): void {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
}

function schemaOf(file: string): { version: unknown; check: unknown } {
  const database = new DatabaseSync(file);
  try {
    const [version, check] = ['user_version', 'integrity_check'].map((name) =>
      database.prepare(`pragma ${name}`).get(),
    );
    return { version: Object.values(version ?? {})[0], check: Object.values(check ?? {})[0] };
  } finally {
    database.close();
  }
}

/** Permissions do not bind root; without the right to override them they do. */
function unprivileged(command: readonly string[]): readonly string[] {
  if (process.getuid?.() !== 0) return command;
  const rights = '-dac_override,-dac_read_search';
  return ['setpriv', `--bounding-set=${rights}`, `--inh-caps=${rights}`, ...command];
}

/** What to put before a command for which `directory` is a disk of its own, and a small one. Null: not here. */
function smallDiskAt(place: string): readonly string[] | null {
  const script = `mount -t tmpfs -o size=1m,mode=0777 small "$0" && exec "$@"`;
  const ways = [
    ['unshare', '-m'],
    ['sudo', '-n', 'unshare', '-m'],
    ['unshare', '-rm'],
  ];
  const way = ways.find(([program = '', ...args]) => {
    const { status } = spawnSync(program, [...args, 'sh', '-c', script, place, 'true'], { stdio: 'ignore' });
    return status === 0;
  });
  return way === undefined ? null : [...way, 'sh', '-c', script, place];
}
