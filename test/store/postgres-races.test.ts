/** Races that only an engine with writers side by side can have, staged: who must be slow is held up, not hoped for. */
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { openPostgres } from '../../src/store/postgres.ts';
import { createStore } from '../../src/store/sql-store.ts';
import type { Sql, SqlDriver } from '../../src/store/sql.ts';
import type { ReviewPlanWrite, Store } from '../../src/store/store.ts';
import { startPostgres } from '../support/postgres.ts';
import type { PostgresServer } from '../support/postgres.ts';
import { eventually } from '../support/processes.ts';
import { claimOf, end, identity, many, start, TOKEN, won } from './examples.ts';
import { startFaultProxy } from './fault-proxy.ts';
import { submissionOf } from './submissions.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

let url: string;
let direct: pg.Client;
const opened: SqlDriver[] = [];
beforeEach(async () => {
  url = await server.createDatabase();
  await open();
  direct = new pg.Client({ connectionString: url, options: '-c search_path=reeve' });
  await direct.connect();
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((driver) => driver.close()));
  await direct.end();
});

test('a reader of the log who asks only for what is new misses nothing while eight write', async () => {
  const writers = await Promise.all(many(8, () => open()));
  const read = readerOfTheLog(await open());
  let isOver = false;
  const writing = Promise.all(
    writers.map(async (store, writer) => {
      for (let index = 0; index < 40; index += 1) {
        const { run } = await won(store, claimOf(`session-${writer}-${index}`));
        await store.step(run.id, start);
      }
    }),
  ).finally(() => {
    isOver = true;
  });
  while (!isOver) await read();
  await writing;
  expect(await read()).toStrictEqual(await allNumbers());
  expect(await allNumbers()).toHaveLength(8 * 40 * 2);
});

test('a claim whose session is removed under its hands makes a new one', async () => {
  const store = await open();
  const { session, run } = await won(store, claimOf('alpha'));
  await store.step(run.id, end());
  await direct.query('begin');
  await direct.query('select * from sessions for update');
  const request = claimOf('alpha');
  const claim = won(await open(), request);
  // It found the name taken, and now waits for the row that the removal holds.
  await eventually('the claim waits', somebodyWaits);
  for (const table of ['events', 'runs', 'sessions']) await direct.query(`delete from ${table}`);
  await direct.query('commit');

  const result = await claim;
  expect([result.session.id, result.run.epoch]).toStrictEqual([request.sessionId, 1]);
  expect(result.session.id).not.toBe(session.id);
});

test('a step on a run that ended after it was read changes nothing, even without the lock on its row', async () => {
  const [driver, rival] = [await openDriver(), await open()];
  const { session, run } = await won(rival, claimOf('alpha'));
  const unlocked = createStore(
    withoutRowLocks(driver, async () => {
      await rival.step(run.id, end({ outcome: 'completed' }));
    }),
  );
  for (const step of [start, end({ outcome: 'lost' })]) {
    expect(await unlocked.step(run.id, step)).toStrictEqual({ taken: false, because: 'ended' });
  }
  expect((await rival.run(run.id))?.ending?.outcome).toBe('completed');
  const kinds = (await rival.eventsOf(session.id)).map(({ kind }) => kind);
  expect(kinds).toStrictEqual(['run.claimed', 'run.ended']);
});

test('a submission that waits while its run ends, and another begins, is refused and kept, not accepted', async () => {
  const [store, rival] = [await open(), await open()];
  const { run } = await won(rival, claimOf('alpha'));
  await direct.query('begin');
  await direct.query('select * from sessions for update');
  const given = submissionOf(run.id, 'found');
  const submitting = store.submit(given);
  // It has read the run, which was current then, and now waits for the session.
  await eventually('the submission waits', somebodyWaits);
  await rival.step(run.id, end({ outcome: 'superseded' }));
  await direct.query('commit');
  expect(await submitting).toMatchObject({
    is: 'fenced',
    because: 'it has ended (superseded)',
    known: { id: given.id, as: 'kept' },
  });
});

test('a run that ends waits for its submission, which then stands before the end', async () => {
  const proxy = await startFaultProxy(server);
  const [slow, rival] = [await open(proxy.url(url)), await open()];
  const { session, run } = await won(rival, claimOf('alpha'));
  let ending: Promise<unknown> = Promise.resolve();
  proxy.atCommits({
    kind: 'delay',
    meanwhile: async () => {
      ending = rival.step(run.id, end());
      await eventually('the end waits', somebodyWaits);
    },
  });
  expect((await slow.submit(submissionOf(run.id, 'found'))).is).toBe('accepted');
  await ending;
  const kinds = (await rival.eventsOf(session.id)).map(({ kind }) => kind);
  expect(kinds).toStrictEqual(['run.claimed', 'submission.accepted', 'run.ended']);
  await proxy.close();
});

test('whoever takes over the lock of reviews waits for the plan that its holder is writing', async () => {
  const proxy = await startFaultProxy(server);
  const [slow, rival] = [await open(proxy.url(url)), await open()];
  const { session } = await reviewing(rival);
  const displace = { sessionId: session.id, token: 'lock-2', holder: identity(8), instead: LOCK };
  let displacing: Promise<unknown> = Promise.resolve();
  proxy.atCommits({
    kind: 'delay',
    meanwhile: async () => {
      displacing = rival.takeReviewLock(displace);
      await eventually('the one who takes over waits', somebodyWaits);
    },
  });
  expect(await slow.writeReviewPlan(planOf(session.id, 'b'))).toBe(true);
  expect(await displacing).toStrictEqual({ is: 'taken' });
  expect(await slow.writeReviewPlan(planOf(session.id, 'c'))).toBe(false);
  await proxy.close();
});

test('a run that ends waits for the review it submits, which then stands before the end', async () => {
  const proxy = await startFaultProxy(server);
  const [slow, rival] = [await open(proxy.url(url)), await open()];
  const { run, submission } = await reviewing(rival);
  let ending: Promise<unknown> = Promise.resolve();
  proxy.atCommits({
    kind: 'delay',
    meanwhile: async () => {
      ending = rival.step(run.id, end());
      await eventually('the end waits', somebodyWaits);
    },
  });
  expect((await slow.submitReview(submission)).is).toBe('accepted');
  expect(await ending).toMatchObject({ taken: true });
  await proxy.close();
});

test('a review that is over by the time it is written changes no more, even without the lock on its row', async () => {
  const [driver, rival] = [await openDriver(), await open()];
  const { session, run } = await reviewing(rival);
  const cancel = { kind: 'cancel', reason: 'x', when: 'now' } as const;
  const unlocked = createStore(
    withoutRowLocks(driver, async () => {
      await rival.stepReviews([{ id: 'rev-a', step: cancel }], 'ada');
    }),
  );
  const leave = { kind: 'leave', runId: run.id, was: 'executed', how: 'x' } as const;
  expect(await unlocked.stepReviews([{ id: 'rev-a', step: leave }], 'reconcile')).toStrictEqual([]);
  expect((await rival.reviews({}))[0]?.review.state).toBe('cancelled');
  expect(await reviewKinds(rival, session.id)).toStrictEqual([
    'review.created',
    'review.started',
    'review.cancelled',
  ]);
});

test('a review that is submitted when it is over is put aside, even without the lock on its row', async () => {
  const [driver, rival] = [await openDriver(), await open()];
  const { session, submission } = await reviewing(rival);
  const cancel = { kind: 'cancel', reason: 'x', when: 'now' } as const;
  const unlocked = createStore(
    withoutRowLocks(driver, async () => {
      await rival.stepReviews([{ id: 'rev-a', step: cancel }], 'ada');
    }),
  );
  expect(await unlocked.submitReview(submission)).toMatchObject({ is: 'refused', isKept: true });
  expect((await rival.reviews({}))[0]?.review.state).toBe('cancelled');
  expect(await rival.reviewTexts('rev-a')).toMatchObject({ body: null, late: { body: 'fine' } });
  expect(await reviewKinds(rival, session.id)).toStrictEqual([
    'review.created',
    'review.started',
    'review.cancelled',
    'review.fenced',
  ]);
});

const LOCK = 'lock-1';

/** A review that a run is at. */
async function reviewing(store: Store) {
  const { session } = await won(store, claimOf('worker'));
  const { run } = await won(store, claimOf('reviewer'));
  await store.takeReviewLock({ sessionId: session.id, token: LOCK, holder: identity(7), instead: null });
  await store.writeReviewPlan(planOf(session.id, 'a'));
  await store.stepReviews([{ id: 'rev-a', step: { kind: 'bind', runId: run.id } }], 'ada');
  const submission = { id: 'rev-a', runId: run.id, token: TOKEN, verdict: 'approve', body: 'fine' } as const;
  return { session, run, submission };
}

function planOf(sessionId: string, head: string): ReviewPlanWrite {
  const wanted = { pr: head, head, tree: null };
  const created = [{ ...wanted, id: `rev-${head}`, state: 'queued' as const }];
  return { sessionId, lockToken: LOCK, actor: 'ada', heads: [wanted], created, steps: [] };
}

async function reviewKinds(store: Store, sessionId: string): Promise<readonly string[]> {
  const kinds = (await store.eventsOf(sessionId)).map(({ kind }) => kind);
  return kinds.filter((kind) => kind.startsWith('review.'));
}

/** Injects the fault: rows are read without their lock, and the rival comes right after the first read. */
function withoutRowLocks(driver: SqlDriver, rival: () => Promise<void>): SqlDriver {
  const unlocked = (sql: Sql): Sql => ({
    ...sql,
    forUpdate: '',
    all: async (text, values) => {
      const rows = await sql.all(text, values);
      await rival();
      return rows;
    },
  });
  return { ...driver, write: (op, work) => driver.write(op, (sql) => work(unlocked(sql))) };
}

/** Each call asks for what is new since the last, and gives all that was seen so far. */
function readerOfTheLog(store: Store): () => Promise<number[]> {
  const seen: number[] = [];
  return async () => {
    const events = await store.events({ after: seen.at(-1) ?? 0, limit: 1000 });
    seen.push(...events.map(({ seq }) => seq));
    return seen;
  };
}

async function allNumbers(): Promise<number[]> {
  const { rows } = await direct.query<{ seq: string }>('select seq from events order by seq');
  return rows.map(({ seq }) => Number(seq));
}

async function somebodyWaits(): Promise<boolean> {
  return (await direct.query('select 1 from pg_locks where not granted')).rows.length > 0;
}

async function open(address = url): Promise<Store> {
  return createStore(await openDriver(address));
}

async function openDriver(address = url): Promise<SqlDriver> {
  const driver = await openPostgres(address);
  opened.push(driver);
  return driver;
}
