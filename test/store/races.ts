/** Races on one database, staged by many at once over several connections; and what the schema refuses by itself. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { StepResult } from '../../src/lifecycle/run.ts';
import type { ClaimResult, Store, StoredEvent } from '../../src/store/store.ts';
import type { Database, Engine } from './engine.ts';
import {
  claimOf,
  end,
  executing,
  held,
  identity,
  intend,
  many,
  pick,
  start,
  withdraw,
  won,
} from './examples.ts';

const CONNECTIONS = 5;

let database: Database;
let stores: Store[];
let store: Store;

export function describeStoreRaces(engine: Engine): void {
  describe(`races in the store on ${engine.name}`, () => {
    beforeEach(async () => {
      database = await engine.createDatabase();
      stores = [];
      for (let index = 0; index < CONNECTIONS; index += 1) stores.push(await database.open());
      store = pick(stores, 0);
    });
    afterEach(() => database.close());

    describe('claims', describeClaims);
    describe('steps', describeSteps);
    describe('the schema itself', describeSchema);
  });
}

function describeClaims(): void {
  test('fifty of one new session at once have one winner, and the others are told who', async () => {
    expectOneWinner(await claimAtOnce(50));
    expect(await store.live()).toHaveLength(1);
  });

  test('fifty of one ended session at once have one winner, and the others are told who', async () => {
    const { session, run } = await won(store, claimOf('alpha'));
    await store.step(run.id, end());
    const winner = expectOneWinner(await claimAtOnce(50));
    expect(winner.run.epoch).toBe(2);
    expect(kindsOf(await store.eventsOf(session.id))).toStrictEqual([
      'run.claimed',
      'run.ended',
      'run.claimed',
    ]);
  });

  test('of twenty sessions at once all win', async () => {
    const results = await Promise.all(
      many(20, (index) => pick(stores, index).claim(claimOf(`session-${index}`))),
    );
    expect(results.filter((result) => result.won)).toHaveLength(20);
    expect(await store.live()).toHaveLength(20);
  });

  test('that must be new, at once with others, join nobody’s session', async () => {
    const results = await Promise.all(
      many(10, (index) => pick(stores, index).claim(claimOf('alpha', { mustBeNew: true }))),
    );
    expectOneWinner(results);
  });

  test('at once with a removal either find the session gone or keep it, and never fail', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { session, run } = await won(store, claimOf('alpha'));
      await store.step(run.id, end());
      const removals = [pick(stores, 1), pick(stores, 2)].map((other) =>
        other.removeSession(session.id, 'ada'),
      );
      const [result, ...removed] = await Promise.all([pick(stores, 3).claim(claimOf('alpha')), ...removals]);
      expect(result.won).toBe(true);
      // Removed first: a new session at epoch 1. Claimed first: the same session at epoch 2, which cannot be removed.
      const isSame = result.session.id === session.id;
      expect([result.run.epoch, removed.includes(true)]).toStrictEqual(isSame ? [2, false] : [1, true]);
      expect(await store.live()).toStrictEqual([{ session: result.session, run: result.run }]);
      await store.step(result.run.id, end());
      await store.removeSession(result.session.id, 'ada');
    }
  });
}

function claimAtOnce(count: number): Promise<ClaimResult[]> {
  return Promise.all(many(count, (index) => pick(stores, index).claim(claimOf('alpha'))));
}

function expectOneWinner(results: readonly ClaimResult[]): Extract<ClaimResult, { won: true }> {
  const [winner, ...others] = results.filter((result) => result.won);
  if (winner === undefined) throw new Error('Nobody won.');
  expect(others).toStrictEqual([]);
  const { session, run } = winner;
  for (const result of results) {
    if (result !== winner) expect(result).toStrictEqual({ won: false, because: 'owned', session, run });
  }
  return winner;
}

function describeSteps(): void {
  test('two intents at once: one is taken, and stays', async () => {
    const outcomes = ['stopped', 'superseded'] as const;
    await expectOneTaken(
      [start],
      outcomes.map((outcome) => intend({ outcome })),
      'already_intended',
    );
  });

  test('an intent taken back while another is put on record: the other stays', async () => {
    const other = intend({ actor: 'bob', id: 'intent-2', by: identity(401) });
    for (let round = 0; round < 10; round += 1) {
      const { run } = await won(store, claimOf(`session-${round}`));
      for (const step of [start, held]) await store.step(run.id, step);
      const results = await Promise.all([
        pick(stores, 1 + (round % 2)).step(run.id, withdraw),
        pick(stores, 2 - (round % 2)).step(run.id, other),
      ]);
      expect(results.map(({ taken }) => taken)).toStrictEqual([true, true]);
      expect((await store.run(run.id))?.intent).toStrictEqual(other.intent);
    }
  });

  test('an intent taken back while the run ends by it: one is taken, and what the record says fits together', async () => {
    const rivals = [withdraw, { ...end({ outcome: 'stopped' }), decidedOn: held.intent }];
    for (let round = 0; round < 10; round += 1) {
      const { run } = await won(store, claimOf(`session-${round}`));
      for (const step of [start, held]) await store.step(run.id, step);
      const results = await Promise.all(
        rivals.map((step, index) => pick(stores, round + index).step(run.id, step)),
      );
      expect(results.filter(({ taken }) => taken)).toHaveLength(1);
      const now = await store.run(run.id);
      expect([now?.state, now?.intent?.id]).toStrictEqual(
        results[0]?.taken === true ? ['running', undefined] : ['ended', 'intent-1'],
      );
    }
  });

  test('two ends at once: one is taken, and stays', async () => {
    const outcomes = ['completed', 'lost'] as const;
    await expectOneTaken(
      [start],
      outcomes.map((outcome) => end({ outcome })),
      'ended',
    );
  });

  test('two starts at once: one is taken, and stays', async () => {
    await expectOneTaken([], [start, { ...start, atMs: start.atMs + 1 }], 'already_started');
  });

  test('two reports of the harness at once: one is taken, and stays', async () => {
    const other = { ...executing, harness: { ...executing.harness, pid: 301 } };
    await expectOneTaken([start], [executing, other], 'already_started');
  });

  test('a start and an intent at once: the run is intended, and it started only if that came first', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { run } = await won(store, claimOf(`session-${round}`));
      const [started, intended] = await Promise.all([
        pick(stores, 1 + (round % 2)).step(run.id, start),
        pick(stores, 2 - (round % 2)).step(run.id, intend()),
      ]);
      const now = await store.run(run.id);
      expect(intended.taken).toBe(true);
      expect([now?.intent, now?.state]).toStrictEqual([
        intend().intent,
        started.taken ? 'running' : 'claimed',
      ]);
      const kinds = kindsOf(await store.eventsOf(run.sessionId));
      expect(kinds).toStrictEqual(['run.claimed', ...(started.taken ? ['run.started'] : []), 'run.intended']);
    }
  });

  test('many refused heartbeats at once are noted once', async () => {
    const { session, run } = await won(store, claimOf('alpha'));
    await store.step(run.id, end());
    const results = await Promise.all(many(20, (index) => pick(stores, index).heartbeat(run.id, 'wrong')));
    expect(results.filter(({ accepted }) => accepted)).toStrictEqual([]);
    expect(kindsOf(await store.eventsOf(session.id))).toStrictEqual([
      'run.claimed',
      'run.ended',
      'write.fenced',
    ]);
  });
}

async function expectOneTaken(
  way: readonly Parameters<Store['step']>[1][],
  rivals: readonly Parameters<Store['step']>[1][],
  because: string,
): Promise<void> {
  for (let round = 0; round < 10; round += 1) {
    const { session, run } = await won(store, claimOf(`session-${round}`));
    for (const step of way) await store.step(run.id, step);
    const before = await store.eventsOf(session.id);
    const results: StepResult[] = await Promise.all(
      rivals.map((step, index) => pick(stores, round + index).step(run.id, step)),
    );
    const taken = results.flatMap((result) => (result.taken ? [result] : []));
    expect(taken).toHaveLength(1);
    expect(results.filter((result) => !result.taken)).toStrictEqual([{ taken: false, because }]);
    expect(await store.run(run.id)).toStrictEqual(taken[0]?.run);
    expect(kindsOf(await store.eventsOf(session.id))).toStrictEqual([
      ...kindsOf(before),
      taken[0]?.event.kind,
    ]);
  }
}

function describeSchema(): void {
  test('refuses a second live run of a session, whoever inserts it, and takes an ended one', async () => {
    const { run } = await won(store, claimOf('alpha'));
    await store.step(run.id, start);
    const columns = 'mode, argv, cwd, actor, launcher, token_hash, claimed_at';
    const copy = (id: string, state: string, ending: string) =>
      database.sql(`insert into runs (id, session_id, epoch, state, ${columns}, ending, outcome)
        select '${id}', session_id, epoch + 1, '${state}', ${columns}, ${ending}, ${ending} from runs`);
    for (const state of ['claimed', 'running']) {
      // The engines name the index, or the one column that it has.
      await expect(copy('other', state, 'null')).rejects.toThrow(/runs_one_live|failed: runs\.session_id$/);
    }
    expect(await store.runsOf(run.sessionId)).toHaveLength(1);
    await copy('other', 'ended', `'"lost"'`);
    expect(await store.runsOf(run.sessionId)).toHaveLength(2);
  });

  test('refuses to bring an ended run back, to end one without an outcome, and an unknown state', async () => {
    const ended = await won(store, claimOf('alpha'));
    await store.step(ended.run.id, end());
    const live = await won(store, claimOf('beta'));
    for (const [runId, change] of [
      [ended.run.id, `state = 'running'`],
      [ended.run.id, `state = 'claimed'`],
      [live.run.id, `state = 'ended'`],
      [live.run.id, `state = 'paused'`],
    ]) {
      await expect(database.sql(`update runs set ${change} where id = '${runId}'`)).rejects.toThrow(/check/i);
    }
  });
}

function kindsOf(events: readonly StoredEvent[]): string[] {
  return events.map(({ kind }) => kind);
}
