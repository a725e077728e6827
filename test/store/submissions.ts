/** The contract of what runs hand in: accepted once, by the current run alone; what comes late is kept aside. */
import { createHash, randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { MAX_ACCEPTED_A_RUN, MAX_KEPT_A_RUN, MAX_SUBMISSION_BYTES } from '../../src/lifecycle/submission.ts';
import { hashToken } from '../../src/store/sql-store.ts';
import type { NewSubmission, Store, SubmitResult } from '../../src/store/store.ts';
import type { Database, Engine } from './engine.ts';
import { claimOf, end, intend, many, pick, start, TOKEN, won } from './examples.ts';

const CONNECTIONS = 4;

let database: Database;
let stores: Store[];
let one: Store;
let two: Store;

export function describeStoreSubmissions(engine: Engine): void {
  describe(`submissions in the store on ${engine.name}`, () => {
    beforeEach(async () => {
      database = await engine.createDatabase();
      stores = [];
      for (let index = 0; index < CONNECTIONS; index += 1) stores.push(await database.open());
      [one, two] = [pick(stores, 0), pick(stores, 1)];
    });
    afterEach(() => database.close());

    describe('of the current run', describeAccepted);
    describe('that are refused', describeRefused);
    describe('at once', describeRaces);
    describe('looked at', describeLooking);
  });
}

export function submissionOf(
  runId: string,
  data: string,
  changes: Partial<NewSubmission> = {},
): NewSubmission {
  const digest = createHash('sha256').update(data).digest('hex');
  const bytes = Buffer.byteLength(data);
  return { id: `sub-${randomUUID()}`, runId, token: TOKEN, key: digest, digest, bytes, data, ...changes };
}

async function running(name: string) {
  const claimed = await won(one, claimOf(name));
  await one.step(claimed.run.id, start);
  return claimed;
}

const stored = () => database.sql('select * from submissions order by at, id');
const fencedCount = async () => (await two.figures()).counters.writes_fenced;

async function eventsOf(runId: string, kind: string) {
  const sessionId = (await two.run(runId))?.sessionId ?? '';
  const events = await two.eventsOf(sessionId);
  return events.filter((event) => event.kind === kind && event.runId === runId).map(({ data }) => data);
}

function describeAccepted(): void {
  test.each([[[]], [[start]], [[start, intend()]]] as const)(
    'are accepted while it is not over, also when its end is intended',
    async (way) => {
      const { session, run } = await won(one, claimOf('alpha'));
      for (const step of way) await one.step(run.id, step);
      const before = await one.run(run.id);
      const given = submissionOf(run.id, 'it\'s "found" ? 😀\n');
      expect(await one.submit(given)).toStrictEqual({ is: 'accepted', id: given.id, again: false });
      const { token: _token, ...kept } = given;
      const { runId, ...rest } = kept;
      expect(await two.findSubmissions(given.id)).toStrictEqual([
        { ...rest, sessionId: session.id, runId, atMs: expect.any(Number), isAccepted: true, because: null },
      ]);
      expect(await eventsOf(run.id, 'submission.accepted')).toStrictEqual([
        { submission: given.id, bytes: given.bytes, digest: given.digest },
      ]);
      expect(await one.run(run.id)).toStrictEqual(before);
      expect(await fencedCount()).toBe(0);
    },
  );

  test('are accepted once: the same again is told so, and nothing is written', async () => {
    const { run } = await running('alpha');
    const given = submissionOf(run.id, 'found', { key: 'k' });
    await one.submit(given);
    const before = [await stored(), await two.lastSeq()];
    for (const store of stores) {
      const again = { ...given, id: `sub-${randomUUID()}` };
      expect(await store.submit(again)).toStrictEqual({ is: 'accepted', id: given.id, again: true });
    }
    expect([await stored(), await two.lastSeq()]).toStrictEqual(before);
  });

  test('of the same key with another content are objected to, and nothing is written', async () => {
    const { run } = await running('alpha');
    const given = submissionOf(run.id, 'found', { key: 'k' });
    await one.submit(given);
    const before = [await stored(), await two.lastSeq()];
    expect(await two.submit(submissionOf(run.id, 'other', { key: 'k' }))).toStrictEqual({
      is: 'conflict',
      id: given.id,
    });
    expect([await stored(), await two.lastSeq()]).toStrictEqual(before);
  });

  test('of one key are another thing in another run, and of one content under two keys are two', async () => {
    const first = await running('alpha');
    const other = await running('beta');
    for (const given of [
      submissionOf(first.run.id, 'found', { key: 'k' }),
      submissionOf(other.run.id, 'else', { key: 'k' }),
      submissionOf(first.run.id, 'found', { key: 'l' }),
    ]) {
      expect(await one.submit(given)).toStrictEqual({ is: 'accepted', id: given.id, again: false });
    }
    expect(await stored()).toHaveLength(3);
  });

  test('are as large as they may be, and come back as they were', async () => {
    const { run } = await running('alpha');
    for (const data of ['\u0001'.repeat(MAX_SUBMISSION_BYTES), '😀'.repeat(MAX_SUBMISSION_BYTES / 4)]) {
      const given = submissionOf(run.id, data);
      await one.submit(given);
      const [found] = await two.findSubmissions(given.id);
      expect([found?.bytes, found?.data === data]).toStrictEqual([MAX_SUBMISSION_BYTES, true]);
    }
  });

  test('are not endless', async () => {
    const { session, run } = await running('alpha');
    const filler = many(
      MAX_ACCEPTED_A_RUN,
      (index) => `('f${index}', '${session.id}', '${run.id}', 1, 'k${index}', 'd${index}', 1, 1, null, 'x')`,
    );
    await database.sql(`insert into submissions (id, session_id, run_id, at, key, digest, bytes, accepted, because, data)
      values ${filler.join(', ')}`);
    expect(await one.submit(submissionOf(run.id, 'one more'))).toStrictEqual({
      is: 'full',
      because: expect.any(String),
    });
    expect(await stored()).toHaveLength(MAX_ACCEPTED_A_RUN);
    await database.sql(`delete from submissions where id <> 'f0'`);
    await database.sql('update submissions set bytes = 67108860');
    expect((await one.submit(submissionOf(run.id, 'four'))).is).toBe('accepted');
    expect((await one.submit(submissionOf(run.id, 'x'))).is).toBe('full');
  });
}

/** What is answered to a late one that was put aside as `id`. */
function keptAs(id: string, because: string, current: unknown): SubmitResult {
  const known = { id, as: 'kept' } as const;
  return { is: 'fenced', because, current, known, why: expect.any(String) } as SubmitResult;
}

function describeRefused(): void {
  test('because the run is superseded are kept aside, with the reason, and change nothing else', async () => {
    const first = await running('alpha');
    await one.step(first.run.id, end({ outcome: 'superseded' }));
    const second = await won(one, claimOf('alpha', { tokenHash: hashToken('second') }));
    const runs = await database.sql('select * from runs order by id');

    const late = submissionOf(first.run.id, 'what I found');
    const because = 'it has ended (superseded)';
    expect(await two.submit(late)).toStrictEqual(keptAs(late.id, because, second.run));
    expect(await stored()).toEqual([
      {
        id: late.id,
        session_id: first.session.id,
        run_id: first.run.id,
        at: expect.anything(),
        key: late.key,
        digest: late.digest,
        bytes: expect.anything(),
        accepted: 0,
        because,
        data: 'what I found',
      },
    ]);
    expect(await eventsOf(first.run.id, 'write.fenced')).toStrictEqual([
      { write: 'submission', because, current: second.run.id, kept: late.id },
    ]);
    expect(await eventsOf(first.run.id, 'submission.accepted')).toStrictEqual([]);
    expect(await database.sql('select * from runs order by id')).toStrictEqual(runs);
    expect(await fencedCount()).toBe(1);
    const current = submissionOf(second.run.id, 'what I found', { token: 'second' });
    expect(await one.submit(current)).toStrictEqual({ is: 'accepted', id: current.id, again: false });
  });

  test('because another run owns the session, should a database ever hold such, are kept aside', async () => {
    const first = await running('alpha');
    await one.step(first.run.id, end());
    const { run } = await won(one, claimOf('alpha'));
    await database.sql(`update sessions set current_run_id = '${first.run.id}' where name = 'alpha'`);
    const late = submissionOf(run.id, 'x');
    expect(await one.submit(late)).toStrictEqual(
      keptAs(late.id, 'another run owns the session', await two.run(first.run.id)),
    );
  });

  test('are kept once for each content, whatever the key, and told each time', async () => {
    const { run } = await running('alpha');
    await one.step(run.id, end());
    const late = submissionOf(run.id, 'found');
    await one.submit(late);
    for (const store of stores) {
      const again = submissionOf(run.id, 'found', { key: randomUUID() });
      expect(await store.submit(again)).toStrictEqual(
        keptAs(late.id, 'it has ended (completed)', await two.run(run.id)),
      );
    }
    expect(await stored()).toHaveLength(1);
    expect(await fencedCount()).toBe(1 + CONNECTIONS);
  });

  test('although they were accepted in time are told to be there, and not kept again', async () => {
    const { run } = await running('alpha');
    const given = submissionOf(run.id, 'found', { key: 'k' });
    await one.submit(given);
    await one.step(run.id, end());
    expect(await two.submit({ ...given, id: 'sub-other' })).toStrictEqual({
      is: 'fenced',
      because: 'it has ended (completed)',
      current: await two.run(run.id),
      known: { id: given.id, as: 'accepted' },
      why: expect.any(String),
    });
    expect(await stored()).toMatchObject([{ id: given.id, accepted: 1 }]);
  });

  test('are kept up to a number of them; the log does not grow beyond that either', async () => {
    const { run } = await running('alpha');
    await one.step(run.id, end());
    const results: SubmitResult[] = [];
    for (let index = 0; index < MAX_KEPT_A_RUN + 3; index += 1) {
      results.push(await one.submit(submissionOf(run.id, `finding ${index}`)));
    }
    const isKept = results.map((result) => result.is === 'fenced' && result.known !== null);
    expect(isKept).toStrictEqual(many(MAX_KEPT_A_RUN + 3, (index) => index < MAX_KEPT_A_RUN));
    expect(await stored()).toHaveLength(MAX_KEPT_A_RUN);
    expect(await eventsOf(run.id, 'write.fenced')).toHaveLength(MAX_KEPT_A_RUN + 1);
    expect(await fencedCount()).toBe(MAX_KEPT_A_RUN + 3);
  });

  test('because of a wrong token leave nothing but a word in the log, once', async () => {
    const first = await running('alpha');
    await one.step(first.run.id, end());
    const second = await won(one, claimOf('alpha', { tokenHash: hashToken('second') }));
    for (const runId of [first.run.id, second.run.id]) {
      for (const token of ['', 'another', hashToken(TOKEN)]) {
        expect(await one.submit(submissionOf(runId, `by ${token}`, { token }))).toStrictEqual({
          is: 'fenced',
          because: 'the token is not its own',
          current: second.run,
          known: null,
          why: expect.any(String),
        });
      }
      expect(await eventsOf(runId, 'write.fenced')).toStrictEqual([
        { write: 'submission', because: 'the token is not its own', current: second.run.id },
      ]);
    }
    expect(await stored()).toStrictEqual([]);
  });

  test('because of a wrong token are not told what the run has submitted', async () => {
    const { run } = await running('alpha');
    await one.submit(submissionOf(run.id, 'found'));
    expect(await one.submit(submissionOf(run.id, 'found', { token: 'wrong' }))).toMatchObject({
      is: 'fenced',
      known: null,
    });
  });

  test('because nobody knows the run leave nothing at all', async () => {
    expect(await one.submit(submissionOf('nobody', 'x'))).toStrictEqual({
      is: 'fenced',
      because: 'no such run is known',
      current: null,
      known: null,
      why: expect.any(String),
    });
    expect([await stored(), await one.lastSeq(), await fencedCount()]).toStrictEqual([[], 0, 0]);
  });

  test('are told apart in the log from a late heartbeat and from late usage', async () => {
    const { run } = await running('alpha');
    await one.step(run.id, end());
    const tokens = { input: 1, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 };
    const late = submissionOf(run.id, 'x');
    for (let times = 0; times < 2; times += 1) {
      await one.heartbeat(run.id, TOKEN);
      await one.addUsage({ runId: run.id, token: TOKEN, key: 'k', model: 'm', tokens });
      await one.submit(late);
    }
    const because = 'it has ended (completed)';
    expect(await eventsOf(run.id, 'write.fenced')).toStrictEqual([
      { write: 'heartbeat', because, current: run.id },
      { write: 'usage', because, current: run.id },
      { write: 'submission', because, current: run.id, kept: late.id },
      { write: 'submission', because, current: run.id },
    ]);
  });
}

function describeRaces(): void {
  test('of the same: one is stored, and all are told the same id', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { run } = await running(`session-${round}`);
      const results = await Promise.all(
        many(12, (index) => pick(stores, index).submit(submissionOf(run.id, 'found', { key: 'k' }))),
      );
      const ids = new Set(results.map((result) => (result.is === 'accepted' ? result.id : result.is)));
      expect(ids.size).toBe(1);
      const firsts = results.filter((result) => result.is === 'accepted' && !result.again);
      expect(firsts).toHaveLength(1);
      const rows = await database.sql(`select id from submissions where run_id = '${run.id}'`);
      expect(rows).toEqual([{ id: [...ids][0] }]);
      expect(await eventsOf(run.id, 'submission.accepted')).toHaveLength(1);
    }
  });

  test('of one key with different contents: one is accepted, the others are told by whom', async () => {
    const { run } = await running('alpha');
    const results = await Promise.all(
      many(8, (index) => pick(stores, index).submit(submissionOf(run.id, `text ${index}`, { key: 'k' }))),
    );
    const [row] = await stored();
    expect(results.filter(({ is }) => is === 'accepted')).toHaveLength(1);
    expect(results.filter(({ is }) => is === 'conflict')).toStrictEqual(
      many(7, () => ({ is: 'conflict', id: row?.['id'] })),
    );
  });

  test('with the end of the run: accepted before it, or refused and kept', async () => {
    for (let round = 0; round < 12; round += 1) {
      const { session, run } = await running(`session-${round}`);
      const given = submissionOf(run.id, 'found');
      const submitting = () => pick(stores, 1).submit(given);
      const ending = () => pick(stores, 2).step(run.id, end({ outcome: 'superseded' }));
      const order = round % 2 === 0 ? [submitting, ending] : [ending, submitting];
      const results = await Promise.all(order.map((act) => act()));
      const result = results.find((each): each is SubmitResult => 'is' in each);
      await expectOneTruth(session.id, given, result);
    }
  });

  test('with a takeover, from the end to the next claim: accepted before it, or refused and kept', async () => {
    for (let round = 0; round < 12; round += 1) {
      const { session, run } = await running(`session-${round}`);
      const given = submissionOf(run.id, 'found');
      const takeOver = async () => {
        await pick(stores, 2).step(run.id, intend({ outcome: 'superseded' }));
        await pick(stores, 2).step(run.id, end({ outcome: 'superseded' }));
        return won(pick(stores, 3), claimOf(`session-${round}`, { tokenHash: hashToken('second') }));
      };
      const [result, taken] = await Promise.all([pick(stores, round).submit(given), takeOver()]);
      await expectOneTruth(session.id, given, result);
      expect(await one.live()).toContainEqual({ session: taken.session, run: taken.run });
    }
  });

  test('of a run that is over, with the next claim: kept, and the claim wins', async () => {
    for (let round = 0; round < 8; round += 1) {
      const { session, run } = await running(`session-${round}`);
      await one.step(run.id, end());
      const given = submissionOf(run.id, 'found');
      const [result, claimed] = await Promise.all([
        pick(stores, 1).submit(given),
        pick(stores, 2).claim(claimOf(`session-${round}`)),
      ]);
      expect(claimed.won).toBe(true);
      const current = result.is === 'fenced' ? result.current?.id : undefined;
      expect([run.id, claimed.run.id]).toContain(current);
      await expectOneTruth(session.id, given, result);
    }
  });

  test('with the removal of the session: kept and removed with it, or of a run that nobody knows', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { session, run } = await running(`session-${round}`);
      await one.step(run.id, end());
      const acts = [
        () => pick(stores, 1).submit(submissionOf(run.id, 'found')),
        () => pick(stores, 2).removeSession(session.id, 'ada'),
      ];
      await Promise.all((round % 2 === 0 ? acts : acts.toReversed()).map((act) => act()));
      expect(await stored()).toStrictEqual([]);
    }
  });
}

/** What the answer says is what is stored, and its event stands before the end of the run, or behind. */
async function expectOneTruth(sessionId: string, given: NewSubmission, result: unknown): Promise<void> {
  const events = (await two.eventsOf(sessionId)).map(({ kind }) => kind);
  const [acceptedAt, endedAt] = [events.indexOf('submission.accepted'), events.indexOf('run.ended')];
  const [found] = await two.findSubmissions(given.id);
  expect(endedAt).toBeGreaterThan(-1);
  if (found?.isAccepted === true) {
    expect(result).toStrictEqual({ is: 'accepted', id: given.id, again: false });
    expect(acceptedAt).toBeGreaterThan(-1);
    expect(acceptedAt).toBeLessThan(endedAt);
    expect(events).not.toContain('write.fenced');
  } else {
    expect(result).toMatchObject({ is: 'fenced', known: { id: given.id, as: 'kept' } });
    expect(found?.data).toBe(given.data);
    expect(acceptedAt).toBe(-1);
    expect(events.indexOf('write.fenced')).toBeGreaterThan(endedAt);
  }
}

function describeLooking(): void {
  async function threeSubmissions() {
    const [alpha, beta] = [await running('alpha'), await running('beta')];
    const given = [
      submissionOf(alpha.run.id, 'one', { id: 'sub-z1' }),
      submissionOf(beta.run.id, 'two', { id: 'sub-b2' }),
      submissionOf(alpha.run.id, 'three', { id: 'sub-b3' }),
    ];
    await one.submit(pick(given, 0));
    await one.submit(pick(given, 1));
    await one.step(alpha.run.id, end());
    await one.submit(pick(given, 2));
    for (const [index, { id }] of given.entries()) {
      await database.sql(`update submissions set at = ${1000 + index} where id = '${id}'`);
    }
    return { alpha, beta };
  }
  const idsOf = async (query: Partial<Parameters<Store['submissions']>[0]>) =>
    (await two.submissions({ which: 'all', limit: 10, ...query })).map(({ id }) => id);

  test('are listed the latest first, without their content, of all or one session, or only the refused', async () => {
    const { alpha, beta } = await threeSubmissions();
    expect(await idsOf({})).toStrictEqual(['sub-b3', 'sub-b2', 'sub-z1']);
    expect(await idsOf({ limit: 2 })).toStrictEqual(['sub-b3', 'sub-b2']);
    expect(await idsOf({ sessionId: alpha.session.id })).toStrictEqual(['sub-b3', 'sub-z1']);
    expect(await idsOf({ which: 'refused' })).toStrictEqual(['sub-b3']);
    expect(await idsOf({ which: 'refused', sessionId: beta.session.id })).toStrictEqual([]);
    const [latest] = await two.submissions({ which: 'all', limit: 1 });
    const digest = createHash('sha256').update('three').digest('hex');
    expect(latest).toStrictEqual({
      id: 'sub-b3',
      sessionId: alpha.session.id,
      runId: alpha.run.id,
      atMs: 1002,
      key: digest,
      digest,
      bytes: 5,
      isAccepted: false,
      because: 'it has ended (completed)',
    });
  });

  test('are found by id or its beginning; a beginning that fits several finds several', async () => {
    await threeSubmissions();
    const found = async (reference: string) =>
      (await two.findSubmissions(reference)).map(({ id, data }) => [id, data]);
    expect(await found('sub-z1')).toStrictEqual([['sub-z1', 'one']]);
    expect(await found('sub-z')).toStrictEqual([['sub-z1', 'one']]);
    expect(await found('sub-b')).toHaveLength(2);
    for (const none of ['sub-c', 'SUB-Z1', 'sub-_1', 'sub-z1\0', '%'])
      expect(await found(none)).toStrictEqual([]);
  });

  test('are gone with their session, and only with it', async () => {
    const { alpha } = await threeSubmissions();
    expect(await one.removeSession(alpha.session.id, 'ada')).toBe(true);
    expect(await idsOf({})).toStrictEqual(['sub-b2']);
  });

  test('cannot be stored twice, or without their reason, whatever the code above does', async () => {
    const { session, run } = await running('alpha');
    const insert = (id: string, key: string, digest: string, accepted: string, because: string) =>
      database.sql(`insert into submissions (id, session_id, run_id, at, key, digest, bytes, accepted, because, data)
        values ('${id}', '${session.id}', '${run.id}', 1, '${key}', '${digest}', 1, ${accepted}, ${because}, 'x')`);
    await insert('a', 'k', 'd', '1', 'null');
    await insert('b', 'k', 'd', '0', `'late'`);
    for (const [accepted, because] of [
      ['1', 'null'],
      ['0', `'late'`],
    ] as const) {
      await expect(insert('c', 'k', 'd', accepted, because)).rejects.toThrow(/unique/i);
    }
    for (const [accepted, because] of [
      ['1', `'late'`],
      ['0', 'null'],
      ['2', 'null'],
    ] as const) {
      await expect(insert('c', 'l', 'e', accepted, because)).rejects.toThrow(/check/i);
    }
  });
}
