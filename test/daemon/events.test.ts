import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openSqlite } from '../../src/store/sqlite.ts';
import { createStore } from '../../src/store/sql-store.ts';
import type { Store } from '../../src/store/store.ts';
import { eventually, isAlive, see, signalSeen } from '../support/processes.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';
import { readEvents } from './event-reader.ts';
import type { EventReader } from './event-reader.ts';

let sandbox: Sandbox;
let store: Store;
let readers: EventReader[];
beforeEach(async () => {
  sandbox = createSandbox();
  await sandbox.json(['ls']);
  store = createStore(await openSqlite(join(sandbox.home, 'reeve.db')));
  readers = [];
});
afterEach(async () => {
  for (const reader of readers) reader.close();
  await store.close();
  await sandbox.json(['serve', 'stop']);
  await sandbox.cleanUp();
});

const serve = () => sandbox.json<{ pid: number }>(['serve', '--detach']);
const socket = () => join(sandbox.home, 'daemon', 'socket');

function follow(from: number): EventReader {
  const reader = readEvents(socket, from);
  readers.push(reader);
  return reader;
}

/** As many events as asked for, as fast as the disk takes them. */
async function write(count: number, sessionId = 's-written'): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    await store.note({ sessionId, runId: null, kind: 'test.noted', actor: 'ada', data: { index } }, 'always');
  }
}

const stored = async () => (await store.events({ after: 0, limit: 100_000 })).map(({ seq }) => seq);

it('tells every event once and in order, of this process and of others', async () => {
  await serve();
  const reader = follow(0);
  await write(50);
  await sandbox.json(['run', '-d', '-s', 'a', '--', 'true']);
  await eventually('the run has ended', async () => (await sandbox.show('a')).run.state === 'ended');
  const expected = await stored();
  await eventually('all were seen', () => reader.seen.length >= expected.length);
  expect(reader.seen.map(({ seq }) => seq)).toEqual(expected);
  expect(reader.seen.at(-1)).toMatchObject({ session: 'a', kind: 'run.ended' });
  expect(reader.seen.at(-1)?.text).toMatch(/ended as completed/);
});

it('goes on behind the last one seen, and without a word of it from now on', async () => {
  await write(10);
  await serve();
  const [all, late] = [follow(0), follow(7)];
  await eventually('the earlier ones', () => all.seen.length === 10 && late.seen.length === 3);
  expect(late.seen.map(({ seq }) => seq)).toEqual((await stored()).slice(7));
});

it('misses none and doubles none of 10,000 while the daemon is killed again and again', async () => {
  const total = 10_000;
  let daemon = await serve();
  const [one, two] = [follow(0), follow(0)];
  const writing = write(total);
  for (const part of [0.1, 0.3, 0.5, 0.7, 0.9]) {
    // In the middle of what it is sending, wherever that is.
    await eventually('some were seen', () => one.seen.length >= total * part, 120_000);
    const process = see(daemon.pid);
    signalSeen(process, 'SIGKILL');
    await eventually('the daemon is dead', () => !isAlive(process));
    daemon = await serve();
  }
  await writing;
  const expected = await stored();
  expect(expected).toHaveLength(total);
  for (const reader of [one, two]) {
    await eventually('all were seen', () => reader.seen.length >= total, 120_000);
    expect(reader.seen.map(({ seq }) => seq)).toEqual(expected);
    expect(reader.connections()).toBeGreaterThan(1);
  }
}, 240_000);
