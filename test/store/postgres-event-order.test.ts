/** The log of an engine whose writers commit side by side, in any order: who follows it misses nothing, and doubles nothing. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventOrderIn } from '../../src/store/postgres-event-order.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { startPostgres } from '../support/postgres.ts';
import type { PostgresServer } from '../support/postgres.ts';
import { eventually } from '../support/processes.ts';
import { claimOf, many, pick, start, won } from './examples.ts';
import { startFaultProxy } from './fault-proxy.ts';
import type { FaultProxy } from './fault-proxy.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

let url: string;
let store: Store;
let clients: pg.Client[];
let direct: pg.Client | undefined;
let proxy: FaultProxy;
beforeEach(async () => {
  url = await server.createDatabase();
  store = await openStore({ postgres: url });
  clients = [];
  proxy = await startFaultProxy(server);
});
afterEach(async () => {
  await Promise.all([store.close(), ...clients.map((client) => client.end())]);
  await direct?.end();
  direct = undefined;
  await proxy.close();
});

test('a writer does not wait for another one’s commit, and a reader in between neither misses nor doubles', async () => {
  const [slow, quick] = [await openStore({ postgres: proxy.url(url) }), await openStore({ postgres: url })];
  const before = await won(quick, claimOf('before'));
  const log = follow();
  const between: unknown[] = [];
  proxy.atCommits({
    kind: 'delay',
    meanwhile: async () => {
      // The lower number is drawn, and not committed.
      const { run } = await won(quick, claimOf('quick'));
      await quick.step(run.id, start);
      between.push(await log.read(), await store.lastSeq(), (await store.eventsOf(run.sessionId)).length);
    },
  });
  await won(slow, claimOf('slow'));
  expect(between).toStrictEqual([[1], 1, 2]);
  expect(await log.read()).toStrictEqual([1, 2, 3, 4]);
  expect(await store.lastSeq()).toBe(4);
  const kinds = (await store.events({ after: 0, limit: 9 })).map(({ kind, sessionId }) => [kind, sessionId]);
  expect(kinds.slice(0, 2)).toStrictEqual([
    ['run.claimed', before.session.id],
    ['run.claimed', (await store.sessionByName('slow'))?.session.id],
  ]);
  await Promise.all([slow.close(), quick.close()]);
});

test('a reader passes the number of a writer that gave up, or whose connection was ended', async () => {
  const [gaveUp, cut] = [await writer(), await writer()];
  await gaveUp.draw();
  await cut.draw();
  await won(store, claimOf('alpha'));
  const log = follow();
  expect(await log.read()).toStrictEqual([]);
  await gaveUp.end('rollback');
  expect(await log.read()).toStrictEqual([]);
  await cut.terminate();
  await eventually('the number of the one that was cut off is passed', async () => {
    return (await log.read()).length === 1;
  });
  expect(await log.read()).toStrictEqual([3]);
});

/** Long enough for several to be open at once; a short one would show nothing. */
const steps = fc.array(
  fc.tuple(
    fc.nat(3),
    fc.constantFrom('announce', 'draw', 'draw', 'draw', 'commit', 'commit', 'rollback', 'read', 'read'),
  ),
  { minLength: 15, maxLength: 30 },
);

describe.each([
  ['from the first number on', 1],
  ['across the end of 31 bits', 2 ** 31 - 4],
  ['across the end of 32 bits', 2 ** 32 - 4],
] as const)('in whatever order writers draw, commit and give up, %s', (_where, from) => {
  test('who follows sees in the end what was committed, in order and once, and never a gap that is filled later', async () => {
    const writers = await Promise.all(many(4, () => writer()));
    await fc.assert(
      fc.asyncProperty(steps, async (taken) => {
        await sql(`delete from reeve.events; alter sequence reeve.events_seq_seq restart with ${from}`);
        const log = follow(from - 1);
        for (const [who, step] of taken) {
          if (step === 'read') await log.read();
          else if (step === 'announce' || step === 'draw') await pick(writers, who)[step]();
          else await pick(writers, who).end(step);
          await log.isComplete();
        }
        for (const one of writers) await one.end('commit');
        expect(await log.read()).toStrictEqual(await committed());
      }),
      { numRuns: 20 },
    );
  });
});

test('beyond 32 bits, who writes holds up what comes after, and nothing before', async () => {
  await sql(`alter sequence reeve.events_seq_seq restart with ${2 ** 32 + 10}`);
  await won(store, claimOf('alpha'));
  await (await writer()).announce();
  expect(await follow().read()).toStrictEqual([2 ** 32 + 10]);
});

test('what others in the same database lock holds up nobody', async () => {
  await sql('create schema other');
  await sql('create table other.events (seq bigint generated always as identity, op text)');
  const [foreign, another] = [await connected(), await connected()];
  await foreign.query('begin');
  await foreign.query(numbered(eventOrderIn('other').announce), ['op']);
  await another.query('select pg_advisory_lock(1, 1), pg_advisory_lock(1), pg_advisory_lock_shared(0, 0)');
  await won(store, claimOf('alpha'));
  expect(await follow().read()).toStrictEqual([1]);
});

test('what is written to a copy of the database, whose sequence has the same number, holds up nobody', async () => {
  await store.close();
  const copy = `${url}_copy`;
  const [from, to] = [url, copy].map((address) => new URL(address).pathname.slice(1));
  const administrator = new pg.Client({ connectionString: server.url('postgres') });
  await administrator.connect();
  await administrator.query(`create database ${to} template ${from}`);
  await administrator.end();
  const foreign = await connected(copy);
  await foreign.query('begin');
  await foreign.query(numbered(eventOrderIn('reeve').announce), ['op']);
  store = await openStore({ postgres: url });
  await won(store, claimOf('alpha'));
  await won(store, claimOf('beta'));
  expect(await follow().read()).toStrictEqual([1, 2]);
});

test('a writer of an earlier Reeve, which held the order alone, is waited for', async () => {
  const earlier = await connected();
  await earlier.query('begin');
  await earlier.query('select pg_advisory_xact_lock(7233392)');
  await earlier.query(`insert into reeve.events (op, at, session_id, kind, actor, data)
    values ('earlier', 0, 's', 'x', 'x', '{}')`);
  const log = follow();
  const claiming = won(store, claimOf('alpha'));
  await eventually('the claim waits', async () => {
    return (await sql(`select 1 from pg_locks where locktype = 'advisory' and not granted`)).length > 0;
  });
  expect(await log.read()).toStrictEqual([]);
  await earlier.query('commit');
  await claiming;
  expect(await log.read()).toStrictEqual([1, 2]);
});

test('a standby, which cannot know who writes, gives no events to follow, and still tells a story', async () => {
  const { session } = await won(store, claimOf('alpha'));
  const [{ directory } = { directory: '' }] = await sql(
    `select current_setting('data_directory') as directory`,
  );
  await server.halt();
  writeFileSync(join(String(directory), 'standby.signal'), '');
  await server.start();
  expect(await store.eventsOf(session.id)).toHaveLength(1);
  await expect(store.events({ after: 0, limit: 9 })).rejects.toMatchObject({
    code: 'store_unavailable',
    message: expect.stringContaining('standby'),
  });
  await sql('select pg_promote()');
  await eventually('it is a primary', async () => (await store.events({ after: 0, limit: 9 })).length === 1);
});

/** Each read asks for what is new since the last, and gives all that was seen so far. */
function follow(from = 0) {
  const seen: number[] = [];
  return {
    read: async () => {
      const events = await store.events({ after: seen.at(-1) ?? from, limit: 100 });
      seen.push(...events.map(({ seq }) => seq));
      return [...seen];
    },
    /** Nothing is visible below the last that was seen, but what was seen. */
    isComplete: async () => {
      const below = (await committed()).filter((seq) => seq <= (seen.at(-1) ?? from));
      expect(seen).toStrictEqual(below);
    },
  };
}

async function committed(): Promise<number[]> {
  return (await sql('select seq from reeve.events order by seq')).map(({ seq }) => Number(seq));
}

/** A transaction whose every step is taken when the test says so. */
async function writer() {
  const client = await connected();
  let isWriting = false;
  const announce = async () => {
    if (isWriting) return;
    await client.query('begin');
    await client.query(numbered(eventOrderIn('reeve').announce), [`op of ${clients.indexOf(client)}`]);
    isWriting = true;
  };
  return {
    announce,
    draw: async () => {
      await announce();
      await client.query(`insert into reeve.events (op, at, session_id, kind, actor, data)
        values ('op', 0, 's', 'x', 'x', '{}')`);
    },
    end: async (how: 'commit' | 'rollback') => {
      if (isWriting) await client.query(how);
      isWriting = false;
    },
    terminate: async () => {
      const [{ pid } = { pid: 0 }] = (await client.query<{ pid: number }>('select pg_backend_pid() as pid'))
        .rows;
      client.on('error', () => {});
      await sql(`select pg_terminate_backend(${pid})`);
    },
  };
}

function numbered(text: string): string {
  return text.replace('?', '$1');
}

async function connected(address = url): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: address });
  clients.push(client);
  client.on('error', () => {});
  await client.connect();
  return client;
}

async function sql(text: string): Promise<readonly Record<string, unknown>[]> {
  if (direct === undefined) {
    direct = new pg.Client({ connectionString: url });
    // It is cut off by a server that is halted.
    direct.on('error', () => (direct = undefined));
    await direct.connect();
  }
  return (await direct.query<Record<string, unknown>>(text)).rows;
}
