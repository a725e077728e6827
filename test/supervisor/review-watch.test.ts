/** A watcher of branches whose time, and whose news, the test gives. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { NO_TOKENS } from '../../src/lifecycle/usage.ts';
import { openContext } from '../../src/supervisor/context.ts';
import type { Context } from '../../src/supervisor/context.ts';
import { watchReviews } from '../../src/supervisor/review-watch.ts';
import type { WatchRequest, WatchTold } from '../../src/supervisor/review-watch.ts';
import { claimOf, end, won } from '../store/examples.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
let context: Context;
let repo: string;
let ending: AbortController;
beforeEach(async () => {
  sandbox = createSandbox();
  repo = sandbox.path('repo');
  mkdirSync(repo);
  git('init', '--quiet', '--initial-branch=main');
  git('commit', '--quiet', '--allow-empty', '--message', 'one');
  context = await openContext({ home: sandbox.home, environment: sandbox.env });
  const { run } = await won(context.store, claimOf('w', { cwd: repo }));
  await context.store.step(run.id, end());
  ending = new AbortController();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await context.store.close();
  await sandbox.cleanUp();
});

function git(...args: readonly string[]): void {
  const who = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', '-c', 'commit.gpgsign=false'];
  execFileSync('git', ['-C', repo, ...who, ...args], { env: sandbox.env });
}

/** Between its looks it does as the test says, the last of which ends it. */
function watching(looks: readonly (() => void)[], changes: Partial<WatchRequest> = {}) {
  const told: WatchTold[] = [];
  const waitsMs: number[] = [];
  let listening = 0;
  let listened = 0;
  const over = watchReviews(context, {
    worker: 'w',
    repo,
    branches: [{ branch: 'main', pr: '1' }],
    reviewer: ['sleep', '600'],
    debounceMs: 60_000,
    signal: ending.signal,
    tell: (each) => told.push(each),
    listen: () => {
      listening += 1;
      listened += 1;
      return () => (listening -= 1);
    },
    clock: {
      nowMs: () => 0,
      wait: async (ms) => {
        const look = looks[waitsMs.length];
        waitsMs.push(ms);
        if (look === undefined) ending.abort();
        else look();
      },
    },
    ...changes,
  });
  return { over, told, waitsMs, listeners: () => ({ listened, listening }) };
}

const away = () => renameSync(join(repo, '.git'), join(repo, 'away'));
const back = () => renameSync(join(repo, 'away'), join(repo, '.git'));

it('whose repository was away listens anew to what is in its place, and to nobody when it is over', async () => {
  const { over, told, listeners } = watching([away, () => {}, back]);
  await over;
  expect(told.map(({ is }) => is)).toEqual(['watching', 'gone', 'returned']);
  expect(listeners()).toEqual({ listened: 2, listening: 0 });
});

it('looks now and then although nothing is told to it, however long it waits for a head to rest', async () => {
  const { over, waitsMs } = watching([]);
  await over;
  expect(waitsMs).toEqual([5_000]);
});

it('of branches that cannot be read is refused, and listens to nobody', async () => {
  let isListening = false;
  // Between the two looks that it takes before it begins.
  const listen = () => {
    away();
    isListening = true;
    return () => (isListening = false);
  };
  const { over, told } = watching([], { listen });
  await expect(over).rejects.toMatchObject({ code: 'bad_directory' });
  expect([told, isListening]).toEqual([[], false]);
});

it('of one branch twice is refused, and names it once', async () => {
  const branches = ['main', 'main'].map((branch) => ({ branch, pr: branch }));
  const { over } = watching([], { branches });
  await expect(over).rejects.toMatchObject({ code: 'usage', message: 'Branch main is given twice.' });
});

it('tells what went wrong of whatever kind, and goes on', async () => {
  vi.spyOn(context.store, 'takeReviewLock').mockRejectedValue(new TypeError('It broke.'));
  const move = () => git('commit', '--quiet', '--allow-empty', '--message', 'two');
  const { over, told } = watching([move], { debounceMs: 0 });
  await over;
  expect(told.map((each) => (each.is === 'failed' ? each.error.code : each.is))).toEqual([
    'watching',
    'failed',
    'failed',
  ]);
});

it('begins although all is spent, for there may be more to spend when a head has moved', async () => {
  const { session, run } = await won(context.store, claimOf('review-w', { cwd: repo }));
  await sandbox.json(['budget', 'set', 'review-w', '--max-tokens', '10', '--on-budget', 'ask']);
  const record = { key: 'm-1', model: 'model', atMs: Date.now(), ...NO_TOKENS, input: 11 };
  await context.store.recordUsage({
    nativeId: 'native',
    path: '/transcript',
    sessionId: session.id,
    from: null,
    to: { identity: 'file', offset: 1, state: '' },
    records: [record],
  });
  await context.store.step(run.id, end({ endedAtMs: Date.now() }));
  const move = () => git('commit', '--quiet', '--allow-empty', '--message', 'two');
  const { over, told } = watching([move], { debounceMs: 0 });
  await over;
  expect(told.map((each) => (each.is === 'failed' ? each.error.code : each.is))).toEqual([
    'watching',
    'over_budget',
    'over_budget',
  ]);
});
