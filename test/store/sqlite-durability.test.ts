/** When SQLite waits for the disk: always, but for what the next write takes along. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openSqlite } from '../../src/store/sqlite.ts';
import type { Sql, SqlDriver } from '../../src/store/sql.ts';

const [NORMAL, FULL] = [1, 2];

let directory: string;
let driver: SqlDriver;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'reeve-durability-'));
  driver = await openSqlite(join(directory, 'reeve.db'));
});
afterEach(async () => {
  await driver.close();
  rmSync(directory, { recursive: true });
});

const waits = async (sql: Sql) => (await sql.all('pragma synchronous'))[0]?.['synchronous'];

it('waits for every write, but for one that may go with the next', async () => {
  expect(await driver.write('a', waits)).toBe(FULL);
  expect(await driver.write('b', waits, 'with_next')).toBe(NORMAL);
  expect(await driver.write('c', waits)).toBe(FULL);
  expect(await driver.write('d', waits, 'now')).toBe(FULL);
});

it('waits again after one that failed', async () => {
  const failing = driver.write('a', () => Promise.reject(new Error('no')), 'with_next');
  await expect(failing).rejects.toThrow('no');
  expect(await driver.write('b', waits)).toBe(FULL);
});

it('keeps two units of work that were asked for at once apart', async () => {
  const asked = [driver.write('a', waits, 'with_next'), driver.write('b', waits)];
  expect(await Promise.all(asked)).toEqual([NORMAL, FULL]);
});
