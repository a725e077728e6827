/** Opening a store that others made, hold or limit, or that is away for a while. */
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { startPostgres } from '../support/postgres.ts';
import type { PostgresServer } from '../support/postgres.ts';
import { eventually } from '../support/processes.ts';
import { claimOf, won } from './examples.ts';
import { startFaultProxy } from './fault-proxy.ts';

/** What CREATE takes while an older Reeve is being brought up to date. */
const MIGRATION_LOCK = 7_233_391;

let server: PostgresServer;
beforeAll(async () => {
  // Few, so that they can be used up.
  server = await startPostgres({ settings: ['max_connections=20', 'superuser_reserved_connections=3'] });
  await query(
    server.url('postgres'),
    'create role looker login; create role slow superuser login; create role guest login',
  );
});
afterAll(() => server.stop());

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  client.on('error', () => {});
  await client.connect();
  return client;
}

async function query(url: string, text: string): Promise<void> {
  const client = await connect(url);
  await client.query(text);
  await client.end();
}

/** A database with a store in it that has one session. */
async function madeStore(): Promise<string> {
  const url = await server.createDatabase();
  const store = await openStore({ postgres: url });
  await won(store, claimOf('alpha'));
  await store.close();
  return url;
}

const as = (role: string, url: string) => url.replace('//reeve@', `//${role}@`);

async function named(store: Store): Promise<string[]> {
  return (await store.live()).map(({ session }) => session.name);
}

async function looking(url: string, work: (store: Store) => Promise<void>): Promise<void> {
  const store = await openStore({ postgres: url });
  try {
    expect(await named(store)).toStrictEqual(['alpha']);
    await work(store);
  } finally {
    await store.close();
  }
}

const refusal = (words: string) => ({
  name: 'ReeveError',
  code: 'store_unavailable',
  message: expect.stringContaining(words),
});

describe('a store that is up to date is opened without making anything', () => {
  it('by a role that may only read', async () => {
    const url = await madeStore();
    await query(
      url,
      'grant usage on schema reeve to looker; grant select on all tables in schema reeve to looker; grant select on all sequences in schema reeve to looker',
    );
    await looking(as('looker', url), async (store) => {
      await expect(store.claim(claimOf('beta'))).rejects.toMatchObject(refusal('permission denied'));
    });
  });

  it('by a role that may read and write, and make no tables', async () => {
    const url = await madeStore();
    await query(
      url,
      `grant usage on schema reeve to looker; grant all on all tables in schema reeve to looker;
       grant all on all sequences in schema reeve to looker`,
    );
    await looking(as('looker', url), async (store) => {
      await won(store, claimOf('beta'));
    });
  });

  it('on a hot standby, which can be looked at and watched', async () => {
    const url = await madeStore();
    const standby = await startPostgres({ standbyOf: server });
    try {
      const source = await openStore({ postgres: url });
      await eventually('a standby that nobody waits for is told', () => source.isCopiedLater());
      await source.close();
      await looking(url.replace(`:${server.port}/`, `:${standby.port}/`), async (store) => {
        await expect(store.claim(claimOf('beta'))).rejects.toMatchObject(refusal('read-only'));
        let calls = 0;
        const stop = await store.watch(() => (calls += 1));
        await looking(url, async (primary) => {
          await won(primary, claimOf('beta'));
        });
        await eventually('the watcher is told', () => calls > 0);
        stop();
      });
    } finally {
      await standby.stop();
    }
  });

  it('while somebody holds the locks of those who change it', async () => {
    const url = await madeStore();
    const holder = await connect(url);
    await holder.query(
      `begin; lock table reeve.schema_version in exclusive mode; lock table reeve.runs in share mode`,
    );
    await holder.query('select pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    await looking(url, async () => {});
    await holder.end();
  });
});

describe('a store that is not made', () => {
  it('and may not be is told so, and nothing is made elsewhere', async () => {
    const url = await server.createDatabase();
    await expect(openStore({ postgres: as('guest', url) })).rejects.toMatchObject(
      refusal('permission denied'),
    );
    const client = await connect(url);
    const { rows } = await client.query(`select nspname from pg_namespace where nspname = 'reeve'`);
    expect(rows).toStrictEqual([]);
    await client.end();
  });

  it('by whoever may use it not at all is not made a second time', async () => {
    const url = await madeStore();
    await expect(openStore({ postgres: as('guest', url) })).rejects.toMatchObject(
      refusal('permission denied'),
    );
  });
});

it('a store that lacks a table is told as damaged, by whoever opens it and by whoever had it open', async () => {
  const url = await madeStore();
  const open = await openStore({ postgres: url });
  await query(url, 'drop table reeve.runs cascade');
  const damaged = { code: 'store_damaged', message: expect.stringContaining('lacks a table of Reeve') };
  await expect(open.live()).rejects.toMatchObject(damaged);
  await open.close();
  const later = await openStore({ postgres: url });
  await expect(later.live()).rejects.toMatchObject(damaged);
  await later.close();
});

it('a store whose rows were all removed is told as damaged, and nothing is made', async () => {
  const url = await madeStore();
  await query(url, 'truncate reeve.schema_version, reeve.sessions, reeve.runs, reeve.events cascade');
  await expect(openStore({ postgres: url })).rejects.toMatchObject({ code: 'store_damaged' });
  await query(url, 'drop schema reeve cascade');
  const store = await openStore({ postgres: url });
  expect(await named(store)).toEqual([]);
  await store.close();
});

it('a server that kills connections in the moment of hand-over harms nobody', async () => {
  const url = await madeStore();
  const proxy = await startFaultProxy(server);
  proxy.atHandOvers(3);
  await looking(proxy.url(url), async () => {});
  expect(proxy.faultsMet()).toBe(3);
  await proxy.close();
});

it('a server that kills idle connections while they are taken again harms nobody', async () => {
  const url = await madeStore();
  const killer = await connect(url);
  await looking(url, async (store) => {
    for (let round = 0; round < 30; round += 1) {
      const kill = killer.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'reeve' and datname = current_database()`,
      );
      expect(await named(store)).toStrictEqual(['alpha']);
      await kill;
    }
  });
  await killer.end();
});

it('a server that refuses for a while is waited for, with a word to whoever waits', async () => {
  const url = await madeStore();
  const told: string[] = [];
  await server.halt();
  const opening = openStore({
    postgres: url,
    patience: { forMs: 300_000, tell: (words) => told.push(words) },
  });
  await eventually('somebody is told', () => told.length > 0);
  await server.start();
  const store = await opening;
  expect(await named(store)).toStrictEqual(['alpha']);
  expect(told[0]).toMatch(/connection refused.*\d+ s more/);
  // In the middle of use as well.
  await server.halt();
  told.length = 0;
  const claim = won(store, claimOf('beta'));
  await eventually('somebody is told again', () => told.length > 0);
  await server.start();
  await claim;
  await store.close();
});

it('a server without room for another connection is waited for, and then told as full', async () => {
  const url = await madeStore();
  await query(
    url,
    'grant usage on schema reeve to looker; grant select on all tables in schema reeve to looker; grant select on all sequences in schema reeve to looker',
  );
  const holders: pg.Client[] = [];
  const fill = async () => {
    for (;;) {
      const client = await connect(as('looker', url)).catch(() => null);
      if (client === null) return;
      holders.push(client);
    }
  };
  await fill();
  await expect(openStore({ postgres: as('looker', url), patience: { forMs: 1_000 } })).rejects.toMatchObject({
    ...refusal('remaining connection slots'),
    hint: expect.stringContaining('max_connections'),
  });
  const told: string[] = [];
  const opening = openStore({
    postgres: as('looker', url),
    patience: { forMs: 300_000, tell: (words) => told.push(words) },
  });
  await eventually('somebody is told', () => told.length > 0);
  await Promise.all(holders.map((client) => client.end()));
  const store = await opening;
  expect(await named(store)).toStrictEqual(['alpha']);
  await store.close();
});

it.each([
  ['a statement timeout', `alter role slow set statement_timeout = '200ms'`, 'statement timeout'],
  ['a lock timeout', `alter role slow set lock_timeout = '200ms'`, 'lock timeout'],
])('%s of the server is told in a sentence', async (_, setting, words) => {
  const url = await madeStore();
  await query(url, `alter role slow reset all; ${setting}`);
  const holder = await connect(url);
  const store = await openStore({ postgres: as('slow', url) });
  await holder.query('begin; lock table reeve.sessions in access exclusive mode');
  await expect(store.live()).rejects.toMatchObject(refusal(words));
  await holder.query('rollback');
  // The connection goes on.
  expect(await named(store)).toStrictEqual(['alpha']);
  await store.close();
  await holder.end();
});
