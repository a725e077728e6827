/** The part of the store's contract about budgets. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DEFAULT_TERMS } from '../../src/lifecycle/child.ts';
import type { SessionBudget } from '../../src/lifecycle/session-budget.ts';
import type { BudgetQuery } from '../../src/store/budget-facts.ts';
import type { BudgetNote, Store } from '../../src/store/store.ts';
import type { Database, Engine } from './engine.ts';
import { claimOf, end, many, start, TOKEN, won } from './examples.ts';

let database: Database;
let one: Store;
let two: Store;

const BUDGET: SessionBudget = { tokens: 2_000_000, cost: 5.5, minutes: null, onExceeded: 'ask' };

export function describeStoreBudgets(engine: Engine): void {
  describe(`budgets on ${engine.name}`, () => {
    beforeEach(async () => {
      database = await engine.createDatabase();
      [one, two] = [await database.open(), await database.open()];
    });
    afterEach(() => database.close());

    describe('what is set for a session', describeSetting);
    describe('what is told once', describeNoting);
    describe('what a run has used', describeUsing);
  });
}

function describeSetting(): void {
  test('comes with its claim, and stays when the next one says nothing', async () => {
    const first = await won(one, claimOf('alpha', { budget: BUDGET }));
    expect(first.session.budget).toStrictEqual(BUDGET);
    await one.step(first.run.id, end());
    expect((await won(two, claimOf('alpha'))).session.budget).toStrictEqual(BUDGET);
    expect((await two.sessionByName('alpha'))?.session.budget).toStrictEqual(BUDGET);
    const events = await one.eventsOf(first.session.id);
    expect(events.filter(({ kind }) => kind === 'budget.set').map(({ data }) => data)).toStrictEqual([
      { budget: BUDGET },
    ]);
  });

  test('is changed by a later claim only in what that gives', async () => {
    const first = await won(one, claimOf('alpha', { budget: BUDGET }));
    await one.step(first.run.id, end());
    const { session } = await won(two, claimOf('alpha', { budget: { tokens: 3_000_000 } }));
    expect(session.budget).toStrictEqual({ ...BUDGET, tokens: 3_000_000 });
    expect((await one.sessionsOf([session.id]))[0]?.session.budget).toStrictEqual(session.budget);
  });

  test('is not there unless it was set, is found, and can be taken away', async () => {
    const plain = await won(one, claimOf('plain'));
    const { session } = await won(one, claimOf('alpha'));
    expect([plain.session.budget, await two.budgetedSessions()]).toStrictEqual([null, []]);
    await two.setBudget(session.id, BUDGET, 'ada');
    expect(await one.budgetedSessions()).toStrictEqual([session.id]);
    expect((await one.sessionByName('alpha'))?.session.budget).toStrictEqual(BUDGET);
    await two.setBudget(session.id, null, 'ada');
    expect(await one.budgetedSessions()).toStrictEqual([]);
    const told = (await one.eventsOf(session.id)).filter(({ kind }) => kind === 'budget.set');
    expect(told.map(({ actor, runId, data }) => [actor, runId, data])).toStrictEqual([
      ['ada', null, { budget: BUDGET }],
      ['ada', null, { budget: null }],
    ]);
  });

  test('is not written for a session that is gone', async () => {
    await one.setBudget('s-nobody', BUDGET, 'ada');
    expect(await one.eventsOf('s-nobody')).toStrictEqual([]);
  });

  test('a claim that loses sets nothing', async () => {
    const { session } = await won(one, claimOf('alpha'));
    await two.claim(claimOf('alpha', { budget: BUDGET }));
    expect((await one.sessionsOf([session.id]))[0]?.session.budget).toBeNull();
  });
}

function describeNoting(): void {
  async function noteFor(name: string, key: string): Promise<BudgetNote> {
    const { session, run } = await won(one, claimOf(name));
    const event = { sessionId: session.id, runId: run.id, kind: 'budget.warned', actor: 'budget' };
    return { key, event: { ...event, data: { limit: 5 } } };
  }

  test('is told by one of many that find it at once', async () => {
    const note = await noteFor('alpha', 'session tokens 5');
    const told = await Promise.all(many(12, (index) => (index % 2 ? one : two).noteBudget(note)));
    expect(told.filter(Boolean)).toHaveLength(1);
    const events = (await one.eventsOf(note.event.sessionId)).filter(({ kind }) => kind === 'budget.warned');
    expect(events).toMatchObject([note.event]);
    expect(await two.noteBudget({ ...note, key: 'session tokens 6' })).toBe(true);
  });

  test('is forgotten with its session', async () => {
    const note = await noteFor('alpha', 'k');
    await one.noteBudget(note);
    await one.step(note.event.runId ?? '', end());
    await one.removeSession(note.event.sessionId, 'ada');
    expect(await two.noteBudget(await noteFor('alpha', 'k'))).toBe(true);
  });

  test('what a person is asked for is on the run while it lives, and told when it changes', async () => {
    const { session, run } = await won(one, claimOf('alpha'));
    const ask = (store: Store, what: string | null) => {
      const kind = what === null ? 'budget.cleared' : 'budget.exceeded';
      const event = { sessionId: session.id, runId: run.id, kind, actor: 'budget', data: { what } };
      return store.setOverBudget({ runId: run.id, what, event });
    };
    const asked = async () => (await two.run(run.id))?.overBudget?.what;
    expect(await Promise.all([ask(one, '5 tokens'), ask(two, '5 tokens')])).toContain(true);
    expect(await ask(two, '5 tokens')).toBe(false);
    await two.step(run.id, start);
    expect(await asked()).toBe('5 tokens');
    expect(await ask(two, null)).toBe(true);
    expect(await ask(two, null)).toBe(false);
    await one.step(run.id, end());
    expect(await ask(two, 'late')).toBe(false);
    expect(await asked()).toBeUndefined();
    const told = (await one.eventsOf(session.id)).filter(({ kind }) => kind.startsWith('budget.'));
    expect(told.map(({ kind, data }) => [kind, data])).toStrictEqual([
      ['budget.exceeded', { what: '5 tokens' }],
      ['budget.cleared', { what: null }],
    ]);
  });
}

function describeUsing(): void {
  const NOON_MS = 1_699_963_200_000;
  const spend = (sessionId: string, key: string, input: number, model = 'opus', atMs = start.atMs) =>
    one.recordUsage({
      sessionId,
      nativeId: key,
      path: `/${key}`,
      from: null,
      to: { identity: 'd', offset: 1, state: '' },
      records: [{ key, model, atMs, input, output: 1, cacheRead: 0, cacheWrite: 0, reasoning: 0 }],
    });

  const facts = (query: Partial<BudgetQuery>) =>
    two.budgetFacts({ runIds: [], sessionIds: [], day: null, ...query });

  test('its time awake only grows, until it is over', async () => {
    const { run } = await won(one, claimOf('alpha'));
    const awake = async () => (await two.run(run.id))?.awake;
    expect(await awake()).toBeNull();
    await one.step(run.id, start);
    expect(await awake()).toStrictEqual({ fromMs: 5_000, ms: null });
    await one.recordAwake([{ runId: run.id, awakeMs: 700 }]);
    await two.recordAwake([{ runId: run.id, awakeMs: 300 }]);
    expect(await awake()).toStrictEqual({ fromMs: 5_000, ms: 700 });
    await one.step(run.id, { ...end(), awakeMs: 900 });
    await one.recordAwake([{ runId: run.id, awakeMs: 5_000 }]);
    expect(await awake()).toStrictEqual({ fromMs: 5_000, ms: 900 });
  });

  test('tokens of these runs and no others are summed by model and day', async () => {
    const alpha = await won(one, claimOf('alpha'));
    await one.step(alpha.run.id, { ...start, atMs: NOON_MS });
    const parent = { ...DEFAULT_TERMS, runId: alpha.run.id, token: TOKEN };
    const child = await won(one, claimOf('child', { parent }));
    await one.step(child.run.id, { ...start, atMs: NOON_MS });
    const other = await won(one, claimOf('other'));
    await one.step(other.run.id, { ...start, atMs: NOON_MS });
    await spend(alpha.session.id, 'a', 10);
    await spend(child.session.id, 'b', 20, 'haiku');
    await spend(child.session.id, 'c', 30, 'opus', NOON_MS);
    await spend(other.session.id, 'd', 40);
    const sum = { cacheRead: 0, cacheWrite: 0, reasoning: 0 };
    const day = '2023-11-14';
    const ofAlpha = [{ model: 'opus', day, input: 10, output: 1, ...sum }];
    const ofChild = [
      { model: 'haiku', day, input: 20, output: 1, ...sum },
      { model: 'opus', day, input: 30, output: 1, ...sum },
    ];
    const family = await facts({ runIds: [child.run.id] });
    expect(family.spentByRun).toStrictEqual(
      new Map([
        [alpha.run.id, ofAlpha],
        [child.run.id, ofChild],
      ]),
    );
    expect((await facts({ day })).day?.spent).toStrictEqual([
      { model: 'haiku', day, input: 20, output: 1, ...sum },
      { model: 'opus', day, input: 80, output: 3, ...sum },
    ]);
    expect((await facts({ day: '2023-11-15' })).day?.spent).toStrictEqual([]);
    const found = await two.runsWithSession([child.run.id, 'r-nobody']);
    expect(found.map(({ session, run }) => [session.name, run.id])).toStrictEqual([['child', child.run.id]]);
    expect(await two.runsWithSession([])).toStrictEqual([]);
  });

  test('for a day, runs are those that live, with what they spent, and those that ended on it', async () => {
    const [early, late, live] = [
      await won(one, claimOf('early')),
      await won(one, claimOf('late')),
      await won(one, claimOf('live')),
    ];
    await one.step(live.run.id, { ...start, atMs: NOON_MS });
    await spend(live.session.id, 'a', 10);
    await one.step(early.run.id, end({ endedAtMs: Date.parse('2023-11-13T23:59:59Z') }));
    await one.step(late.run.id, end({ endedAtMs: NOON_MS }));
    const { family, day, spentByRun } = await facts({ day: '2023-11-14' });
    const ids = (day?.runs ?? []).map(({ run }) => run.id);
    expect(ids.toSorted()).toStrictEqual([late.run.id, live.run.id].toSorted());
    expect([family, [...spentByRun.keys()]]).toStrictEqual([[], [live.run.id]]);
    expect((await facts({})).day).toBeNull();
  });

  test('a family is all above and below, with the other runs of their sessions and what is below those', async () => {
    const childOf = async (name: string, { run }: { run: { id: string } }) =>
      won(one, claimOf(name, { parent: { ...DEFAULT_TERMS, runId: run.id, token: TOKEN } }));
    const first = await won(one, claimOf('top'));
    const below = await childOf('of the first', first);
    for (const { run } of [below, first]) await one.step(run.id, end());
    const second = await won(one, claimOf('top'));
    const child = await childOf('child', second);
    const grandchild = await childOf('grandchild', child);
    await won(one, claimOf('stranger'));
    const names = async (query: Partial<BudgetQuery>) =>
      (await facts(query)).family.map(({ session, run }) => `${session.name} ${run.epoch}`).toSorted();
    const all = ['child 1', 'grandchild 1', 'of the first 1', 'top 1', 'top 2'];
    expect(await names({ runIds: [grandchild.run.id] })).toStrictEqual(all);
    expect(await names({ runIds: [below.run.id, child.run.id] })).toStrictEqual(all);
    expect(await names({ sessionIds: [first.session.id] })).toStrictEqual(all);
    expect(await names({ sessionIds: [child.session.id] })).toStrictEqual(['child 1', 'grandchild 1']);
    expect(await names({ runIds: ['r-nobody'] })).toStrictEqual([]);
  });
}
