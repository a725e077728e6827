/**
 * The contract of the Store port, the same for every engine, with several connections open on the same database.
 * Its other parts: fence.ts, races.ts, generated-histories.ts.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ClaimedRun, Run, Step } from '../../src/lifecycle/run.ts';
import { takeStep } from '../../src/lifecycle/run.ts';
import type { Store } from '../../src/store/store.ts';
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

let database: Database;
/** Three connections; a test writes through one and looks through another wherever it can. */
let one: Store;
let two: Store;
let three: Store;

export function describeStoreContract(engine: Engine): void {
  describe(`the store on ${engine.name}`, () => {
    beforeEach(async () => {
      database = await engine.createDatabase();
      [one, two, three] = [await database.open(), await database.open(), await database.open()];
    });
    afterEach(() => database.close());

    test('says which engine it is', () => {
      expect(one.engine).toBe(engine.name);
    });
    describe('a claim', describeClaim);
    describe('a step', describeStep);
    describe('looking', describeLooking);
    describe('removing a session', describeRemoving);

    test('a write is tried, and nothing of it stays', async () => {
      await one.claim(claimOf('alpha'));
      const before = [await two.events({ after: 0, limit: 100 }), await two.live(), await two.hosts()];
      await one.tryWrite();
      expect([await two.events({ after: 0, limit: 100 }), await two.live(), await two.hosts()]).toEqual(
        before,
      );
      expect((await two.overview(100)).ended).toEqual([]);
      await one.claim(claimOf('beta'));
    });
  });
}

function describeClaim(): void {
  test('of a new name creates the session and its first run, with one event', async () => {
    const request = claimOf('alpha');
    const result = await one.claim(request);

    const { claimedAtMs } = result.run;
    const session = {
      id: request.sessionId,
      name: 'alpha',
      harness: request.harness,
      cwd: request.cwd,
      argv: request.argv,
      epoch: 1,
      createdAtMs: claimedAtMs,
      nativeId: null,
      budget: null,
    };
    const run: ClaimedRun = {
      id: request.runId,
      sessionId: request.sessionId,
      epoch: 1,
      state: 'claimed',
      mode: request.mode,
      argv: request.argv,
      cwd: request.cwd,
      actor: request.actor,
      launcher: request.launcher,
      tokenHash: request.tokenHash,
      logPath: request.logPath,
      claimedAtMs,
      intent: null,
      harness: null,
      native: null,
      activity: null,
      parent: null,
      awake: null,
      overBudget: null,
      keeper: null,
      containment: null,
      startedAtMs: null,
      ending: null,
    };
    expect(result).toStrictEqual({ won: true, session, run });
    expect(Math.abs(claimedAtMs - Date.now())).toBeLessThan(60_000);
    expect(await two.sessionByName('alpha')).toStrictEqual({ session, run });
    expect(await two.runsOf(session.id)).toStrictEqual([run]);
    expect(await two.eventsOf(session.id)).toStrictEqual([
      {
        seq: expect.any(Number),
        atMs: claimedAtMs,
        sessionId: session.id,
        runId: run.id,
        kind: 'run.claimed',
        actor: request.actor,
        data: {
          epoch: 1,
          argv: request.argv,
          cwd: request.cwd,
          mode: request.mode,
          launcher: request.launcher,
        },
      },
    ]);
  });

  test('keeps what may be missing as missing', async () => {
    const launcher = { ...identity(1), startTime: null };
    const { run } = await won(one, claimOf('alpha', { logPath: null, launcher, argv: [] }));
    expect(await two.run(run.id)).toStrictEqual(run);
    expect([run.logPath, run.launcher, run.argv]).toStrictEqual([null, launcher, []]);
  });

  test.each(['claimed', 'running'])(
    'of a session with a %s run loses and is told who owns it',
    async (state) => {
      const { session, run } = await won(one, claimOf('alpha'));
      if (state === 'running') await one.step(run.id, start);
      const owner = await one.run(run.id);

      for (const mustBeNew of [false, true]) {
        expect(await two.claim(claimOf('alpha', { mustBeNew }))).toStrictEqual({
          won: false,
          because: 'owned',
          session,
          run: owner,
        });
      }
      expect(await three.runsOf(session.id)).toStrictEqual([owner]);
    },
  );

  test('of an ended session counts its epoch up and takes the new command, in the same session', async () => {
    const first = await won(one, claimOf('alpha'));
    await one.step(first.run.id, end());
    const request = claimOf('alpha', { cwd: '/elsewhere', argv: ['codex'], harness: 'codex' });
    const second = await two.claim(request);

    const { session, run } = second;
    expect(second.won).toBe(true);
    expect(session).toStrictEqual({
      ...first.session,
      epoch: 2,
      cwd: '/elsewhere',
      argv: ['codex'],
      harness: 'codex',
    });
    expect([run.id, run.epoch, run.sessionId]).toStrictEqual([request.runId, 2, first.session.id]);
    expect((await three.runsOf(session.id)).map(({ epoch, state }) => [epoch, state])).toStrictEqual([
      [1, 'ended'],
      [2, 'claimed'],
    ]);
  });

  test('that must be new loses to an ended session too, and changes nothing', async () => {
    const { session, run } = await won(one, claimOf('alpha', { mustBeNew: true }));
    await one.step(run.id, end());
    const before = await everything();

    expect(await two.claim(claimOf('alpha', { mustBeNew: true }))).toStrictEqual({
      won: false,
      because: 'name_taken',
      session,
      run: await one.run(run.id),
    });
    expect(await everything()).toStrictEqual(before);
  });

  test('whose event cannot be written did not happen, and the connection goes on', async () => {
    await database.refuseEvents('run.claimed');
    const before = await everything();
    await expect(one.claim(claimOf('alpha'))).rejects.toThrow();
    expect(await everything()).toStrictEqual(before);
    expect(await one.live()).toStrictEqual([]);
  });
}

type Situation =
  | 'claimed'
  | 'claimed, intended'
  | 'running'
  | 'executing'
  | 'running, intended'
  | 'running, intended by one who may take it back'
  | 'ended';

const WAY_TO: Readonly<Record<Situation, readonly Step[]>> = {
  claimed: [],
  'claimed, intended': [intend()],
  running: [start],
  executing: [start, executing],
  'running, intended': [start, intend()],
  'running, intended by one who may take it back': [start, held],
  ended: [start, end()],
};

const LATER_STEPS: readonly Step[] = [
  { ...start, keeper: identity(201), containment: { by: 'marks' }, atMs: start.atMs + 1 },
  { kind: 'executing', harness: identity(301) },
  intend({ outcome: 'superseded', actor: 'bob', reason: 'bob asked to take it over' }),
  end({ outcome: 'failed', exitCode: null, signal: 'SIGKILL', evidence: [] }),
  withdraw,
  intend({ actor: 'bob', id: 'intent-2', by: identity(401) }),
  { ...intend({ actor: 'bob', id: 'intent-2', by: identity(401) }), over: held.intent },
  { ...end(), decidedOn: null },
];

/** For start, executing, intend, end, withdraw, and what comes of an id, of another's end and of a decision, in this order. */
const ANSWERS: Readonly<Record<Situation, string>> = {
  claimed: 'taken not_started taken taken not_started taken taken taken',
  'claimed, intended':
    'already_intended not_started already_intended taken not_started already_intended already_intended intent_changed',
  running: 'already_started taken taken taken not_intended taken taken taken',
  executing: 'already_started already_started taken taken not_intended taken taken taken',
  'running, intended':
    'already_started taken already_intended taken not_intended already_intended already_intended intent_changed',
  'running, intended by one who may take it back':
    'already_started taken already_intended taken taken taken taken intent_changed',
  ended: 'ended ended ended ended ended ended ended ended',
};

function describeStep(): void {
  // Safe as a cast: the keys of a literal record are its type's keys.
  for (const situation of Object.keys(WAY_TO) as Situation[]) {
    test(`on a run that is ${situation} is written whole with one event, or refused without a trace`, async () => {
      const answers: string[] = [];
      for (const [index, step] of LATER_STEPS.entries()) {
        const { run } = await won(one, claimOf(`${situation.replaceAll(' ', '-')}-${index}`));
        for (const earlier of WAY_TO[situation]) await one.step(run.id, earlier);
        answers.push(await expectStep(run.id, step));
      }
      expect(answers.join(' ')).toBe(ANSWERS[situation]);
    });
  }

  test('on a run that nobody knows is refused as on one that ended', async () => {
    expect(await one.step('nobody', start)).toStrictEqual({ taken: false, because: 'ended' });
    expect(await database.sql('select * from events')).toStrictEqual([]);
  });

  test.each([
    ['start', [], start, 'run.started'],
    ['executing', [start], executing, 'run.executing'],
    ['intend', [], intend(), 'run.intended'],
    ['withdraw', [start, held], withdraw, 'run.withdrawn'],
    ['end', [start], end(), 'run.ended'],
  ] as const)('%s whose event cannot be written did not happen', async (_kind, way, step, event) => {
    const { run } = await won(one, claimOf('alpha'));
    for (const earlier of way) await one.step(run.id, earlier);
    await database.refuseEvents(event);
    const before = await everything();
    await expect(one.step(run.id, step)).rejects.toThrow();
    expect(await everything()).toStrictEqual(before);
  });
}

/** Takes the step through one connection and compares what another then sees with what `takeStep` decides. */
async function expectStep(runId: string, step: Step): Promise<string> {
  const before = await runAt(runId);
  const eventsBefore = await two.eventsOf(before.sessionId);
  const decided = takeStep(before, step);

  expect(await one.step(runId, step)).toStrictEqual(decided);
  expect(await two.run(runId)).toStrictEqual(decided.taken ? decided.run : before);
  const added = decided.taken
    ? [
        {
          seq: expect.any(Number),
          atMs: expect.any(Number),
          sessionId: before.sessionId,
          runId,
          ...decided.event,
        },
      ]
    : [];
  expect(await two.eventsOf(before.sessionId)).toStrictEqual([...eventsBefore, ...added]);
  return decided.taken ? 'taken' : decided.because;
}

function describeLooking(): void {
  const ids = { sessionId: 'aaaa-1', runId: 'bbbb-1' };

  test('finds nothing for what is not there', async () => {
    await won(one, claimOf('alpha', ids));
    expect(await two.run('nobody')).toBeNull();
    expect(await two.sessionByName('alph')).toBeNull();
    expect(await two.runsOf('nobody')).toStrictEqual([]);
    expect(await two.eventsOf('nobody')).toStrictEqual([]);
    for (const reference of ['nobody', 'alph', '%', '_aaa-1', "a'", '?', '😀', 'AAAA']) {
      expect(await two.find(reference)).toStrictEqual({ matches: [] });
    }
  });

  test('finds a session by name, id, any run’s id, and a unique beginning of either', async () => {
    const first = await won(one, claimOf('alpha', ids));
    await one.step(first.run.id, end());
    const { session, run } = await won(one, claimOf('alpha', { runId: 'cccc-1' }));
    await won(one, claimOf('beta', { sessionId: 'dddd-1', runId: 'eeee-1' }));
    for (const reference of ['alpha', 'aaaa-1', 'aa', 'bbbb-1', 'bb', 'cccc-1', 'c']) {
      expect(await two.find(reference)).toStrictEqual({ matches: [{ session, run }] });
    }
  });

  test('takes an id before a name, and a name before a beginning', async () => {
    await won(one, claimOf('alpha', { sessionId: 'xx', runId: 'r1' }));
    await won(one, claimOf('beta', { sessionId: 'xxx', runId: 'r2' }));
    await won(one, claimOf('xxx', { sessionId: 'other', runId: 'r3' }));
    await won(one, claimOf('r2', { sessionId: 'impostor', runId: 'r4' }));
    await won(one, claimOf('oth', { sessionId: 'last', runId: 'r5' }));
    const namesOf = async (reference: string) =>
      (await two.find(reference)).matches.map(({ session }) => session.name);
    expect(await namesOf('xxx')).toStrictEqual(['beta']);
    expect(await namesOf('r2')).toStrictEqual(['beta']);
    expect(await namesOf('impostor')).toStrictEqual(['r2']);
    expect(await namesOf('oth')).toStrictEqual(['oth']);
    expect(await namesOf('xx')).toStrictEqual(['alpha']);
    expect(await namesOf('x')).toStrictEqual(['alpha', 'beta']);
  });

  test('gives both for a name that is the beginning of another’s id, or the id of another’s conversation', async () => {
    const conversation = '8e18be4f-0000-4000-8000-000000000000';
    const native = { harness: 'claude', nativeId: conversation };
    await won(one, claimOf('alpha', { sessionId: 's-ab12', runId: 'r-cd34', ...native }));
    for (const name of ['s-ab', 'r-cd', conversation]) await won(one, claimOf(name));
    const namesOf = async (reference: string) =>
      (await two.find(reference)).matches.map(({ session }) => session.name);
    expect(await namesOf('s-ab')).toStrictEqual(['alpha', 's-ab']);
    expect(await namesOf('r-cd')).toStrictEqual(['alpha', 'r-cd']);
    expect((await namesOf(conversation)).toSorted()).toStrictEqual([conversation, 'alpha']);
    expect(await namesOf('r-cd34')).toStrictEqual(['alpha']);
    expect(await namesOf('r-c')).toStrictEqual(['alpha']);
  });

  test('gives several candidates in the order of their names, each once, and only a handful', async () => {
    for (let index = 29; index >= 10; index -= 1) {
      await won(one, claimOf(`s${index}`, { sessionId: `x${index}`, runId: `xr${index}` }));
    }
    const names = (await two.find('x')).matches.map(({ session }) => session.name);
    expect(names).toStrictEqual(many(10, (index) => `s${10 + index}`));
  });

  test('lists the live runs in the order of their claims, and no ended one', async () => {
    const claims = [];
    for (const name of ['c', 'a', 'b', 'd']) claims.push(await won(one, claimOf(name)));
    await one.step(claims[0]?.run.id ?? '', end());
    await one.step(claims[1]?.run.id ?? '', start);
    const expected = [];
    for (const { session, run } of claims.slice(1)) expected.push({ session, run: await runAt(run.id) });
    // Claims in the same millisecond have no order but that of their ids.
    expected.sort((x, y) => x.run.claimedAtMs - y.run.claimedAtMs || (x.run.id < y.run.id ? -1 : 1));
    expect(await two.live()).toStrictEqual(expected);
  });

  test('lists the sessions that ended, the latest first, up to a limit', async () => {
    for (const [name, endedAtMs] of [
      ['second', 2_000],
      ['third', 3_000],
      ['first', 1_000],
      ['again', 4_000],
    ] as const) {
      const { run } = await won(one, claimOf(name));
      await one.step(run.id, end({ endedAtMs }));
    }
    await won(one, claimOf('again'));
    const namesOf = async (limit: number) =>
      (await two.overview(limit)).ended.map(({ session, run }) => [session.name, run.ending?.endedAtMs]);
    expect(await namesOf(2)).toStrictEqual([
      ['third', 3_000],
      ['second', 2_000],
    ]);
    expect(await namesOf(10)).toHaveLength(3);
    expect(await namesOf(0)).toStrictEqual([]);
  });

  test('tells events in the order in which they happened, whoever wrote them', async () => {
    const { session, run } = await won(one, claimOf('alpha'));
    const steps = [start, executing, intend(), end()];
    for (const [index, step] of steps.entries()) await pick([two, three, one], index).step(run.id, step);
    const events = await three.eventsOf(session.id);
    expect(events.map(({ kind }) => kind)).toStrictEqual([
      'run.claimed',
      'run.started',
      'run.executing',
      'run.intended',
      'run.ended',
    ]);
    const numbers = events.map(({ seq }) => seq);
    expect(numbers).toStrictEqual(numbers.toSorted((a, b) => a - b));
    expect(new Set(numbers).size).toBe(numbers.length);
  });
}

function describeRemoving(): void {
  test.each([[[]], [[start]], [[start, intend()]]] as const)(
    'is refused while a run of it is live, and changes nothing',
    async (way) => {
      const { session, run } = await won(one, claimOf('alpha'));
      for (const step of way) await one.step(run.id, step);
      const before = await everything();
      expect(await two.removeSession(session.id, 'ada')).toBe(false);
      expect(await everything()).toStrictEqual(before);
    },
  );

  test('forgets all of it but that it was removed, and of nothing else', async () => {
    const { session, run } = await won(one, claimOf('alpha'));
    await one.step(run.id, end());
    const other = await won(one, claimOf('beta'));
    const otherEvents = await one.eventsOf(other.session.id);

    expect(await two.removeSession(session.id, 'bob')).toBe(true);
    expect(await one.find('alpha')).toStrictEqual({ matches: [] });
    expect(await one.run(run.id)).toBeNull();
    expect(await one.runsOf(session.id)).toStrictEqual([]);
    const removed = {
      seq: expect.any(Number),
      atMs: expect.any(Number),
      sessionId: session.id,
      runId: null,
      kind: 'session.removed',
      actor: 'bob',
      data: { name: 'alpha', epoch: 1 },
    };
    expect(await one.eventsOf(session.id)).toStrictEqual([removed]);
    expect(await one.sessionByName('beta')).toStrictEqual({ session: other.session, run: other.run });
    expect(await one.eventsOf(other.session.id)).toStrictEqual(otherEvents);

    expect(await three.removeSession(session.id, 'bob')).toBe(true);
    expect(await one.eventsOf(session.id)).toStrictEqual([removed]);
  });

  test('leaves its name to a new session', async () => {
    const first = await won(one, claimOf('alpha'));
    await one.step(first.run.id, end());
    await one.removeSession(first.session.id, 'ada');
    const request = claimOf('alpha', { mustBeNew: true });
    const { session, run } = await won(two, request);
    expect([session.id, session.epoch, run.epoch]).toStrictEqual([request.sessionId, 1, 1]);
  });

  test('whose event cannot be written did not happen', async () => {
    const { session, run } = await won(one, claimOf('alpha'));
    await one.step(run.id, end());
    await database.refuseEvents('session.removed');
    const before = await everything();
    await expect(one.removeSession(session.id, 'ada')).rejects.toThrow();
    expect(await everything()).toStrictEqual(before);
  });
}

async function runAt(runId: string): Promise<Run> {
  const run = await two.run(runId);
  if (run === null) throw new Error(`There is no run ${runId}.`);
  return run;
}

/** Every row of every table, for what must have changed nothing. */
async function everything(): Promise<readonly unknown[]> {
  const tables = [];
  for (const table of ['sessions', 'runs', 'events']) {
    tables.push(await database.sql(`select * from ${table} order by 1`));
  }
  return tables;
}
