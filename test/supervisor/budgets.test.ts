/** Budgets from spending to the end of a run, on both engines, whoever finds it and however many do. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { SessionBudgets } from '../../src/api/http-views.ts';
import type { SessionView } from '../../src/api/session-view.ts';
import { lookAtBudgets } from '../../src/supervisor/budget-facts.ts';
import { readPolicy } from '../../src/supervisor/budget-policy.ts';
import { enforceBudgets, enforceBudgetsOf } from '../../src/supervisor/budgets.ts';
import { openContext } from '../../src/supervisor/context.ts';
import type { Context } from '../../src/supervisor/context.ts';
import { launchIn } from '../support/launch.ts';
import { startPostgres } from '../support/postgres.ts';
import { eventually, isAlive, signalSeen } from '../support/processes.ts';
import { CLI, createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let server: Awaited<ReturnType<typeof startPostgres>>;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

let sandbox: Sandbox;
let context: Context;
afterEach(async () => {
  vi.useRealTimers();
  await context.store.close();
  await sandbox.cleanUp();
});

async function begin(engine: 'sqlite' | 'postgres'): Promise<void> {
  sandbox = createSandbox(engine === 'sqlite' ? {} : { REEVE_STORE: await server.createDatabase() });
  context = await openContext({ environment: sandbox.env });
}

const budgeted = async (name: string, ...flags: string[]) => {
  const { run } = await sandbox.json<SessionView>(['run', '-d', ...flags, '-s', name, '--', 'sleep', '60']);
  return run;
};
const found = async (name: string) => {
  const each = await context.store.sessionByName(name);
  if (each === null) throw new Error(`There is no session ${name}.`);
  return each;
};
/** As the ledger of a harness would, and now. */
async function spend(name: string, tokens: number): Promise<void> {
  const { session } = await found(name);
  const key = `${name} ${spent}`;
  spent += 1;
  await context.store.recordUsage({
    sessionId: session.id,
    nativeId: key,
    path: key,
    from: null,
    to: { identity: 'd', offset: 1, state: '' },
    records: [
      {
        key,
        model: 'opus',
        atMs: Date.now(),
        input: tokens,
        output: 0,
        cacheRead: 0,
        cacheWrite: 0,
        reasoning: 0,
      },
    ],
  });
}
let spent = 0;

const configure = (text: string) => {
  const path = sandbox.path('.config/reeve/config.toml');
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
};
const eventsOf = async (name: string, kind: string) => {
  const { session } = await found(name);
  return (await context.store.eventsOf(session.id)).filter((event) => event.kind === kind);
};
const budgetOf = async (name: string) => (await sandbox.json<SessionBudgets[]>(['budget', name]))[0]?.budgets;
const setBudget = async (name: string, ...flags: string[]) =>
  expect(await sandbox.reeve(['budget', 'set', name, ...flags])).toMatchObject({ code: 0, stderr: '' });
const outcome = async (name: string) => (await found(name)).run.ending?.outcome ?? null;

describe.each(['sqlite', 'postgres'] as const)('a budget on %s', (engine) => {
  beforeEach(() => begin(engine));

  it('is ended by a child that spends, with the child', async () => {
    const script = `${process.execPath} ${CLI} run --detach -s kid -- sleep 60; exec sleep 60`;
    const start = ['run', '-d', '-s', 'parent', '--max-tokens', '1k', '--', 'sh', '-c', script];
    const parent = await sandbox.json<SessionView>(start);
    const kid = await eventually('the child', async () => {
      const each = await context.store.sessionByName('kid');
      return each?.run.harness ?? null;
    });
    await spend('kid', 600);
    expect(await enforceBudgets(context)).toEqual({ budgeted: 2, ended: 0, problem: null });
    await spend('kid', 400);
    expect(await enforceBudgets(context)).toEqual({ budgeted: 2, ended: 1, problem: null });
    expect([await outcome('parent'), await outcome('kid')]).toEqual(['over_budget', 'cancelled']);
    const { run } = await found('parent');
    expect(run.ending).toMatchObject({
      reason: 'it was over the budget of its session of 1.0k tokens: 1.0k tokens are spent',
      actor: 'budget',
    });
    expect(parent.run.id).toBe(run.id);
    expect(isAlive({ pid: kid.pid, startTime: kid.startTime ?? '' })).toBe(false);
    // Also what is over counts, and for whoever is above.
    expect(await budgetOf('kid')).toMatchObject([{ scope: 'session', spent: 1000, state: 'over' }]);
  });

  it('warns once, however many look at once', async () => {
    await budgeted('a', '--max-tokens', '1000');
    await spend('a', 850);
    const { session, run } = await found('a');
    const lookers = [1, 2, 3].map(() => enforceBudgets(context));
    await Promise.all([...lookers, enforceBudgetsOf(context, { session, run })]);
    await enforceBudgets(context);
    expect((await eventsOf('a', 'budget.warned')).map(({ runId, data }) => [runId, data])).toEqual([
      [
        run.id,
        {
          scope: 'session',
          kind: 'tokens',
          spent: 850,
          limit: 1000,
          what: 'the budget of its session of 1.0k tokens: 850 tokens are spent',
        },
      ],
    ]);
    expect(await outcome('a')).toBeNull();
  });

  it('that asks leaves it running, says what for once, and has nothing to ask once it is raised', async () => {
    const run = await budgeted('a', '--max-tokens', '1000', '--on-budget', 'ask');
    await spend('a', 1500);
    await Promise.all([1, 2, 3].map(() => enforceBudgets(context)));
    await spend('a', 100);
    await enforceBudgets(context);
    const shown = await sandbox.show('a');
    expect(shown).toMatchObject({ status: 'needs-input', run: { id: run.id, state: 'running' } });
    expect(shown.activity?.waitingFor).toContain('it is over the budget of its session of 1.0k tokens');
    expect(await eventsOf('a', 'budget.exceeded')).toHaveLength(1);
    await setBudget('a', '--max-tokens', '1M');
    await eventually('its keeper has looked', async () => (await found('a')).run.overBudget === null);
    expect((await sandbox.show('a')).status).toBe('working');
    expect(await eventsOf('a', 'budget.cleared')).toHaveLength(1);
  });

  it('of time does not count the time in which the machine sleeps', async () => {
    await budgeted('a', '--max-minutes', '30');
    const { awake } = (await found('a')).run;
    const at = (ms: number): Context => ({
      ...context,
      table: { ...context.table, awakeMs: () => (awake?.fromMs ?? 0) + ms },
    });
    vi.useFakeTimers({ now: Date.now() + 8 * 60 * 60_000, toFake: ['Date'] });
    expect(await enforceBudgets(at(1000))).toMatchObject({ budgeted: 1, ended: 0 });
    expect(await eventsOf('a', 'budget.warned')).toEqual([]);
    expect((await found('a')).run.awake?.ms).toBe(1000);
    await enforceBudgets(at(24 * 60_000));
    expect(await eventsOf('a', 'budget.warned')).toHaveLength(1);
    expect(await enforceBudgets(at(30 * 60_000))).toMatchObject({ ended: 1 });
    expect(await outcome('a')).toBe('over_budget');
  });

  it('is not granted anew by a restart', async () => {
    configure('[budget]\nrun = { tokens = 1000 }\n');
    const { harness } = await launchIn(sandbox, 'a', 'sleep', '60');
    await spend('a', 600);
    signalSeen(harness, 'SIGKILL');
    await eventually('it has failed', async () => (await outcome('a')) === 'failed');
    await sandbox.json(['resume', '-d', 'a']);
    expect(await budgetOf('a')).toMatchObject([{ scope: 'run', spent: 600, state: 'within' }]);
    await spend('a', 400);
    expect(await enforceBudgets(context)).toMatchObject({ ended: 1 });
    expect(await outcome('a')).toBe('over_budget');
    const refused = await sandbox.json<{ error: { code: string } }>(['resume', '-d', 'a'], 8);
    expect(refused.error.code).toBe('over_budget');
  });

  it('of a day is everybody’s, and warns once', async () => {
    configure('[budget]\nday = { tokens = 1000 }\n');
    await budgeted('a');
    await budgeted('b');
    await spend('a', 500);
    await spend('b', 400);
    await enforceBudgets(context);
    const warned = [...(await eventsOf('a', 'budget.warned')), ...(await eventsOf('b', 'budget.warned'))];
    expect(warned).toHaveLength(1);
    await spend('a', 100);
    await enforceBudgets(context);
    expect([await outcome('a'), await outcome('b')]).toEqual(['over_budget', 'over_budget']);
    const start = ['run', '-d', '-s', 'c', '--', 'true'];
    expect(await sandbox.json(start, 8)).toMatchObject({ error: { details: { scope: 'day' } } });
    expect(await context.store.sessionByName('c')).toBeNull();
  });

  it('that is used up refuses a take-over before the old owner is touched', async () => {
    const { harness, run } = await launchIn(sandbox, 'a', 'sleep', '60');
    await setBudget('a', '--max-tokens', '1000', '--on-budget', 'ask');
    await spend('a', 1000);
    const takeOver = ['run', '-d', '--on-live', 'retire', '-s', 'a', '--', 'sleep', '60'];
    expect(await sandbox.json(takeOver, 8)).toMatchObject({
      error: { code: 'over_budget', details: { scope: 'session', kind: 'tokens', spent: 1000, limit: 1000 } },
    });
    const { session, run: now } = await found('a');
    expect([isAlive(harness), session.epoch, now.id, now.intent]).toEqual([true, 1, run.id, null]);
    const granted = [...takeOver.slice(0, 2), '--max-tokens', '2000', ...takeOver.slice(2)];
    expect(await sandbox.json<SessionView>(granted)).toMatchObject({ epoch: 2, status: 'working' });
  });
});

describe('a budget', () => {
  beforeEach(() => begin('sqlite'));

  it('costs one question when there is none', async () => {
    await budgeted('a');
    const asked: string[] = [];
    const store = new Proxy(context.store, {
      get: (target, name: keyof Context['store']) => {
        asked.push(name);
        return target[name];
      },
    });
    expect(await enforceBudgets({ ...context, store })).toEqual({ budgeted: 0, ended: 0, problem: null });
    expect(asked).toEqual(['budgetedSessions']);
  });

  it('asks and writes as often for many runs, warned and timed ones too, as for one', async () => {
    await budgeted('a', '--max-minutes', '30', '--max-tokens', '1000');
    await spend('a', 900);
    const round = async () => {
      const asked: string[] = [];
      const store = new Proxy(context.store, {
        get: (target, name: keyof Context['store']) => {
          asked.push(name);
          return target[name];
        },
      });
      await enforceBudgets({ ...context, store });
      return asked;
    };
    await round();
    const forOne = await round();
    expect(forOne).toEqual(['budgetedSessions', 'live', 'budgetFacts', 'recordAwake', 'notedBudgets']);
    await budgeted('b', '--max-minutes', '30', '--max-tokens', '1000');
    await spend('b', 900);
    await round();
    expect(await round()).toEqual(forOne);
  });

  it('goes by what was recorded last for a run of another boot', async () => {
    await budgeted('a', '--max-minutes', '30');
    const { session, run } = await found('a');
    await context.store.recordAwake([{ runId: run.id, awakeMs: 60_000 }]);
    const elsewhere = {
      ...context.table,
      host: { ...context.table.host, boot: 'another' },
      awakeMs: () => 1,
    };
    const policy = readPolicy(sandbox.env);
    const now = { session, run: (await found('a')).run };
    const [each] = (await lookAtBudgets({ ...context, table: elsewhere }, policy, [now])).of(now);
    expect(each?.spent.minutes).toBe(1);
  });

  it('of an owner who is over is enforced on whoever is left below', async () => {
    await budgeted('a', '--max-tokens', '1000');
    const { session, run } = await found('a');
    const owner = async () =>
      (await lookAtBudgets(context, readPolicy(sandbox.env), [{ session, run }])).of({ session, run })[0]
        ?.ownerId;
    expect(await owner()).toBe(run.id);
    await sandbox.json(['kill', 'a']);
    expect(await owner()).toBeNull();
  });

  it('cannot be raised from inside a run, but can be lowered', async () => {
    await budgeted('a', '--max-tokens', '1000');
    const inside = { env: { REEVE_RUN: (await found('a')).run.id, REEVE_TOKEN: 'x' } };
    const set = (...flags: string[]) => sandbox.reeve(['budget', 'set', 'a', '--json', ...flags], inside);
    expect((await set('--max-tokens', '2000')).code).toBe(1);
    expect((await set('--none')).code).toBe(1);
    expect((await found('a')).session.budget?.tokens).toBe(1000);
    expect((await set('--max-tokens', '900')).code).toBe(0);
    expect((await found('a')).session.budget?.tokens).toBe(900);
  });

  it('that is configured badly refuses starts, and lifts no limit on record', async () => {
    await budgeted('a', '--max-tokens', '1000');
    await spend('a', 2000);
    configure('[budget]\nrun = { token = 5 }\n');
    const refused = await sandbox.json<{ error: { code: string } }>(['run', '-d', '--', 'true'], 2);
    expect(refused.error.code).toBe('bad_config');
    expect(await enforceBudgets(context)).toMatchObject({
      ended: 1,
      problem: expect.stringContaining('budget.run'),
    });
    expect(await outcome('a')).toBe('over_budget');
    expect((await sandbox.reeve(['show', 'a'])).stdout).toContain('not known: The configuration');
  });

  it('goes on with an end that somebody died over', async () => {
    await budgeted('a', '--max-tokens', '1000');
    const { run } = await found('a');
    const intent = {
      outcome: 'over_budget',
      actor: 'budget',
      reason: 'it was over',
      atMs: 1,
      uptimeMs: 1,
    } as const;
    await context.store.step(run.id, { kind: 'intend', intent });
    expect(await enforceBudgets(context)).toMatchObject({ ended: 1 });
    expect((await found('a')).run.ending).toMatchObject({ outcome: 'over_budget', reason: 'it was over' });
  });

  it('leaves alone what somebody else is ending, and what has ended', async () => {
    await budgeted('a', '--max-tokens', '1000');
    await spend('a', 2000);
    await sandbox.json(['stop', 'a']);
    expect(await enforceBudgets(context)).toMatchObject({ budgeted: 0, ended: 0 });
    expect(await outcome('a')).toBe('stopped');
  });
});
