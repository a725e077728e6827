/** What was spent, asked of the library: by what, since when, at which price, and with all that was started. */
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SpentView } from '../../src/api/usage-view.ts';
import { renderUsage } from '../../src/cli/render/usage.ts';
import { DEFAULT_TERMS } from '../../src/lifecycle/child.ts';
import type { Run } from '../../src/lifecycle/run.ts';
import type { Session } from '../../src/lifecycle/session.ts';
import type { UsageRecord } from '../../src/lifecycle/usage.ts';
import { openContext } from '../../src/supervisor/context.ts';
import type { Context } from '../../src/supervisor/context.ts';
import { ledgerFor } from '../../src/supervisor/ledger.ts';
import { reeveOf } from '../../src/supervisor/reeve.ts';
import type { Reeve } from '../../src/supervisor/reeve.ts';
import { readSessions } from '../../src/supervisor/usage-reading.ts';
import { claudeAnswer } from '../fixtures/usage-transcripts.ts';
import { claimOf, end, intend, start, TOKEN, won } from '../store/examples.ts';

const CWD = '/home/ada/work';
const NOON_MS = Date.parse('2026-05-31T12:00:00Z');
const DAY_MS = 86_400_000;

let root: string;
let context: Context;
let reeve: Reeve;

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'reeve-usage-'));
  context = await openContext({ home: join(root, 'state'), environment: { HOME: root } });
  reeve = reeveOf(context);
});
afterEach(async () => {
  await context.store.close();
  rmSync(root, { recursive: true, force: true });
});

function configure(text: string): void {
  const file = join(root, '.config', 'reeve', 'config.toml');
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

interface Begun {
  readonly session: Session;
  readonly run: Run;
}

/** A run that lives for the store alone, on another host: nothing is read of it, and nothing done about it. */
async function begin(name: string, options: { harness?: string; parent?: string } = {}): Promise<Begun> {
  const { harness = 'claude', parent } = options;
  const terms = parent === undefined ? null : { ...DEFAULT_TERMS, runId: parent, token: TOKEN };
  const begun = await won(context.store, claimOf(name, { harness, parent: terms, cwd: CWD }));
  await context.store.step(begun.run.id, { ...start, atMs: NOON_MS });
  return begun;
}

let answers = 0;
async function spend({ session }: Begun, changes: Partial<UsageRecord> = {}): Promise<void> {
  answers += 1;
  const record = {
    key: `m${answers}`,
    model: 'opus',
    atMs: NOON_MS,
    input: 100,
    output: 10,
    cacheRead: 1000,
    cacheWrite: 5,
    reasoning: 3,
    ...changes,
  };
  const path = `/${answers}.jsonl`;
  const to = { identity: 'disk', offset: 1, state: '' };
  await context.store.recordUsage({
    sessionId: session.id,
    nativeId: 'n',
    path,
    from: null,
    to,
    records: [record],
  });
}

const times = (count: number, changes: Partial<SpentView> = {}): SpentView => ({
  input: 100 * count,
  output: 10 * count,
  cacheRead: 1000 * count,
  cacheWrite: 5 * count,
  reasoning: 3 * count,
  total: 1115 * count,
  late: 0,
  cost: null,
  unpricedTokens: 1115 * count,
  ...changes,
});

const PRICES = `
[[prices.models]]
model = "op*"
from = 2026-01-01
input = 10000
output = 0
cache_read = 1
cache_write = 0
[[prices.models]]
model = "op*"
from = 2026-06-01
input = 20000
output = 0
cache_read = 1
cache_write = 0
`;

describe('usage', () => {
  it('is by session unless it is said, the largest first, and whole', async () => {
    const [alpha, beta] = [await begin('alpha'), await begin('beta', { harness: 'codex' })];
    await spend(alpha);
    for (const model of ['gpt', 'opus']) await spend(beta, { model });
    expect(await reeve.usage()).toEqual({
      by: 'session',
      session: null,
      since: null,
      currency: 'USD',
      rows: [
        { name: 'beta', session: 'beta', ...times(2) },
        { name: 'alpha', session: 'alpha', ...times(1) },
      ],
      all: times(3),
      children: null,
      tree: null,
      problems: [],
    });
  });

  it('is by run, model, day and harness; days in their order', async () => {
    const [alpha, beta] = [await begin('alpha'), await begin('beta', { harness: 'codex' })];
    await spend(alpha, { atMs: NOON_MS + DAY_MS });
    await spend(alpha, { atMs: NOON_MS + DAY_MS, model: 'haiku' });
    await spend(alpha, { atMs: NOON_MS });
    await spend(beta, { atMs: 9e15, model: 'gpt' });
    const rows = async (by: 'run' | 'model' | 'day' | 'harness') =>
      (await reeve.usage({ by })).rows.map(({ name, session, total }) => [name, session, total / 1115]);
    expect(await rows('run')).toEqual([
      [alpha.run.id, 'alpha', 3],
      [beta.run.id, 'beta', 1],
    ]);
    expect(await rows('model')).toEqual([
      ['opus', null, 2],
      ['gpt', null, 1],
      ['haiku', null, 1],
    ]);
    expect(await rows('day')).toEqual([
      ['2026-05-31', null, 1],
      ['2026-06-01', null, 2],
      ['+275760-09', null, 1],
    ]);
    expect(await rows('harness')).toEqual([
      ['claude', null, 3],
      ['codex', null, 1],
    ]);
  });

  it('of one session is by its runs, or by what is said, and of it alone', async () => {
    const [alpha, beta] = [await begin('alpha'), await begin('beta')];
    await spend(alpha);
    await spend(beta);
    expect(await reeve.usage({ session: 'alpha' })).toEqual({
      by: 'run',
      session: 'alpha',
      since: null,
      currency: 'USD',
      rows: [{ name: alpha.run.id, session: 'alpha', ...times(1) }],
      all: times(1),
      children: null,
      tree: null,
      problems: [],
    });
    const byModel = await reeve.usage({ session: alpha.session.id, by: 'model' });
    expect(byModel.rows).toEqual([{ name: 'opus', session: null, ...times(1) }]);
  });

  it('since a moment leaves out what was before', async () => {
    const alpha = await begin('alpha');
    for (const afterMs of [0, 1000, DAY_MS]) await spend(alpha, { atMs: NOON_MS + afterMs });
    const since = async (sinceMs: number) => {
      const view = await reeve.usage({ sinceMs });
      return [view.since, view.all.total / 1115, view.rows.length];
    };
    expect(await since(NOON_MS + 1)).toEqual(['2026-05-31T12:00:00.001Z', 2, 1]);
    expect(await since(Date.parse('2026-06-01'))).toEqual(['2026-06-01T00:00:00.000Z', 1, 1]);
    expect(await since(Date.parse('2026-06-02'))).toEqual(['2026-06-02T00:00:00.000Z', 0, 0]);
    expect((await reeve.usage({ session: 'alpha', sinceMs: NOON_MS + 1 })).all).toEqual(times(2));
  });

  it.each([
    [{ tree: true }, 'usage'],
    [{ session: 'alpha', tree: true, by: 'day' }, 'usage'],
    [{ sinceMs: Number.NaN }, 'usage'],
    [{ sinceMs: 1e300 }, 'usage'],
    [{ session: 'nobody' }, 'not_found'],
  ] as const)('of %j is refused', async (request, code) => {
    await begin('alpha');
    await expect(reeve.usage(request)).rejects.toMatchObject({ code });
  });
});

describe('the cost', () => {
  it('is that of the day on which it was spent, also when the price has changed since', async () => {
    configure(PRICES);
    const alpha = await begin('alpha');
    await spend(alpha);
    await spend(alpha, { atMs: NOON_MS + DAY_MS });
    // A thousand of the cache are a thousandth; a hundred of input are one, and from June on two.
    expect(await reeve.usage({ by: 'day' })).toMatchObject({
      currency: 'USD',
      rows: [
        { name: '2026-05-31', cost: 1.001, unpricedTokens: 0 },
        { name: '2026-06-01', cost: 2.001, unpricedTokens: 0 },
      ],
      all: { cost: 3.002, unpricedTokens: 0 },
    });
    expect((await reeve.usage()).rows).toEqual([
      { name: 'alpha', session: 'alpha', ...times(2, { cost: 3.002, unpricedTokens: 0 }) },
    ]);
  });

  it('is of what has a price, and says how much has none', async () => {
    configure(`[prices]\ncurrency = "EUR"\n${PRICES}`);
    const alpha = await begin('alpha');
    await spend(alpha);
    await spend(alpha, { model: 'gpt' });
    const beta = await begin('beta');
    await spend(beta, { model: 'gpt' });
    expect(await reeve.usage()).toMatchObject({
      currency: 'EUR',
      rows: [
        { name: 'alpha', cost: 1.001, unpricedTokens: 1115 },
        { name: 'beta', cost: null, unpricedTokens: 1115 },
      ],
      all: { cost: 1.001, unpricedTokens: 2230 },
    });
  });

  it('is not guessed from a configuration that is wrong', async () => {
    configure('[prices]\nmodels = [{ model = "m" }]');
    await expect(reeve.usage()).rejects.toMatchObject({ code: 'bad_config' });
  });
});

describe('what was spent late', () => {
  it('is a figure of its own: after it was superseded, or was over', async () => {
    const first = await begin('alpha');
    await context.store.step(first.run.id, intend({ outcome: 'superseded', atMs: NOON_MS + 1000 }));
    for (const afterMs of [0, 1000, 1001, 2000]) await spend(first, { atMs: NOON_MS + afterMs });
    const second = await begin('beta');
    await context.store.step(second.run.id, end({ endedAtMs: NOON_MS + 1000 }));
    await spend(second, { atMs: NOON_MS + 1001 });
    expect(await reeve.usage()).toMatchObject({
      rows: [
        { name: 'alpha', ...times(4), late: 2230 },
        { name: 'beta', ...times(1), late: 1115 },
      ],
      all: { ...times(5), late: 3345 },
    });
  });
});

describe('a tree', () => {
  it('has what every run spent itself, and with all that it started; each once', async () => {
    configure(PRICES);
    const web = await begin('web');
    const review = await begin('review', { parent: web.run.id });
    const sub = await begin('sub', { parent: review.run.id });
    const quiet = await begin('quiet', { parent: web.run.id, harness: 'command' });
    const other = await begin('other');
    for (const each of [web, review, sub, sub, other]) await spend(each);
    await context.store.step(sub.run.id, end({ endedAtMs: NOON_MS - 1 }));
    // A run of the child that nobody of the tree started, and one of the session that its own run started.
    const again = await begin('sub');
    await spend(again, { atMs: NOON_MS + 1000 });
    const cost = (count: number) => times(count, { cost: (1001 * count) / 1000, unpricedTokens: 0 });
    const view = await reeve.usage({ session: 'web', tree: true });
    expect(view.tree).toEqual([
      { depth: 0, session: 'web', run: null, own: cost(1), inclusive: cost(4) },
      { depth: 1, session: 'web', run: web.run.id, own: cost(1), inclusive: cost(4) },
      { depth: 2, session: 'review', run: review.run.id, own: cost(1), inclusive: cost(3) },
      { depth: 3, session: 'sub', run: sub.run.id, own: cost(2), inclusive: cost(2) },
      { depth: 2, session: 'quiet', run: quiet.run.id, own: times(0), inclusive: times(0) },
    ]);
    expect([view.all, view.children]).toEqual([cost(1), cost(3)]);
    expect(await reeve.usage({ session: 'web' })).toMatchObject({ children: cost(3), tree: null });
    expect((await reeve.usage({ session: 'sub' })).children).toBeNull();
    // Of a session whose own run was started by another, which is not asked for.
    const ofReview = await reeve.usage({ session: 'review', tree: true });
    expect(ofReview.tree?.map(({ run }) => run)).toEqual([null, review.run.id, sub.run.id]);
  });

  it('counts a run of the session that another run of it started once', async () => {
    const first = await begin('web');
    await spend(first);
    await context.store.step(first.run.id, end({ endedAtMs: NOON_MS + 1 }));
    const child = await begin('child');
    const second = await begin('web');
    await spend(second, { atMs: NOON_MS + 1000 });
    const database = new DatabaseSync(context.home.database);
    database
      .prepare('update runs set parent_run_id = ?, child_terms = ? where id in (?, ?)')
      .run(first.run.id, JSON.stringify(DEFAULT_TERMS), second.run.id, child.run.id);
    database.close();
    const { tree, children } = await reeve.usage({ session: 'web', tree: true });
    expect(tree?.map(({ depth, run, inclusive }) => [depth, run, inclusive.total / 1115])).toEqual([
      [0, null, 2],
      [1, first.run.id, 2],
      [2, second.run.id, 1],
      [2, child.run.id, 0],
    ]);
    expect(children).toEqual(times(0));
  });
});

/** An ended run of this host, and a transcript of it that nobody has read. */
async function unread(name: string, parent?: string) {
  const nativeId = randomUUID();
  const here = { ...context.table.host, pid: 4_194_304, startTime: '1' };
  const terms = parent === undefined ? null : { ...DEFAULT_TERMS, runId: parent, token: TOKEN };
  const begun = await won(
    context.store,
    claimOf(name, { nativeId, cwd: CWD, launcher: here, parent: terms }),
  );
  await context.store.step(begun.run.id, { ...start, keeper: here, atMs: NOON_MS });
  const transcript = join(root, '.claude', 'projects', CWD.replaceAll('/', '-'), `${nativeId}.jsonl`);
  mkdirSync(dirname(transcript), { recursive: true });
  const write = (...atMs: readonly number[]) =>
    writeFileSync(
      transcript,
      atMs.map((each) => claudeAnswer({ id: `msg_${each}`, atMs: each, input: 90, output: 10 })).join(''),
    );
  return {
    ...begun,
    transcript,
    write,
    end: () => context.store.step(begun.run.id, end({ endedAtMs: NOON_MS + 1000 })),
  };
}

describe('what nobody has read yet', () => {
  it('is read before the answer, of a session and of what it started, and settled', async () => {
    const web = await unread('web');
    web.write(NOON_MS, NOON_MS + 2000);
    const review = await unread('review', web.run.id);
    review.write(NOON_MS);
    await review.end();
    await web.end();
    const view = await reeve.usage({ session: 'web' });
    expect([view.all.total, view.all.late, view.children?.total, view.problems]).toEqual([200, 100, 100, []]);
    expect(await context.store.unsettledRuns(0, 10)).toEqual([]);
    // Also what came after it was settled, when it is asked for by its name.
    web.write(NOON_MS, NOON_MS + 2000, NOON_MS + 3000);
    expect((await reeve.usage({ session: 'web' })).all).toMatchObject({ total: 300, late: 200 });
  });

  it('that was read before its end was known becomes late', async () => {
    const web = await unread('web');
    web.write(NOON_MS, NOON_MS + 2000);
    await ledgerFor(context).round();
    expect((await context.store.usageOf({ by: 'run' }))[0]?.late).toBe(0);
    await web.end();
    expect((await reeve.usage({ session: 'web' })).all).toMatchObject({ total: 200, late: 100 });
  });

  it('and is more than one answer reads is said, and read by the next; nothing is settled before', async () => {
    const [web, api] = [await unread('web'), await unread('api')];
    web.write(...Array.from({ length: 3_000 }, (_, index) => NOON_MS + index));
    api.write(NOON_MS);
    for (const each of [web, api]) await each.end();
    const ids = [web.session.id, api.session.id];
    const read = () => readSessions(context, { ids, maxBytes: 300_000 });
    const unsettled = async () =>
      (await context.store.unsettledRuns(0, 10)).map(({ run }) => run.id).toSorted();
    expect((await read()).map((problem) => problem.split(':')[0])).toEqual(['web', 'api']);
    expect(await unsettled()).toEqual([web.run.id, api.run.id].toSorted());
    let turns = 1;
    while ((await read()).length > 0) turns += 1;
    expect(turns).toBeGreaterThan(2);
    expect(await unsettled()).toEqual([]);
    expect((await reeve.usage()).all.total).toBe(300_100);
  });

  it('on another host is left to that host, and what is settled is not read again', async () => {
    const web = await unread('web');
    web.write(NOON_MS);
    await web.end();
    const ids = [web.session.id];
    await readSessions(context, { ids });
    web.write(NOON_MS, NOON_MS + 1);
    await readSessions(context, { ids });
    expect((await context.store.usageOf({ by: 'session' }))[0]?.input).toBe(90);
    await readSessions(context, { ids, first: web.session.id });
    expect((await context.store.usageOf({ by: 'session' }))[0]?.input).toBe(180);
    web.write(NOON_MS, NOON_MS + 1, NOON_MS + 2);
    const elsewhere = { ...context.table, host: { ...context.table.host, host: 'elsewhere' } };
    await readSessions({ ...context, table: elsewhere }, { ids, first: web.session.id });
    expect((await context.store.usageOf({ by: 'session' }))[0]?.input).toBe(180);
  });

  it('and cannot be read is said, and the rest is told', async () => {
    const web = await unread('web');
    mkdirSync(web.transcript);
    await web.end();
    await spend(web);
    const view = await reeve.usage({ session: 'web' });
    expect([view.all, view.problems.length]).toEqual([times(1), 1]);
    expect(view.problems[0]).toContain(web.transcript);
    expect(await context.store.unsettledRuns(0, 10)).toHaveLength(1);
  });

  it('is told by why and in what a session spent, and no trouble of the ledger silences why', async () => {
    const web = await unread('web');
    web.write(NOON_MS, NOON_MS + 2000);
    await web.end();
    expect(await reeve.spent('web')).toEqual({
      input: 180,
      output: 20,
      cacheRead: 0,
      cacheWrite: 0,
      reasoning: 0,
      total: 200,
      late: 100,
      cost: null,
      unpricedTokens: 200,
      currency: 'USD',
    });
    const told = async () => (await reeve.why('web')).sentences.map(({ text }) => text);
    const costs = async () => (await told()).filter((text) => text.includes('tokens'));
    expect((await told()).at(-1)).toBe(
      `Run ${web.run.id} spent 200 tokens (input 180, output 20), 100 of that after it was superseded, or was over.`,
    );
    configure('nonsense');
    expect(await costs()).toHaveLength(1);
    expect((await reeve.spent('web'))?.total).toBe(200);
    const database = new DatabaseSync(context.home.database);
    database.exec('alter table usage_sums rename to lost_sums');
    database.close();
    expect(await costs()).toHaveLength(0);
    expect(await told()).not.toHaveLength(0);
  });

  it('of a run whose transcript cannot be read, why says that it was at least so much', async () => {
    const web = await unread('web');
    mkdirSync(web.transcript);
    await web.end();
    await spend(web);
    expect((await reeve.why('web')).sentences.at(-1)?.text).toMatch(/ spent at least 1\.1k tokens/);
  });
});

describe('a long history', () => {
  it('of ten thousand sessions is answered whole, shown short, and read no more than it must be', async () => {
    const { session, run } = await begin('first');
    await context.store.step(run.id, end({ endedAtMs: NOON_MS }));
    await spend({ session, run });
    const database = new DatabaseSync(context.home.database);
    const columns = (table: string) =>
      database
        .prepare(`select name from pragma_table_info('${table}')`)
        .all()
        .map((row) => String(row['name']));
    /** The same row ten thousand times, each with an id of its own. */
    const multiply = (table: string, changed: Record<string, string>) => {
      const names = columns(table);
      database.exec(
        `with recursive n (i) as (select 1 union all select i + 1 from n where i < 9999)
         insert into ${table} (${names.join(', ')})
         select ${names.map((name) => changed[name] ?? `t.${name}`).join(', ')} from ${table} t, n`,
      );
    };
    const [sessionId, runId] = [`'s-' || i`, `'r-' || i`];
    database.exec('begin');
    multiply('sessions', { id: sessionId, name: `'n' || i`, current_run_id: runId });
    multiply('runs', {
      id: runId,
      session_id: sessionId,
      parent_run_id: `'${run.id}'`,
      child_terms: `'${JSON.stringify(DEFAULT_TERMS)}'`,
    });
    multiply('usage_sums', { session_id: sessionId, run_id: runId });
    database.exec('commit');
    database.close();
    configure(PRICES);
    const view = await reeve.usage();
    expect([view.rows.length, view.all.total, view.all.cost]).toEqual([10_000, 11_150_000, 10_010]);
    expect(renderUsage(view, 80, 'most').length).toBeLessThan(5_000);
    const { tree, children } = await reeve.usage({ session: 'first', tree: true });
    expect([tree?.length, children?.total]).toEqual([10_001, 9999 * 1115]);
  });
});
