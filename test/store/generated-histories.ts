/**
 * Generated histories: any sequence of claims, steps, heartbeats and removals over several connections, applied to
 * the store and to a model in memory. fast-check prints the seed and the shortest history that fails.
 */
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Run, Step } from '../../src/lifecycle/run.ts';
import { takeStep } from '../../src/lifecycle/run.ts';
import type { ClaimRequest, Store } from '../../src/store/store.ts';
import type { Database, Engine } from './engine.ts';
import { claimOf, end, executing, intend, start, TOKEN } from './examples.ts';

const HISTORIES = 80;
const CONNECTIONS = 3;
const NAMES = ['a', 'b'] as const;

type Command = { readonly name: (typeof NAMES)[number]; readonly connection: number } & (
  | { readonly do: 'claim'; readonly mustBeNew: boolean }
  | { readonly do: 'step'; readonly step: Step; readonly back: number }
  | { readonly do: 'heartbeat'; readonly token: string; readonly back: number }
  | { readonly do: 'remove' }
);

/** The runs of a session, the current one last. */
interface ModelSession {
  readonly id: string;
  readonly runs: Run[];
}
type Model = Map<string, ModelSession>;

export function describeGeneratedHistories(engine: Engine): void {
  describe(`any history of the store on ${engine.name}`, () => {
    let database: Database;
    let stores: Store[] = [];
    beforeAll(async () => {
      database = await engine.createDatabase();
      for (let index = 0; index < CONNECTIONS; index += 1) stores.push(await database.open());
    });
    afterAll(() => database.close());

    test('agrees with the rules, and never has two live runs of a session', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(commands(), { maxLength: 30 }), async (history) => {
          const model: Model = new Map();
          const prefix = randomUUID();
          for (const command of history) {
            const store = stores[command.connection];
            if (store === undefined) throw new Error('No such connection.');
            await apply(store, model, `${prefix}-${command.name}`, command);
          }
          await expectSame(stores, model, prefix);
        }),
        { numRuns: HISTORIES },
      );
    });
  });
}

function commands(): fc.Arbitrary<Command> {
  const where = { name: fc.constantFrom(...NAMES), connection: fc.nat(CONNECTIONS - 1) };
  const back = fc.nat(1);
  const step = fc.oneof(
    fc.constant(start),
    fc.constant(executing),
    fc.constantFrom('stopped', 'superseded', 'reaped').map((outcome) => intend({ outcome })),
    fc.constantFrom('completed', 'failed', 'lost').map((outcome) => end({ outcome })),
  );
  return fc.oneof(
    fc.record({ ...where, do: fc.constant('claim'), mustBeNew: fc.boolean() }),
    fc.record({ ...where, do: fc.constant('step'), step, back }),
    fc.record({ ...where, do: fc.constant('step'), step, back: fc.constant(0) }),
    fc.record({ ...where, do: fc.constant('heartbeat'), token: fc.constantFrom(TOKEN, 'wrong'), back }),
    fc.record({ ...where, do: fc.constant('remove') }),
  );
}

async function apply(store: Store, model: Model, name: string, command: Command): Promise<void> {
  const session = model.get(name);
  switch (command.do) {
    case 'claim':
      return applyClaim(store, model, claimOf(name, { mustBeNew: command.mustBeNew }));
    case 'step': {
      const index = (session?.runs.length ?? 0) - 1 - command.back;
      const run = session?.runs[index];
      if (session === undefined || run === undefined) return;
      const decided = takeStep(run, command.step);
      expect(await store.step(run.id, command.step)).toStrictEqual(decided);
      if (decided.taken) session.runs[index] = decided.run;
      return;
    }
    case 'heartbeat': {
      const run = session?.runs.at(-1 - command.back);
      if (run === undefined) return;
      const isRight = command.token === TOKEN && command.back === 0 && run.state !== 'ended';
      expect((await store.heartbeat(run.id, command.token)).accepted).toBe(isRight);
      return;
    }
    case 'remove': {
      if (session === undefined) return;
      const isLive = session.runs.at(-1)?.state !== 'ended';
      expect(await store.removeSession(session.id, 'ada')).toBe(!isLive);
      if (!isLive) model.delete(name);
      return;
    }
  }
}

async function applyClaim(store: Store, model: Model, request: ClaimRequest): Promise<void> {
  const session = model.get(request.sessionName);
  const current = session?.runs.at(-1);
  const result = await store.claim(request);
  if (current !== undefined && (current.state !== 'ended' || request.mustBeNew)) {
    const because = current.state === 'ended' ? 'name_taken' : 'owned';
    expect(result).toStrictEqual({ won: false, because, session: result.session, run: current });
    return;
  }
  expect([result.won, result.run.id, result.run.epoch]).toStrictEqual([
    true,
    request.runId,
    (current?.epoch ?? 0) + 1,
  ]);
  if (session === undefined) model.set(request.sessionName, { id: request.sessionId, runs: [result.run] });
  else session.runs.push(result.run);
}

async function expectSame(stores: readonly Store[], model: Model, prefix: string): Promise<void> {
  for (const store of stores) {
    const live = (await store.live()).filter(({ session }) => session.name.startsWith(prefix));
    const expected = [...model.values()].flatMap(({ runs }) => runs.filter(({ state }) => state !== 'ended'));
    expect(new Set(live.map(({ run }) => run.id))).toStrictEqual(new Set(expected.map(({ id }) => id)));
    for (const name of NAMES) {
      const session = model.get(`${prefix}-${name}`);
      const found = await store.sessionByName(`${prefix}-${name}`);
      if (session === undefined) {
        expect(found).toBeNull();
        continue;
      }
      expect([found?.session.id, found?.run]).toStrictEqual([session.id, session.runs.at(-1)]);
      expect(await store.runsOf(session.id)).toStrictEqual(session.runs);
      expect(session.runs.filter(({ state }) => state !== 'ended').length).toBeLessThanOrEqual(1);
      await expectOneEventAStep(store, session);
    }
  }
}

/** Each run was claimed once, and started, intended and ended at most once and only if its record says so. */
async function expectOneEventAStep(store: Store, session: ModelSession): Promise<void> {
  const events = await store.eventsOf(session.id);
  for (const run of session.runs) {
    const kinds = events.filter(({ runId, kind }) => runId === run.id && kind !== 'write.fenced');
    const expected = [
      'run.claimed',
      ...(run.keeper === null ? [] : ['run.started']),
      ...(run.harness === null ? [] : ['run.executing']),
      ...(run.intent === null ? [] : ['run.intended']),
      ...(run.ending === null ? [] : ['run.ended']),
    ];
    expect(kinds.map(({ kind }) => kind).toSorted()).toStrictEqual(expected.toSorted());
  }
}
