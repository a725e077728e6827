/** The contract of the Store port, third part: conversations, and what harnesses say of themselves. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { HarnessFact } from '../../src/lifecycle/harness-fact.ts';
import type { Store } from '../../src/store/store.ts';
import type { Database, Engine } from './engine.ts';
import { claimOf, end, many, pick, start, won } from './examples.ts';

let database: Database;
let stores: Store[];
let one: Store;
let two: Store;

export function describeStoreNative(engine: Engine): void {
  describe(`conversations on ${engine.name}`, () => {
    beforeEach(async () => {
      database = await engine.createDatabase();
      stores = await Promise.all(many(3, () => database.open()));
      [one, two] = [pick(stores, 0), pick(stores, 1)];
    });
    afterEach(() => database.close());

    describe('a claim', describeClaim);
    describe('an observation', describeObservation);
  });
}

function began(nativeId: string, changes: Partial<HarnessFact> = {}): HarnessFact {
  const fact = {
    kind: 'session.began' as const,
    nativeId,
    atMs: 5_000,
    evidence: 'its hook',
    isFromHarness: true,
  };
  // Only fields that every kind has are changed.
  return { ...fact, ...changes } as HarnessFact;
}

function describeClaim(): void {
  test('binds the conversation it asks for, and finds the session by it and by its beginning', async () => {
    const { session, run } = await won(one, claimOf('alpha', { nativeId: '8e18be4f-aa' }));
    expect(session.nativeId).toBe('8e18be4f-aa');
    expect(run.native).toStrictEqual({ is: 'asked', id: '8e18be4f-aa' });
    expect((await two.sessionByNative('claude', '8e18be4f-aa'))?.session).toStrictEqual(session);
    expect(await two.sessionByNative('gemini', '8e18be4f-aa')).toBeNull();
    for (const reference of ['8e18be4f-aa', '8e18']) {
      expect((await two.find(reference)).matches.map((match) => match.session.name)).toStrictEqual(['alpha']);
    }
  });

  test('of a conversation that another session has is lost, and leaves nothing behind', async () => {
    const first = await won(one, claimOf('alpha', { nativeId: 'n-1' }));
    await one.step(first.run.id, end());
    expect(await two.claim(claimOf('beta', { nativeId: 'n-1' }))).toMatchObject({
      won: false,
      because: 'native_taken',
      session: { name: 'alpha' },
    });
    expect(await one.sessionByName('beta')).toBeNull();
    expect(await database.sql('select name from sessions')).toEqual([{ name: 'alpha' }]);
  });

  test('is won by one of many that ask for one conversation under different names at once', async () => {
    const results = await Promise.all(
      many(12, (index) =>
        pick(stores, index % stores.length).claim(claimOf(`s${index}`, { nativeId: 'n-1' })),
      ),
    );
    const winners = results.filter(({ won: isWon }) => isWon);
    expect(winners).toHaveLength(1);
    for (const result of results) expect(result.session.name).toBe(winners[0]?.session.name);
    expect(await database.sql('select name from sessions')).toHaveLength(1);
  });

  test('by the session that has the conversation is won again, and a new conversation joins the old one', async () => {
    const { run } = await won(one, claimOf('alpha', { nativeId: 'n-1' }));
    await one.step(run.id, end());
    const second = await won(two, claimOf('alpha', { nativeId: 'n-1' }));
    await one.step(second.run.id, end());
    const third = await won(two, claimOf('alpha', { nativeId: 'n-2' }));
    expect(third.session.nativeId).toBe('n-2');
    expect((await one.sessionByNative('claude', 'n-1'))?.session.id).toBe(third.session.id);
  });

  test('frees its conversation when the session is removed', async () => {
    const { session, run } = await won(one, claimOf('alpha', { nativeId: 'n-1' }));
    await one.step(run.id, end());
    await one.removeSession(session.id, 'ada');
    expect(await one.sessionByNative('claude', 'n-1')).toBeNull();
    expect((await won(two, claimOf('beta', { nativeId: 'n-1' }))).session.name).toBe('beta');
  });
}

function describeObservation(): void {
  test('binds the conversation that the harness chose, sets its activity and adds one event', async () => {
    const { session, run } = await won(one, claimOf('alpha'));
    await one.step(run.id, start);
    expect(await two.observe(run.id, began('n-1'), 'm1')).toMatchObject({ is: 'accepted' });
    const stored = await one.sessionByName('alpha');
    expect(stored?.session.nativeId).toBe('n-1');
    expect(stored?.run.native).toStrictEqual({ is: 'bound', id: 'n-1' });
    expect(stored?.run.activity).toStrictEqual({
      is: 'idle',
      sinceMs: 5_000,
      evidence: 'its hook',
      waitingFor: null,
    });
    expect((await one.eventsOf(session.id)).at(-1)).toMatchObject({
      kind: 'harness.session.began',
      actor: 'claude',
      runId: run.id,
      data: { nativeId: 'n-1', source: 'm1' },
    });
    await one.step(run.id, { kind: 'executing', harness: start.keeper });
    expect((await one.run(run.id))?.native).toStrictEqual({ is: 'bound', id: 'n-1' });
  });

  test('is taken once, however many readers bring it at the same time', async () => {
    const { session, run } = await won(one, claimOf('alpha', { nativeId: 'n-1' }));
    await one.step(run.id, start);
    const results = await Promise.all(
      many(9, (index) => pick(stores, index % stores.length).observe(run.id, began('n-1'), 'm1')),
    );
    expect(results.map(({ is }) => is).sort()).toStrictEqual(['accepted', ...many(8, () => 'seen')]);
    const events = await one.eventsOf(session.id);
    expect(events.filter(({ kind }) => kind === 'harness.session.began')).toHaveLength(1);
  });

  test('of another conversation is fenced, noted, and changes nothing', async () => {
    const { session, run } = await won(one, claimOf('alpha', { nativeId: 'n-1' }));
    await one.step(run.id, start);
    await one.observe(run.id, began('n-1'), 'm1');
    const before = await one.sessionByName('alpha');
    const foreign = { ...began('n-2'), kind: 'turn.ended' } as HarnessFact;
    expect(await two.observe(run.id, foreign, 'm2')).toStrictEqual({
      is: 'fenced',
      because: expect.any(String),
    });
    expect(await one.sessionByName('alpha')).toStrictEqual(before);
    expect((await one.eventsOf(session.id)).at(-1)).toMatchObject({
      kind: 'hook.fenced',
      data: { what: 'turn.ended', nativeId: 'n-2', source: 'm2' },
    });
    for (const index of many(60, (each) => each)) await one.observe(run.id, foreign, `more-${index}`);
    const fenced = (await one.eventsOf(session.id)).filter(({ kind }) => kind === 'hook.fenced');
    expect(fenced.length).toBe(20);
  });

  test('of a run that is over, or that another one succeeded, is fenced', async () => {
    const { run } = await won(one, claimOf('alpha', { nativeId: 'n-1' }));
    await one.step(run.id, start);
    await one.step(run.id, end());
    expect(await one.observe(run.id, began('n-1'), 'm1')).toMatchObject({ is: 'fenced' });
    await won(one, claimOf('alpha', { nativeId: 'n-1' }));
    expect(await one.observe(run.id, began('n-1'), 'm2')).toMatchObject({ is: 'fenced' });
    expect(await one.observe('nobody', began('n-1'), 'm3')).toMatchObject({ is: 'fenced' });
  });

  test('never binds a conversation that another session has', async () => {
    await won(one, claimOf('alpha', { nativeId: 'n-1' }));
    const { session, run } = await won(one, claimOf('beta'));
    await one.step(run.id, start);
    expect(await two.observe(run.id, began('n-1'), 'm1')).toMatchObject({ is: 'fenced' });
    expect((await one.sessionByName('beta'))?.session.nativeId).toBeNull();
    expect((await one.eventsOf(session.id)).at(-1)).toMatchObject({
      kind: 'native.taken',
      data: { nativeId: 'n-1', owner: 'alpha' },
    });
  });
}
