/** The contract of the Store port, second part: what is refused to a run that is not current, and notes in the log. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { hashToken } from '../../src/store/sql-store.ts';
import type { Store } from '../../src/store/store.ts';
import type { Database, Engine } from './engine.ts';
import { claimOf, end, many, pick, start, TOKEN, won } from './examples.ts';

let database: Database;
let one: Store;
let two: Store;
let three: Store;

export function describeStoreFence(engine: Engine): void {
  describe(`the store on ${engine.name}`, () => {
    beforeEach(async () => {
      database = await engine.createDatabase();
      [one, two, three] = [await database.open(), await database.open(), await database.open()];
    });
    afterEach(() => database.close());

    describe('the fence', describeFence);
    describe('a note', describeNote);
  });
}

function describeFence(): void {
  test.each([[[]], [[start]]] as const)(
    'accepts a heartbeat of the current, living run, and adds no event',
    async (way) => {
      const { session, run } = await won(one, claimOf('alpha'));
      for (const step of way) await one.step(run.id, step);
      const [before, events] = [await one.run(run.id), await one.eventsOf(session.id)];

      expect(await two.heartbeat(run.id, TOKEN)).toStrictEqual({ accepted: true });
      const [row] = await database.sql('select heartbeat_at from runs');
      expect(Math.abs(Number(row?.['heartbeat_at']) - Date.now())).toBeLessThan(60_000);
      expect([await one.run(run.id), await one.eventsOf(session.id)]).toStrictEqual([before, events]);
    },
  );

  test('refuses a run that nobody knows', async () => {
    expect(await one.heartbeat('nobody', TOKEN)).toStrictEqual({
      accepted: false,
      because: expect.any(String),
      current: null,
    });
    expect(await database.sql('select * from events')).toStrictEqual([]);
  });

  test('refuses a wrong token, changes nothing and notes it once', async () => {
    const { run } = await won(one, claimOf('alpha'));
    await one.step(run.id, start);
    for (const token of ['', 'another', hashToken(TOKEN)]) await expectFenced(run.id, token, run.id);
  });

  test('refuses an ended run with its own token, changes nothing and notes it once', async () => {
    const { run } = await won(one, claimOf('alpha'));
    await one.step(run.id, end());
    for (let times = 0; times < 3; times += 1) await expectFenced(run.id, TOKEN, run.id);
  });

  test('refuses a superseded run, names the run that is current, and still accepts that one', async () => {
    const first = await won(one, claimOf('alpha'));
    await one.step(first.run.id, end({ outcome: 'superseded' }));
    const second = await won(one, claimOf('alpha', { tokenHash: hashToken('second') }));
    await expectFenced(first.run.id, TOKEN, second.run.id);
    await expectFenced(first.run.id, 'second', second.run.id);
    await expectFenced(second.run.id, TOKEN, second.run.id);
    expect(await two.heartbeat(second.run.id, 'second')).toStrictEqual({ accepted: true });
  });

  test('refuses a living run that is not its session’s current one, should a database ever hold such', async () => {
    const first = await won(one, claimOf('alpha'));
    await one.step(first.run.id, end());
    const { run } = await won(one, claimOf('alpha'));
    await database.sql(`update sessions set current_run_id = '${first.run.id}' where name = 'alpha'`);
    await expectFenced(run.id, TOKEN, first.run.id);
  });
}

async function expectFenced(runId: string, token: string, currentId: string): Promise<void> {
  const runs = await database.sql('select * from runs order by id');
  const sessionId = (await two.run(runId))?.sessionId ?? '';
  const others = (await two.eventsOf(sessionId)).filter(isNotFence(runId));

  expect(await one.heartbeat(runId, token)).toStrictEqual({
    accepted: false,
    because: expect.any(String),
    current: await two.run(currentId),
  });
  expect(await database.sql('select * from runs order by id')).toStrictEqual(runs);
  const events = await two.eventsOf(sessionId);
  expect(events.filter(isNotFence(runId))).toStrictEqual(others);
  expect(events.filter((event) => !isNotFence(runId)(event))).toStrictEqual([
    {
      seq: expect.any(Number),
      atMs: expect.any(Number),
      sessionId,
      runId,
      kind: 'write.fenced',
      actor: `run ${runId}`,
      data: { write: 'heartbeat', because: expect.any(String), current: currentId },
    },
  ]);
}

function isNotFence(runId: string) {
  return (event: { kind: string; runId: string | null }) =>
    event.kind !== 'write.fenced' || event.runId !== runId;
}

function describeNote(): void {
  const note = {
    sessionId: 's',
    runId: 'r',
    kind: 'run.doubted',
    actor: 'reconcile',
    data: { because: 'x' },
  };

  test('is kept each time, or once a run and kind', async () => {
    await one.note(note, 'always');
    await two.note(note, 'always');
    await one.note(note, 'once');
    await one.note({ ...note, runId: 'other' }, 'once');
    await two.note({ ...note, kind: 'run.survivors' }, 'once');
    const seen = (await three.eventsOf('s')).map(({ seq: _seq, atMs: _at, ...rest }) => rest);
    expect(seen).toStrictEqual([note, note, { ...note, runId: 'other' }, { ...note, kind: 'run.survivors' }]);
  });

  test('that is kept once is kept once when many write it at once', async () => {
    const stores = [one, two, three];
    await Promise.all(many(30, (index) => pick(stores, index).note(note, 'once')));
    expect(await one.eventsOf('s')).toHaveLength(1);
  });
}
