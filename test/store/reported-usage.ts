/** The contract of what runs say that they spent: counted once, for the current run of a plain command alone. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ReportedUsage, Store } from '../../src/store/store.ts';
import type { Database, Engine } from './engine.ts';
import { claimOf, end, intend, many, pick, start, TOKEN, won } from './examples.ts';

const CONNECTIONS = 4;
const SPENT = { input: 100, output: 10, cacheRead: 1000, cacheWrite: 5, reasoning: 3 };
const NOTHING = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 };

let database: Database;
let stores: Store[];
let one: Store;
let two: Store;

export function describeStoreReportedUsage(engine: Engine): void {
  describe(`reported usage on ${engine.name}`, () => {
    beforeEach(async () => {
      database = await engine.createDatabase();
      stores = [];
      for (let index = 0; index < CONNECTIONS; index += 1) stores.push(await database.open());
      [one, two] = [pick(stores, 0), pick(stores, 1)];
    });
    afterEach(() => database.close());

    describe('is', describeCounting);
  });
}

async function running(name: string, harness = 'command') {
  const claimed = await won(one, claimOf(name, { harness }));
  await one.step(claimed.run.id, start);
  return claimed;
}

function report(runId: string, key: string, changes: Partial<ReportedUsage> = {}): ReportedUsage {
  return { runId, token: TOKEN, key, model: 'opus', tokens: SPENT, ...changes };
}

const everything = async () => [
  await database.sql('select * from usage order by message'),
  await database.sql('select * from usage_sums order by run_id, model'),
  await database.sql(`select * from counters where name <> 'writes_fenced' order by name`),
];
const sums = (by: 'run' | 'model' | 'day' | 'harness' | 'session') => two.usageOf({ by });

function describeCounting(): void {
  test('put beside what transcripts tell: by run, model, day, harness and in the figures, and is not late', async () => {
    const { session, run } = await running('alpha');
    expect(await one.addUsage(report(run.id, 'k'))).toStrictEqual({ is: 'accepted', again: false });
    const day = new Date().toISOString().slice(0, 10);
    const total = { ...SPENT, late: 0 };
    expect(await sums('run')).toStrictEqual([{ name: run.id, ...total }]);
    expect(await sums('model')).toStrictEqual([{ name: 'opus', ...total }]);
    expect(await sums('day')).toStrictEqual([{ name: day, ...total }]);
    expect(await sums('harness')).toStrictEqual([{ name: 'command', ...total }]);
    expect(await two.usageOf({ by: 'session', sinceMs: Date.now() - 60_000 })).toStrictEqual([
      { name: session.id, ...total },
    ]);
    expect((await two.figures()).tokens).toStrictEqual({ command: SPENT });
    expect(await database.sql('select message, run_id, late from usage')).toEqual([
      { message: `self:${run.id}:k`, run_id: run.id, late: 0 },
    ]);
  });

  test('counted once for each key, and every key counts', async () => {
    const { run } = await running('alpha');
    for (const key of ['k', 'l', 'k', 'k', 'l']) await one.addUsage(report(run.id, key));
    expect(await two.addUsage(report(run.id, 'k'))).toStrictEqual({ is: 'accepted', again: true });
    expect(await sums('run')).toStrictEqual([
      { name: run.id, input: 200, output: 20, cacheRead: 2000, cacheWrite: 10, reasoning: 6, late: 0 },
    ]);
  });

  test('counted once when many report the same at once', async () => {
    const { run } = await running('alpha');
    const results = await Promise.all(many(12, (index) => pick(stores, index).addUsage(report(run.id, 'k'))));
    expect(results.filter((result) => result.is === 'accepted' && !result.again)).toHaveLength(1);
    expect(await sums('run')).toStrictEqual([{ name: run.id, ...SPENT, late: 0 }]);
  });

  test('of another run of the session another one, even under the same key', async () => {
    const first = await running('alpha');
    await one.addUsage(report(first.run.id, 'k'));
    await one.step(first.run.id, end());
    const second = await running('alpha');
    expect(await one.addUsage(report(second.run.id, 'k'))).toStrictEqual({ is: 'accepted', again: false });
    expect((await sums('run')).map(({ name }) => name).toSorted()).toStrictEqual(
      [first.run.id, second.run.id].toSorted(),
    );
  });

  test.each([
    ['another number', { tokens: { ...SPENT, output: 11 } }],
    ['fewer', { tokens: { ...NOTHING, input: 1 } }],
    ['another model', { model: 'haiku' }],
  ])('refused for a key that stands for %s, and changes nothing', async (_what, changes) => {
    const { run } = await running('alpha');
    await one.addUsage(report(run.id, 'k'));
    const before = await everything();
    expect(await two.addUsage(report(run.id, 'k', changes))).toStrictEqual({ is: 'conflict' });
    expect(await everything()).toStrictEqual(before);
  });

  test('accepted while the end of the run is intended, and refused behind it', async () => {
    const { run } = await running('alpha');
    await one.step(run.id, intend({ outcome: 'superseded' }));
    expect((await one.addUsage(report(run.id, 'k'))).is).toBe('accepted');
    await one.step(run.id, end({ outcome: 'superseded' }));
    const before = await everything();
    for (const key of ['k', 'l']) {
      expect(await two.addUsage(report(run.id, key))).toStrictEqual({
        is: 'fenced',
        because: 'it has ended (superseded)',
        current: await one.run(run.id),
      });
    }
    expect(await everything()).toStrictEqual(before);
    expect((await two.figures()).counters.writes_fenced).toBe(2);
  });

  test('refused with a wrong token, or of a run that nobody knows, and changes nothing', async () => {
    const { run } = await running('alpha');
    expect(await one.addUsage(report(run.id, 'k', { token: 'wrong' }))).toStrictEqual({
      is: 'fenced',
      because: 'the token is not its own',
      current: await two.run(run.id),
    });
    expect(await one.addUsage(report('nobody', 'k'))).toStrictEqual({
      is: 'fenced',
      because: 'no such run is known',
      current: null,
    });
    expect(await everything()).toStrictEqual([[], [], []]);
  });

  test('refused where transcripts tell it, and a wrong token is not told that', async () => {
    const { run } = await running('alpha', 'claude');
    expect(await one.addUsage(report(run.id, 'k'))).toStrictEqual({
      is: 'read_elsewhere',
      harness: 'claude',
    });
    expect((await one.addUsage(report(run.id, 'k', { token: 'wrong' }))).is).toBe('fenced');
    expect(await everything()).toStrictEqual([[], [], []]);
  });

  test('counted before the end of the run or refused, when both happen at once', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { run } = await running(`session-${round}`);
      const acts = [
        () => pick(stores, 1).addUsage(report(run.id, 'k')),
        () => pick(stores, 2).step(run.id, end()),
      ];
      const results = await Promise.all((round % 2 === 0 ? acts : acts.toReversed()).map((act) => act()));
      const result = results.find((each) => 'is' in each);
      const counted = (await two.usageOf({ by: 'run', runId: run.id })).length;
      expect(counted).toBe(result?.is === 'accepted' ? 1 : 0);
      expect(['accepted', 'fenced']).toContain(result?.is);
    }
  });

  test('gone with its session, but stays in the figures', async () => {
    const { session, run } = await running('alpha');
    await one.addUsage(report(run.id, 'k'));
    await one.step(run.id, end());
    await one.removeSession(session.id, 'ada');
    expect(await sums('run')).toStrictEqual([]);
    expect((await two.figures()).tokens).toStrictEqual({ command: SPENT });
  });
}
