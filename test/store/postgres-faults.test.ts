/** PostgreSQL and the way to it failing at the worst moments. A call then has one effect or none, and says which. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Server } from 'node:net';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ERRORS } from '../../src/api/errors.ts';
import { SCHEMA_VERSION } from '../../src/store/schema-version.ts';
import { openPostgres } from '../../src/store/postgres.ts';
import { openStore } from '../../src/store/open.ts';
import type { Row } from '../../src/store/sql.ts';
import type { Store } from '../../src/store/store.ts';
import { addUsage } from '../../src/supervisor/add-usage.ts';
import type { Context } from '../../src/supervisor/context.ts';
import { startPostgres } from '../support/postgres.ts';
import type { PostgresServer } from '../support/postgres.ts';
import { eventually } from '../support/processes.ts';
import { claimOf, end, intend, many, start, TOKEN, won } from './examples.ts';
import { startFaultProxy } from './fault-proxy.ts';
import type { CommitFault, FaultProxy } from './fault-proxy.ts';
import { submissionOf } from './submissions.ts';

/** A person who waits longer than this for "the store does not answer" has been forgotten. */
const UNAVAILABLE_WITHIN_MS = 25_000;

/** What is taken while an older Reeve is being brought up to date. */
const MIGRATION_LOCK = 7_233_391;

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

describe('a connection cut at a commit', () => {
  let url: string;
  let proxy: FaultProxy;
  /** Through the proxy. */
  let store: Store;
  /** Past it. */
  let witness: Store;
  beforeEach(async () => {
    url = await server.createDatabase();
    proxy = await startFaultProxy(server);
    witness = await openStore({ postgres: url });
    store = await openStore({ postgres: proxy.url(url) });
  });
  afterEach(async () => {
    await Promise.all([store.close(), witness.close()]);
    await proxy.close();
  });

  const faults: readonly (() => CommitFault)[] = [
    () => ({ kind: 'cut before' }),
    () => ({ kind: 'cut after' }),
    // The new connection must not look before the old one's outcome is there to be seen.
    () => ({ kind: 'cut, passed on later', meanwhile: () => somebodyWaits(url) }),
  ];
  describe.each(faults.map((make) => [make().kind, make] as const))('(%s)', (_kind, fault) => {
    test('a claim is won by the caller, once', async () => {
      proxy.atCommits(fault());
      const request = claimOf('alpha');
      const { session, run } = await won(store, request);
      expect(run.id).toBe(request.runId);
      expect(await witness.runsOf(session.id)).toStrictEqual([run]);
      expect(await kindsOf(witness, session.id)).toStrictEqual(['run.claimed']);
      expect(proxy.faultsMet()).toBe(1);
    });

    test('a claim that loses is told who owns the session', async () => {
      const { session, run } = await won(witness, claimOf('alpha'));
      // It changed nothing, so it holds nothing that anybody could wait for.
      proxy.atCommits({ kind: fault().kind === 'cut before' ? 'cut before' : 'cut after' });
      expect(await store.claim(claimOf('alpha'))).toStrictEqual({
        won: false,
        because: 'owned',
        session,
        run,
      });
      expect(await kindsOf(witness, session.id)).toStrictEqual(['run.claimed']);
      expect(proxy.faultsMet()).toBe(1);
    });

    test.each([
      ['start', [], start, 'run.started'],
      ['intend', [start], intend(), 'run.intended'],
      ['end', [start], end(), 'run.ended'],
    ] as const)('the step %s is taken, once', async (_step, way, step, kind) => {
      const { session, run } = await won(witness, claimOf('alpha'));
      for (const earlier of way) await witness.step(run.id, earlier);
      const before = await kindsOf(witness, session.id);
      proxy.atCommits(fault());
      const result = await store.step(run.id, step);
      expect(result).toStrictEqual({ taken: true, run: await witness.run(run.id), event: expect.anything() });
      expect(await kindsOf(witness, session.id)).toStrictEqual([...before, kind]);
      expect(proxy.faultsMet()).toBe(1);
    });

    test('what was spent is recorded once, and the reader is told where it is now', async () => {
      const { session, run } = await won(witness, claimOf('alpha'));
      await witness.step(run.id, start);
      const spent = { input: 5, output: 1, cacheRead: 0, cacheWrite: 0, reasoning: 0 };
      const to = { identity: 'disk:1', offset: 10, state: '' };
      const file = { nativeId: 'n1', path: '/t.jsonl' };
      const records = [{ key: 'm1', model: 'opus', atMs: start.atMs, ...spent }];
      proxy.atCommits(fault());
      const result = await store.recordUsage({ sessionId: session.id, ...file, from: null, to, records });
      // Done again, it cannot tell its own batch from another reader's, and need not.
      expect(result).toBe(fault().kind === 'cut before' ? 'recorded' : 'moved');
      expect(await witness.usageOf({ by: 'run' })).toStrictEqual([{ name: run.id, ...spent, late: 0 }]);
      expect(await witness.usagePositions(session.id)).toStrictEqual([{ ...file, position: to }]);
      expect((await witness.figures()).tokens).toStrictEqual({ claude: spent });
      expect(proxy.faultsMet()).toBe(1);
    });

    test('a submission is accepted once, and the caller is told that it was not there before', async () => {
      const { session, run } = await won(witness, claimOf('alpha'));
      const given = submissionOf(run.id, 'found');
      proxy.atCommits(fault());
      expect(await store.submit(given)).toStrictEqual({ is: 'accepted', id: given.id, again: false });
      expect(await kindsOf(witness, session.id)).toStrictEqual(['run.claimed', 'submission.accepted']);
      expect((await witness.submissions({ which: 'all', limit: 9 })).map(({ id }) => id)).toStrictEqual([
        given.id,
      ]);
      expect(proxy.faultsMet()).toBe(1);
    });

    test('a late submission is kept once, and counted once', async () => {
      const { session, run } = await won(witness, claimOf('alpha'));
      await witness.step(run.id, end());
      const given = submissionOf(run.id, 'found');
      proxy.atCommits(fault());
      expect(await store.submit(given)).toMatchObject({ is: 'fenced', known: { id: given.id, as: 'kept' } });
      expect(await kindsOf(witness, session.id)).toStrictEqual(['run.claimed', 'run.ended', 'write.fenced']);
      expect(await witness.submissions({ which: 'refused', limit: 9 })).toHaveLength(1);
      expect((await witness.figures()).counters.writes_fenced).toBe(1);
      expect(proxy.faultsMet()).toBe(1);
    });

    test('what a run reports to have spent is counted once', async () => {
      const { run } = await won(witness, claimOf('alpha', { harness: 'command' }));
      const tokens = { input: 5, output: 1, cacheRead: 0, cacheWrite: 0, reasoning: 0 };
      // It has no event by which a lost commit is known, so done again it finds itself; nobody waits for it meanwhile.
      proxy.atCommits({ kind: fault().kind === 'cut before' ? 'cut before' : 'cut after' });
      const result = await store.addUsage({ runId: run.id, token: TOKEN, key: 'k', model: 'm', tokens });
      expect(result).toStrictEqual({ is: 'accepted', again: fault().kind !== 'cut before' });
      expect(await witness.usageOf({ by: 'run' })).toStrictEqual([{ name: run.id, ...tokens, late: 0 }]);
      expect(proxy.faultsMet()).toBe(1);

      // Without a key of the caller's it cannot have been there before, and is not said to.
      proxy.atCommits({ kind: 'cut after' });
      const context = { store } as Context; // With credentials given it needs no more.
      const added = await addUsage(context, { model: 'm', input: 7 }, { run: run.id, token: TOKEN });
      expect(added).toMatchObject({ accepted: true, again: false });
      expect(await witness.usageOf({ by: 'run' })).toMatchObject([{ input: 12 }]);
    });

    test('a note is kept once, and a removal happens once', async () => {
      const { session, run } = await won(witness, claimOf('alpha'));
      await witness.step(run.id, end());
      proxy.atCommits(fault(), fault());
      const note = { sessionId: session.id, runId: run.id, kind: 'run.doubted', actor: 'ada', data: {} };
      await store.note(note, 'always');
      expect(await kindsOf(witness, session.id)).toStrictEqual(['run.claimed', 'run.ended', 'run.doubted']);
      expect(await store.removeSession(session.id, 'ada')).toBe(true);
      expect(await kindsOf(witness, session.id)).toStrictEqual(['session.removed']);
      expect(proxy.faultsMet()).toBe(2);
    });
  });

  test('a heartbeat is accepted', async () => {
    const { run } = await won(witness, claimOf('alpha'));
    proxy.atCommits({ kind: 'cut before' }, { kind: 'cut after' });
    expect(await store.heartbeat(run.id, TOKEN)).toStrictEqual({ accepted: true });
    expect(proxy.faultsMet()).toBe(2);
  });

  test('again and again, before any got through, has no effect and is told as unavailable', async () => {
    proxy.atCommits(...many(20, () => ({ kind: 'cut before' }) as const));
    await expectUnavailable(store.claim(claimOf('alpha')));
    expect(await witness.find('alpha')).toStrictEqual({ matches: [] });
  });

  test('after which nothing answers any more is told as unavailable, and its one effect is found later', async () => {
    proxy.atCommits({ kind: 'cut after' });
    const request = claimOf('alpha');
    const claim = expectUnavailable(store.claim(request));
    await eventually('the commit', () => proxy.faultsMet() === 1);
    await proxy.close();
    await claim;
    proxy = await startFaultProxy(server);
    const result = await witness.claim(claimOf('alpha'));
    expect([result.won, result.run.id]).toStrictEqual([false, request.runId]);
    expect(await witness.runsOf(request.sessionId)).toHaveLength(1);
  });

  test('that falls silent holds up nobody else for long, and is made good on a new one', async () => {
    proxy.atCommits({ kind: 'mute' });
    const request = claimOf('alpha');
    const muted = won(store, request);
    await eventually('the commit', () => proxy.faultsMet() === 1);
    await won(witness, claimOf('beta'));
    expect((await muted).run.id).toBe(request.runId);
    expect(await kindsOf(witness, request.sessionId)).toStrictEqual(['run.claimed']);
  });
});

// Together, because what they wait for is a timeout of the product.
describe.concurrent('a server that cannot be used is told as unavailable, within bounds, when it', () => {
  test('is not there', async () => {
    await expectUnavailable(openPostgres('postgres://reeve@127.0.0.1:1/reeve'));
    await expectUnavailable(openPostgres('postgres://reeve@nowhere.invalid/reeve'));
  });

  test('accepts connections and never says a word', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    try {
      await expectUnavailable(openPostgres(`postgres://reeve@127.0.0.1:${portOf(silent)}/reeve`));
    } finally {
      silent.close();
    }
  });

  test('falls silent during use', async () => {
    const proxy = await startFaultProxy(server);
    const store = await openStore({ postgres: proxy.url(await server.createDatabase()) });
    try {
      proxy.mute();
      await expectUnavailable(store.live());
    } finally {
      await store.close();
      await proxy.close();
    }
  });

  test('has no such database', async () => {
    await expectUnavailable(openPostgres(server.url('missing')));
  });

  test('lets itself only be read', async () => {
    const url = await server.createDatabase();
    const store = await openStore({ postgres: url });
    await store.close();
    await sql(url, `alter database ${databaseOf(url)} set default_transaction_read_only = on`);
    const readOnly = await openStore({ postgres: url });
    try {
      expect(await readOnly.live()).toStrictEqual([]);
      await expectUnavailable(readOnly.claim(claimOf('alpha')));
      // The setting is that of a connection: whoever found it so must not come back to that one.
      await sql(
        server.url('postgres'),
        `alter database ${databaseOf(url)} reset default_transaction_read_only`,
      );
      await won(readOnly, claimOf('alpha'));
    } finally {
      await readOnly.close();
    }
  });
});

describe('an address', () => {
  test('that is none is told as usage', async () => {
    await expect(openPostgres('not an address')).rejects.toMatchObject({ code: 'usage' });
  });

  test('is shown without user and password, in errors too', async () => {
    const url = (await server.createDatabase()).replace('//reeve@', '//reeve:secret@');
    const store = await openStore({ postgres: url });
    expect(store.place).toBe(`postgres://127.0.0.1:${server.port}/${databaseOf(url)}`);
    await store.close();
    const error: unknown = await openPostgres('postgres://me:secret@127.0.0.1:1/reeve').catch(
      (e: unknown) => e,
    );
    expect(`${String(error)}${JSON.stringify(error)}`).not.toContain('secret');
  });
});

test('a full disk of the server is told as such, and nothing was changed', async () => {
  const url = await server.createDatabase();
  const store = await openStore({ postgres: url });
  try {
    await sql(
      url,
      `create function full_disk() returns trigger language plpgsql as
        $$ begin raise exception 'No space left on device' using errcode = '53100'; end $$`,
    );
    await sql(url, 'create trigger full_disk before insert on events execute function full_disk()');
    await expect(store.claim(claimOf('alpha'))).rejects.toMatchObject({ code: 'store_full' });
    await sql(url, 'drop trigger full_disk on events');
    expect(await store.find('alpha')).toStrictEqual({ matches: [] });
    await won(store, claimOf('alpha'));
  } finally {
    await store.close();
  }
});

describe('a failure that passes by itself', () => {
  let url: string;
  let store: Store;
  beforeAll(async () => {
    url = await server.createDatabase();
    store = await openStore({ postgres: url });
    // A number of a sequence is used up also by what is rolled back.
    await failOnce('00000');
    await sql(url, 'create trigger fail_once before insert on events execute function fail_once()');
  });
  afterAll(() => store.close());

  const failOnce = (code: string) =>
    sql(
      url,
      `drop sequence if exists tries; create sequence tries;
       create or replace function fail_once() returns trigger language plpgsql as $$ begin
         if nextval('reeve.tries') = 1 then raise exception 'it fails' using errcode = '${code}'; end if;
         return null;
       end $$`,
    );

  test.each([
    ['08006', 'the connection failed'],
    ['25P03', 'the transaction was idle for too long'],
    ['40001', 'somebody else wrote first'],
    ['40P01', 'two waited for each other'],
    ['53300', 'there is no room'],
    ['57P01', 'an administrator ended it'],
    ['57P03', 'the server is coming up'],
  ])('(%s, %s) is made good: what met it happens once', async (code) => {
    await failOnce(code);
    const { session } = await won(store, claimOf(`met ${code}`));
    expect(await kindsOf(store, session.id)).toStrictEqual(['run.claimed']);
    expect(await sql(url, 'select last_value::int as tries from tries')).toStrictEqual([{ tries: 2 }]);
  });
});

test('a server stopped and started while a connection is idle harms neither the process nor the next call', async () => {
  const store = await openStore({ postgres: await server.createDatabase() });
  await won(store, claimOf('alpha'));
  await server.halt();
  await server.start();
  expect((await store.live()).map(({ session }) => session.name)).toStrictEqual(['alpha']);
  await store.close();
});

test('a server stopped and started during use gives no wrong answer, and is used again', async () => {
  const store = await openStore({ postgres: await server.createDatabase() });
  const answers = new Map<string, 'won' | 'unknown'>();
  let isOver = false;
  const claimOn = async (lane: number) => {
    for (let index = 0; !isOver; index += 1) {
      const request = claimOf(`session-${lane}-${index}`);
      const result = await store.claim(request).catch((error: unknown) => error);
      if (typeof result === 'object' && result !== null && 'won' in result) {
        expect(result.won).toBe(true);
        answers.set(request.sessionId, 'won');
      } else {
        expect(result).toMatchObject({ code: 'store_unavailable' });
        answers.set(request.sessionId, 'unknown');
      }
    }
  };
  try {
    const lanes = many(6, claimOn);
    const answered = (count: number) => eventually(`${count} answers`, () => answers.size >= count);
    await answered(50);
    await server.halt();
    await expectUnavailable(store.live());
    await server.start();
    await answered(answers.size + 50);
    await server.halt();
    await server.start();
    await answered(answers.size + 50);
    isOver = true;
    await Promise.all(lanes);
    for (const [sessionId, answer] of answers) {
      const [runs, kinds] = [await store.runsOf(sessionId), await kindsOf(store, sessionId)];
      if (answer === 'won') expect(runs).toHaveLength(1);
      // Told as unknown, it happened once or not at all.
      expect(kinds).toStrictEqual(runs.length === 1 ? ['run.claimed'] : []);
    }
  } finally {
    isOver = true;
    await store.close();
  }
});

describe('the schema', () => {
  test('is made once by 28 that open a fresh database at once', async () => {
    const url = await server.createDatabase();
    const drivers = await Promise.all(many(28, () => openPostgres(url)));
    await Promise.all(drivers.map((driver) => driver.close()));
    expect(await sql(url, 'select version from schema_version')).toStrictEqual([{ version: SCHEMA_VERSION }]);
  });

  test('that a newer Reeve makes meanwhile is not touched', async () => {
    const url = await server.createDatabase();
    const newer = new pg.Client(url);
    await newer.connect();
    await newer.query(`begin; select pg_advisory_xact_lock(${MIGRATION_LOCK}); create schema reeve;
      create table reeve.schema_version (version integer not null);
      insert into reeve.schema_version values (${SCHEMA_VERSION + 1})`);
    const opening = expect(openPostgres(url)).rejects.toMatchObject({ code: 'store_newer' });
    await somebodyWaits(url);
    await newer.query('commit');
    await opening;
    await newer.end();
  });

  test('of a newer Reeve is not touched', async () => {
    const url = await server.createDatabase();
    await (await openPostgres(url)).close();
    await sql(url, `insert into schema_version values (${SCHEMA_VERSION + 1})`);
    await expect(openPostgres(url)).rejects.toMatchObject({ code: 'store_newer' });
    expect(await sql(url, 'select version from schema_version order by 1')).toHaveLength(2);
  });

  test('upgraded by a newer Reeve while it is open here, is neither read nor written any more', async () => {
    const url = await server.createDatabase();
    const driver = await openPostgres(url);
    await sql(url, `insert into schema_version values (${SCHEMA_VERSION + 1})`);
    const refusal = { code: 'store_newer' };
    await expect(driver.read((each) => each.all('select 1 as one'))).rejects.toMatchObject(refusal);
    const counted = driver.write('o', (each) => each.run(`insert into counters values ('planted', 1)`));
    await expect(counted).rejects.toMatchObject(refusal);
    // Not left in the middle of something: taken back, it is used again.
    await sql(url, `delete from schema_version where version > ${SCHEMA_VERSION}`);
    expect(await driver.read((each) => each.all('select count(*) as n from counters'))).toStrictEqual([
      { n: 0 },
    ]);
    await driver.close();
  });
});

async function expectUnavailable(work: Promise<unknown>): Promise<void> {
  const startedAtMs = performance.now();
  await expect(work).rejects.toMatchObject({ name: 'ReeveError', code: 'store_unavailable' });
  expect(ERRORS.store_unavailable.exitCode).toBe(7);
  expect(performance.now() - startedAtMs).toBeLessThan(UNAVAILABLE_WITHIN_MS);
}

async function kindsOf(store: Store, sessionId: string): Promise<string[]> {
  return (await store.eventsOf(sessionId)).map(({ kind }) => kind);
}

/** Until a connection of the store waits for a lock. */
async function somebodyWaits(url: string): Promise<void> {
  await eventually(
    'somebody waits for a lock',
    async () => (await sql(url, 'select 1 as found from pg_locks where not granted')).length > 0,
  );
}

async function sql(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url, options: '-c search_path=reeve' });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}

function databaseOf(url: string): string {
  return new URL(url).pathname.slice(1);
}

function portOf(listening: Server): number {
  const address = listening.address();
  return address === null || typeof address === 'string' ? 0 : address.port;
}
