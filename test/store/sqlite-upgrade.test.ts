/** A database of an older Reeve is upgraded: by one, with a copy of what was there, and said. */
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { STEPS } from '../../src/store/migrations.ts';
import { SCHEMA_VERSION } from '../../src/store/schema-version.ts';
import { openSqlite } from '../../src/store/sqlite.ts';
import { many } from './examples.ts';

const OLDER = SCHEMA_VERSION - 1;
/** "Reev", as in the header of every database of ours. */
const APPLICATION_ID = 0x52656576;
const DIALECT = {
  eventNumber: 'integer primary key autoincrement',
  bigInteger: 'integer',
  keyedByText: ' without rowid',
  freshId: 'lower(hex(randomblob(12)))',
  extra: [],
};

let directory: string;
let path: string;
let backup: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'reeve-upgrade-'));
  path = join(directory, 'reeve.db');
  backup = `${path}.schema-${OLDER}`;
  const database = new DatabaseSync(path);
  for (const statement of STEPS.slice(0, OLDER).flatMap((step) => step(DIALECT))) database.exec(statement);
  database.exec(`
    insert into events (op, at, session_id, kind, actor, data) values ('o', 1, 's-1', 'run.claimed', 'me', '{}');
    pragma application_id = ${APPLICATION_ID}; pragma user_version = ${OLDER}`);
  database.close();
});
afterEach(() => rmSync(directory, { recursive: true }));

test('what was there is kept beside it for its user alone, and a person is told', async () => {
  const told: string[] = [];
  await (await openSqlite(path, { tell: (words) => told.push(words) })).close();
  expect(versionAndEvents(path)).toStrictEqual({ version: SCHEMA_VERSION, events: 1 });
  expect(versionAndEvents(backup)).toStrictEqual({ version: OLDER, events: 1 });
  expect(statSync(backup).mode & 0o777).toBe(0o600);
  expect(told).toHaveLength(1);
  expect(told[0]).toContain(backup);
});

test('of many openers one upgrades and tells, and the copy is of what was there before', async () => {
  const told: string[] = [];
  const drivers = await Promise.all(many(8, () => openSqlite(path, { tell: (words) => told.push(words) })));
  await Promise.all(drivers.map((driver) => driver.close()));
  expect(told).toHaveLength(1);
  expect(versionAndEvents(backup)).toStrictEqual({ version: OLDER, events: 1 });
});

test('one that was cut short left half a copy, which does not stand in the way', async () => {
  writeFileSync(`${backup}.new`, 'half');
  await (await openSqlite(path)).close();
  expect(versionAndEvents(backup)).toStrictEqual({ version: OLDER, events: 1 });
  expect(existsSync(`${backup}.new`)).toBe(false);
});

test('where it must not be upgraded now, it stays as it was', async () => {
  const refusal = new Error('somebody older is at work');
  const refused = openSqlite(path, { before: () => Promise.reject(refusal) });
  await expect(refused).rejects.toBe(refusal);
  expect(versionAndEvents(path)).toStrictEqual({ version: OLDER, events: 1 });
  expect(existsSync(backup)).toBe(false);
});

test('a new one is nobody’s, so nobody is asked or told, and nothing is copied', async () => {
  const fresh = join(directory, 'fresh.db');
  const told: string[] = [];
  const before = () => Promise.reject(new Error('asked'));
  await (await openSqlite(fresh, { before, tell: (words) => told.push(words) })).close();
  expect(told).toStrictEqual([]);
  expect(existsSync(`${fresh}.schema-0`)).toBe(false);
});

test('upgraded by a newer Reeve while it is open here, it is neither read nor written any more', async () => {
  const driver = await openSqlite(path);
  const newer = new DatabaseSync(path);
  newer.exec(`pragma user_version = ${SCHEMA_VERSION + 1}`);
  const add = `insert into events (op, at, session_id, kind, actor, data) values ('p', 2, 's-1', 'run.ended', 'me', '{}')`;
  const refusal = { code: 'store_newer' };
  await expect(driver.read((sql) => sql.all('select 1'))).rejects.toMatchObject(refusal);
  await expect(driver.write('p', (sql) => sql.run(add))).rejects.toMatchObject(refusal);
  newer.close();
  await driver.close();
  expect(versionAndEvents(path)).toStrictEqual({ version: SCHEMA_VERSION + 1, events: 1 });
});

function versionAndEvents(file: string): { version: number; events: number } {
  const database = new DatabaseSync(file);
  const one = (text: string) => Number(Object.values(database.prepare(text).get() ?? {})[0]);
  const found = { version: one('pragma user_version'), events: one('select count(*) from events') };
  database.close();
  return found;
}
