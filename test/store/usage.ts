/** The contract of the token ledger: every answer once, for the run that spent it, together with the position. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { UsagePosition, UsageRecord } from '../../src/lifecycle/usage.ts';
import type { Store, UsageBatch } from '../../src/store/store.ts';
import type { Database, Engine } from './engine.ts';
import { claimOf, end, intend, many, start, won } from './examples.ts';

let database: Database;
let one: Store;
let two: Store;

export function describeStoreUsage(engine: Engine): void {
  describe(`the ledger on ${engine.name}`, () => {
    beforeEach(async () => {
      database = await engine.createDatabase();
      [one, two] = [await database.open(), await database.open()];
    });
    afterEach(() => database.close());

    describe('recording', describeRecording);
    describe('spending', describeSpending);
    describe('asking', describeAsking);
  });
}

const DAY_MS = 86_400_000;
/** Noon of 2023-11-14, a moment before the examples start. */
const NOON_MS = 1_699_963_200_000;

const at = (offset: number, state = ''): UsagePosition => ({ identity: 'disk:1', offset, state });

function answer(key: string, changes: Partial<UsageRecord> = {}): UsageRecord {
  return {
    key,
    model: 'opus',
    atMs: start.atMs,
    input: 100,
    output: 10,
    cacheRead: 1000,
    cacheWrite: 5,
    reasoning: 3,
    ...changes,
  };
}

function batchOf(sessionId: string, changes: Partial<UsageBatch> = {}): UsageBatch {
  return {
    sessionId,
    nativeId: 'n1',
    path: '/t.jsonl',
    from: null,
    to: at(10),
    records: [answer('m1')],
    ...changes,
  };
}

async function running(name: string, startedAtMs = NOON_MS, harness = 'claude') {
  const claimed = await won(one, claimOf(name, { harness }));
  await one.step(claimed.run.id, { ...start, atMs: startedAtMs });
  return claimed;
}

const ONE = { input: 100, output: 10, cacheRead: 1000, cacheWrite: 5, reasoning: 3 };

function describeRecording(): void {
  test('puts answers and the position on record together', async () => {
    const { session, run } = await running('alpha');
    expect(await one.usagePositions(session.id)).toStrictEqual([]);
    expect(await one.recordUsage(batchOf(session.id, { to: at(10, 'carried') }))).toBe('recorded');
    expect(await two.usagePositions(session.id)).toStrictEqual([
      { nativeId: 'n1', path: '/t.jsonl', position: at(10, 'carried') },
    ]);
    expect(await two.usageOf({ by: 'run' })).toStrictEqual([{ name: run.id, ...ONE, late: 0 }]);
  });

  test('counts an answer once, however often it is told, and with the most that was told of it', async () => {
    const { session, run } = await running('alpha');
    const told = [answer('m1', { output: 1 }), answer('m1'), answer('m1', { output: 4 })];
    await one.recordUsage(batchOf(session.id, { records: told }));
    await one.recordUsage(batchOf(session.id, { from: at(10), to: at(20), records: told }));
    const grown = [answer('m1', { output: 12 }), answer('m2')];
    await one.recordUsage(batchOf(session.id, { from: at(20), to: at(30), records: grown }));
    await one.recordUsage(batchOf(session.id, { path: '/copy.jsonl', records: grown }));
    const fewer = [answer('m2', { input: 1, output: 1 })];
    await one.recordUsage(batchOf(session.id, { from: at(30), to: at(40), records: fewer }));
    expect(await two.usageOf({ by: 'run' })).toStrictEqual([
      { name: run.id, input: 200, output: 22, cacheRead: 2000, cacheWrite: 10, reasoning: 6, late: 0 },
    ]);
    expect(await two.usageOf({ by: 'run', sinceMs: 0 })).toStrictEqual(await two.usageOf({ by: 'run' }));
  });

  test('writes nothing for a reader that began where the file is no longer read to', async () => {
    const { session } = await running('alpha');
    await one.recordUsage(batchOf(session.id));
    const stale = { to: at(30), records: [answer('m2')] };
    expect(await two.recordUsage(batchOf(session.id, stale))).toBe('moved');
    expect(await two.recordUsage(batchOf(session.id, { ...stale, from: at(5) }))).toBe('moved');
    expect(await two.recordUsage(batchOf(session.id, { ...stale, from: at(10, 'other') }))).toBe('moved');
    const elsewhere = { ...at(10), identity: 'disk:2' };
    expect(await two.recordUsage(batchOf(session.id, { ...stale, from: elsewhere }))).toBe('moved');
    expect(await one.usageOf({ by: 'session' })).toStrictEqual([{ name: session.id, ...ONE, late: 0 }]);
    expect(await one.recordUsage(batchOf(session.id, { ...stale, from: at(10) }))).toBe('recorded');
  });

  test('of many that record the same at once, one does, and nothing counts twice', async () => {
    const { session } = await running('alpha');
    const records = many(150, (index) => answer(`m${index}`));
    const stores = await Promise.all(many(4, () => database.open()));
    const results = await Promise.all(
      stores.map((store) => store.recordUsage(batchOf(session.id, { records }))),
    );
    expect(results.toSorted()).toStrictEqual(['moved', 'moved', 'moved', 'recorded']);
    await Promise.all(
      stores.map((store, index) =>
        store.recordUsage(batchOf(session.id, { path: `/other-${index}.jsonl`, records })),
      ),
    );
    const [sum] = await one.usageOf({ by: 'session' });
    expect(sum).toStrictEqual({
      name: session.id,
      input: 15_000,
      output: 1500,
      cacheRead: 150_000,
      cacheWrite: 750,
      reasoning: 450,
      late: 0,
    });
    expect((await one.figures()).tokens).toStrictEqual({
      claude: { input: 15_000, output: 1500, cacheRead: 150_000, cacheWrite: 750, reasoning: 450 },
    });
  });

  test('leaves neither answers nor position behind when it cannot write both', async () => {
    const { session } = await running('alpha');
    // More than the column takes: the last thing that a batch writes.
    const bad = batchOf(session.id, { to: { ...at(10), state: null as unknown as string } });
    await expect(one.recordUsage(bad)).rejects.toThrow();
    expect(await one.usageOf({ by: 'session' })).toStrictEqual([]);
    expect(await one.usagePositions(session.id)).toStrictEqual([]);
    expect((await one.figures()).tokens).toStrictEqual({});
    expect(await one.recordUsage(batchOf(session.id))).toBe('recorded');
  });

  test('takes whatever names and times a transcript has', async () => {
    const { session } = await running('alpha');
    const odd = [
      answer('a\0b', { model: `\0${'x'.repeat(5000)}` }),
      answer('?; drop table usage; --', { atMs: 9e15 }),
      answer('ü'.repeat(3000)),
    ];
    expect(await one.recordUsage(batchOf(session.id, { records: odd }))).toBe('recorded');
    expect(await one.recordUsage(batchOf(session.id, { from: at(10), records: odd }))).toBe('recorded');
    expect((await one.usageOf({ by: 'session' }))[0]?.output).toBe(30);
  });

  test('is forgotten with its session, but stays in what the harness spent in all', async () => {
    const { session, run } = await running('alpha');
    await one.recordUsage(batchOf(session.id));
    await one.step(run.id, end());
    expect(await one.removeSession(session.id, 'ada')).toBe(true);
    expect(await two.recordUsage(batchOf(session.id, { from: at(10), to: at(20) }))).toBe('gone');
    for (const table of ['usage', 'usage_sums', 'usage_files'])
      expect(await database.sql(`select * from ${table}`)).toStrictEqual([]);
    expect(await two.usageOf({ by: 'session' })).toStrictEqual([]);
    expect((await two.figures()).tokens).toStrictEqual({ claude: ONE });
  });
}

function describeSpending(): void {
  test('is of the run that had started last; what comes after its end is late', async () => {
    const first = await running('alpha', NOON_MS);
    await one.step(first.run.id, end({ endedAtMs: NOON_MS + 1000 }));
    const second = await running('alpha', NOON_MS + 5000);
    const records = [-1, 0, 1000, 1001, 4999, 5000, 9000].map((afterMs) =>
      answer(`m${afterMs}`, { atMs: NOON_MS + afterMs }),
    );
    await one.recordUsage(batchOf(first.session.id, { records }));
    const sums = await two.usageOf({ by: 'run' });
    const found = new Map(sums.map(({ name, input, late }) => [name, { input, late }]));
    // What was before the first one is nobody's.
    expect(found).toStrictEqual(
      new Map([
        [first.run.id, { input: 400, late: 2 * 1115 }],
        [second.run.id, { input: 200, late: 0 }],
      ]),
    );
  });

  test('a run that never started spends nothing', async () => {
    const first = await running('alpha', NOON_MS);
    await one.step(first.run.id, end({ endedAtMs: NOON_MS + 1000 }));
    const second = await won(one, claimOf('alpha'));
    await one.step(second.run.id, end({ outcome: 'never_started', endedAtMs: NOON_MS + 2000 }));
    const records = [answer('m1', { atMs: Date.now() + 1000 })];
    await one.recordUsage(batchOf(first.session.id, { records }));
    expect((await two.usageOf({ by: 'run' })).map(({ name, late }) => [name, late])).toStrictEqual([
      [first.run.id, 1115],
    ]);
  });

  test('a run that was superseded spends late from then on, though it still lives', async () => {
    const { session, run } = await running('alpha', NOON_MS);
    await one.step(run.id, intend({ outcome: 'superseded', atMs: NOON_MS + 1000 }));
    const records = [500, 1500].map((afterMs) => answer(`m${afterMs}`, { atMs: NOON_MS + afterMs }));
    await one.recordUsage(batchOf(session.id, { records }));
    expect(await two.usageOf({ by: 'run' })).toMatchObject([{ input: 200, late: 1115 }]);
  });

  test('what was on record before the end was known becomes late when the run is settled, once', async () => {
    const { session, run } = await running('alpha', NOON_MS);
    const other = await running('beta', NOON_MS);
    const records = many(5, (index) => answer(`m${index}`, { atMs: NOON_MS + index * 1000 }));
    await one.recordUsage(batchOf(session.id, { records }));
    await one.recordUsage(batchOf(other.session.id, { records }));
    await one.step(run.id, end({ endedAtMs: NOON_MS + 2000 }));
    const before = await one.usageTotals([session.id]);
    await one.settleUsage(run.id);
    await two.settleUsage(run.id);
    expect(await two.usageOf({ by: 'run', runId: run.id })).toMatchObject([{ input: 500, late: 2 * 1115 }]);
    expect(await two.usageOf({ by: 'run', runId: run.id, sinceMs: 0 })).toStrictEqual(
      await two.usageOf({ by: 'run', runId: run.id }),
    );
    expect(await two.usageOf({ by: 'run', runId: other.run.id })).toMatchObject([{ input: 500, late: 0 }]);
    expect(await two.usageTotals([session.id])).toStrictEqual(before);
  });

  test('runs that ended lately are unsettled until they are settled; commands and the living never are', async () => {
    const live = await running('live');
    const first = await running('alpha', NOON_MS);
    await one.step(first.run.id, end({ endedAtMs: NOON_MS + 1000 }));
    const second = await running('alpha', NOON_MS + 2000);
    await one.step(second.run.id, end({ endedAtMs: NOON_MS + 3000 }));
    const command = await running('make', NOON_MS, 'command');
    await one.step(command.run.id, end({ endedAtMs: NOON_MS + 1000 }));
    const unsettled = async (sinceMs = NOON_MS, limit = 10) =>
      (await two.unsettledRuns(sinceMs, limit)).map(({ session, run }) => [session.name, run.id]);
    expect(await unsettled()).toStrictEqual([
      ['alpha', first.run.id],
      ['alpha', second.run.id],
    ]);
    expect(await unsettled(NOON_MS + 2000)).toStrictEqual([['alpha', second.run.id]]);
    expect(await unsettled(NOON_MS, 1)).toHaveLength(1);
    const beta = await running('beta', NOON_MS);
    await one.step(beta.run.id, end({ endedAtMs: NOON_MS }));
    const ofBeta = await two.unsettledRuns(0, 10, [beta.session.id, 'nobody']);
    expect(ofBeta.map(({ run }) => run.id)).toStrictEqual([beta.run.id]);
    expect(await two.unsettledRuns(0, 10, [])).toStrictEqual([]);
    await one.settleUsage(beta.run.id);
    await one.settleUsage(first.run.id);
    await one.settleUsage(live.run.id);
    expect(await unsettled()).toStrictEqual([['alpha', second.run.id]]);
    await one.step(live.run.id, end({ endedAtMs: NOON_MS + 9000 }));
    expect(await unsettled()).toHaveLength(2);
  });
}

function describeAsking(): void {
  test('adds up by run, session, model, day and harness, all or since a moment', async () => {
    const alpha = await running('alpha', NOON_MS);
    const beta = await running('beta', NOON_MS, 'codex');
    const answers = [
      answer('m1', { atMs: NOON_MS }),
      answer('m2', { atMs: NOON_MS + DAY_MS, model: 'haiku' }),
    ];
    await one.recordUsage(batchOf(alpha.session.id, { records: answers }));
    await one.recordUsage(batchOf(beta.session.id, { records: answers.slice(0, 1) }));
    const names = async (query: Parameters<Store['usageOf']>[0]) =>
      Object.fromEntries((await two.usageOf(query)).map(({ name, input }) => [name, input]));
    expect(await names({ by: 'model' })).toStrictEqual({ opus: 200, haiku: 100 });
    expect(await names({ by: 'day' })).toStrictEqual({ '2023-11-14': 200, '2023-11-15': 100 });
    expect(await names({ by: 'harness' })).toStrictEqual({ claude: 200, codex: 100 });
    expect(await names({ by: 'session' })).toStrictEqual({ [alpha.session.id]: 200, [beta.session.id]: 100 });
    expect(await names({ by: 'model', sessionId: beta.session.id })).toStrictEqual({ opus: 100 });
    expect(await names({ by: 'day', runId: alpha.run.id })).toStrictEqual({
      '2023-11-14': 100,
      '2023-11-15': 100,
    });
    expect(await names({ by: 'harness', sinceMs: NOON_MS + 1 })).toStrictEqual({ claude: 100 });
    expect(await names({ by: 'run', runId: alpha.run.id, sinceMs: NOON_MS })).toStrictEqual({
      [alpha.run.id]: 200,
    });
    expect(await names({ by: 'day', sinceMs: NOON_MS + 2 * DAY_MS })).toStrictEqual({});
  });

  test('divides by model and day, and says whose it is where a name is one session’s', async () => {
    const alpha = await running('alpha', NOON_MS);
    const beta = await running('beta', NOON_MS, 'codex');
    await one.step(beta.run.id, end({ endedAtMs: NOON_MS + 1 }));
    const records = [
      answer('m1', { atMs: NOON_MS }),
      answer('m2', { atMs: NOON_MS + 1 }),
      answer('m3', { atMs: NOON_MS + DAY_MS }),
      answer('m4', { atMs: NOON_MS + DAY_MS, model: 'haiku' }),
    ];
    await one.recordUsage(batchOf(alpha.session.id, { records }));
    await one.recordUsage(batchOf(beta.session.id, { records: records.slice(0, 3) }));
    const twice = { input: 200, output: 20, cacheRead: 2000, cacheWrite: 10, reasoning: 6 };
    const [today, tomorrow] = [
      { model: 'opus', day: '2023-11-14' },
      { model: 'opus', day: '2023-11-15' },
    ];
    const sorted = async (query: Parameters<Store['usageParts']>[0]) =>
      (await two.usageParts(query)).toSorted((a, b) =>
        `${a.session} ${a.day} ${a.model}`.localeCompare(`${b.session} ${b.day} ${b.model}`),
      );
    const ofAlpha = { name: alpha.run.id, session: 'alpha', late: 0 };
    const ofBeta = { name: beta.run.id, session: 'beta' };
    expect(await sorted({ by: 'run' })).toStrictEqual([
      { ...ofAlpha, ...today, ...twice },
      { ...ofAlpha, model: 'haiku', day: '2023-11-15', ...ONE },
      { ...ofAlpha, ...tomorrow, ...ONE },
      { ...ofBeta, ...today, ...twice, late: 0 },
      { ...ofBeta, ...tomorrow, ...ONE, late: 1115 },
    ]);
    const all = { name: 'opus', session: null };
    expect(await sorted({ by: 'model', sessionIds: [beta.session.id, 'nobody'] })).toStrictEqual([
      { ...all, ...today, ...twice, late: 0 },
      { ...all, ...tomorrow, ...ONE, late: 1115 },
    ]);
    expect(await sorted({ by: 'session', sessionIds: [] })).toStrictEqual([]);
    expect(
      (await sorted({ by: 'session', sessionId: beta.session.id })).map(({ name }) => name),
    ).toStrictEqual([beta.session.id, beta.session.id]);
  });

  test('since midnight, the sums say the same as every answer; the days that no calendar has too', async () => {
    const { session } = await running('alpha', 0);
    const midnight = NOON_MS + DAY_MS / 2;
    const moments = [midnight - 1, midnight, midnight + 1, midnight + DAY_MS, 9e15];
    const records = moments.map((atMs) => answer(`m${atMs}`, { atMs }));
    await one.recordUsage(batchOf(session.id, { records }));
    const inputs = async (sinceMs: number) =>
      (await two.usageOf({ by: 'session', sinceMs })).map(({ input }) => input);
    expect(await inputs(midnight)).toStrictEqual([400]);
    expect(await inputs(midnight - 1)).toStrictEqual([500]);
    expect(await inputs(midnight + 1)).toStrictEqual([300]);
    expect(await inputs(midnight + DAY_MS)).toStrictEqual([200]);
    // Only the sums are asked, so that it costs as much as without a beginning.
    await database.sql('delete from usage');
    expect(await inputs(midnight)).toStrictEqual([400]);
    expect(await inputs(midnight + 1)).toStrictEqual([]);
  });

  test('totals are of the sessions of which anything is known', async () => {
    const alpha = await running('alpha');
    const beta = await running('beta');
    const gamma = await running('gamma');
    for (const { session } of [alpha, gamma]) await one.recordUsage(batchOf(session.id));
    expect(await two.usageTotals([])).toStrictEqual(new Map());
    expect(await two.usageTotals([alpha.session.id, beta.session.id, 'nobody'])).toStrictEqual(
      new Map([[alpha.session.id, ONE]]),
    );
  });

  test('knows every conversation that was bound to a session, and the files of each', async () => {
    const { session } = await won(one, claimOf('alpha', { nativeId: 'n1' }));
    const other = await won(one, claimOf('beta', { nativeId: 'n2' }));
    const to = { identity: 'disk:1', offset: 10, state: '' };
    for (const path of ['/a', '/b'])
      await one.recordUsage({
        sessionId: other.session.id,
        nativeId: 'n2',
        path,
        from: null,
        to,
        records: [],
      });
    expect(await two.ledgersOf([session.id, 'nobody', other.session.id])).toStrictEqual(
      new Map([
        [session.id, [{ harness: 'claude', nativeId: 'n1', paths: [] }]],
        [other.session.id, [{ harness: 'claude', nativeId: 'n2', paths: ['/a', '/b'] }]],
      ]),
    );
    expect(await two.ledgersOf([])).toStrictEqual(new Map());
  });
}
