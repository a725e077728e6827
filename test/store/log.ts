/** The contract of reading the log as it grows, of being told that it grew, and of the counters. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Store, StoredEvent } from '../../src/store/store.ts';
import type { Database, Engine } from './engine.ts';
import { claimOf, end, many, start, won } from './examples.ts';

let database: Database;
let one: Store;
let two: Store;

export function describeStoreLog(engine: Engine): void {
  describe(`the log on ${engine.name}`, () => {
    beforeEach(async () => {
      database = await engine.createDatabase();
      [one, two] = [await database.open(), await database.open()];
    });
    afterEach(() => database.close());

    describe('reading', describeReading);
    describe('watching', describeWatching);
    describe('counting', describeCounting);
  });
}

const seqs = (events: readonly StoredEvent[]) => events.map(({ seq }) => seq);

function describeReading(): void {
  test('an empty log has the number 0, and nothing', async () => {
    expect(await one.lastSeq()).toBe(0);
    expect(await one.events({ after: 0, limit: 10 })).toStrictEqual([]);
    expect(await one.events({ limit: 10 })).toStrictEqual([]);
  });

  test('gives what comes after a number in order, up to a limit, of all sessions or of one', async () => {
    const alpha = await won(one, claimOf('alpha'));
    const beta = await won(one, claimOf('beta'));
    await one.step(alpha.run.id, start);
    await one.step(beta.run.id, start);
    await one.step(alpha.run.id, end());

    const all = await two.events({ after: 0, limit: 100 });
    expect(all.map(({ kind, sessionId }) => [kind, sessionId])).toStrictEqual([
      ['run.claimed', alpha.session.id],
      ['run.claimed', beta.session.id],
      ['run.started', alpha.session.id],
      ['run.started', beta.session.id],
      ['run.ended', alpha.session.id],
    ]);
    expect(seqs(all)).toStrictEqual(seqs(all).toSorted((a, b) => a - b));
    expect(await two.lastSeq()).toBe(all.at(-1)?.seq);
    expect(await two.events({ after: all[1]?.seq ?? 0, limit: 2 })).toStrictEqual(all.slice(2, 4));
    const ofAlpha = await two.eventsOf(alpha.session.id);
    expect(await two.events({ after: 0, limit: 100, sessionId: alpha.session.id })).toStrictEqual(ofAlpha);
    expect(await two.events({ limit: 2, sessionId: alpha.session.id })).toStrictEqual(ofAlpha.slice(-2));
    expect(await two.events({ limit: 2, before: all[3]?.seq ?? 0 })).toStrictEqual(all.slice(1, 3));
  });

  test('gives the latest of a session that is of one of some kinds, whatever came after it', async () => {
    const note = (sessionId: string, kind: string, data: object) =>
      one.note({ sessionId, runId: null, kind, actor: 'ada', data: { ...data } }, 'always');
    const kinds = ['notify.muted', 'notify.unmuted'];
    expect(await two.latestOf('s', kinds)).toBeNull();
    await note('s', 'notify.muted', { untilMs: 1 });
    await note('s', 'notify.unmuted', {});
    await note('s', 'run.doubted', {});
    await note('t', 'notify.muted', { untilMs: 2 });
    const [ofS, ofT] = [await two.latestOf('s', kinds), await two.latestOf('t', kinds)];
    expect([ofS?.kind, ofT?.kind, ofT?.data]).toStrictEqual([
      'notify.unmuted',
      'notify.muted',
      { untilMs: 2 },
    ]);
    expect(await two.latestOf('s', ['run.ended'])).toBeNull();
  });

  test('whoever follows from the last number seen misses none and sees none twice, with many writing', async () => {
    const writers = await Promise.all(many(4, () => database.open()));
    const seen: StoredEvent[] = [];
    let isWritten = false;
    const follow = async () => {
      for (;;) {
        const wasWritten = isWritten;
        const events = await two.events({ after: seen.at(-1)?.seq ?? 0, limit: 7 });
        seen.push(...events);
        if (wasWritten && events.length === 0) return;
      }
    };
    const write = Promise.all(
      writers.map(async (store, writer) => {
        for (let index = 0; index < 25; index += 1) await won(store, claimOf(`s${writer}-${index}`));
      }),
    ).then(() => (isWritten = true));
    await Promise.all([follow(), write]);
    expect(seen).toStrictEqual(await one.events({ after: 0, limit: 1000 }));
    expect(seen).toHaveLength(100);
  });

  test('a number is never given again, also after the session that had it is forgotten', async () => {
    const { session, run } = await won(one, claimOf('alpha'));
    await one.step(run.id, end());
    const before = await one.lastSeq();
    await one.removeSession(session.id, 'ada');
    expect(await two.lastSeq()).toBe(before + 1);
    expect((await two.events({ after: before, limit: 10 })).map(({ kind }) => kind)).toStrictEqual([
      'session.removed',
    ]);
  });
}

function describeWatching(): void {
  test('tells of what another connection writes, until it is told to stop', async () => {
    let told: (() => void) | undefined;
    const stop = await one.watch(() => told?.());
    for (const name of ['alpha', 'beta']) {
      const heard = new Promise<void>((resolve) => (told = resolve));
      await won(two, claimOf(name));
      await heard;
    }
    stop();
    let wasTold = false;
    told = () => (wasTold = true);
    await won(two, claimOf('gamma'));
    // The one that still listens is told behind the one that does not.
    const heard = new Promise<void>(
      (resolve) => void two.watch(resolve).then(() => won(one, claimOf('delta'))),
    );
    await heard;
    expect(wasTold).toBe(false);
  });
}

function describeCounting(): void {
  test('adds one at a time, also when many do', async () => {
    await Promise.all(many(20, (index) => (index % 2 === 0 ? one : two).count('claims_lost')));
    expect((await two.figures()).counters).toStrictEqual({ claims_lost: 20, writes_fenced: 0 });
  });

  test('counts every fenced write, also those that are told only once', async () => {
    const { run } = await won(one, claimOf('alpha'));
    for (let attempt = 0; attempt < 3; attempt += 1) await one.heartbeat(run.id, 'not its token');
    expect((await two.figures()).counters.writes_fenced).toBe(3);
  });

  test('counts runs by outcome, and sessions by that of their latest run', async () => {
    const first = await won(one, claimOf('alpha'));
    await one.step(first.run.id, end());
    await won(one, claimOf('alpha'));
    const beta = await won(one, claimOf('beta'));
    await one.step(beta.run.id, end());
    const { runs, sessions } = await two.figures();
    expect(runs).toStrictEqual({ completed: 2, live: 1 });
    expect(sessions).toStrictEqual({ completed: 1, live: 1 });
  });
}
