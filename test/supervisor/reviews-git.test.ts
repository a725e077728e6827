/** Reviews of a real repository: trees that were reviewed already, and branches that move. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TriggerView } from '../../src/api/http-views.ts';
import { NO_TOKENS } from '../../src/lifecycle/usage.ts';
import { openContext } from '../../src/supervisor/context.ts';
import { openReeve } from '../../src/supervisor/reeve.ts';
import type { WatchRequest, WatchTold } from '../../src/supervisor/review-watch.ts';
import { eventually } from '../support/processes.ts';
import { reviewingIn } from '../support/reviewer.ts';
import type { Reviewing } from '../support/reviewer.ts';
import { createSandbox, finished } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
let reviews: Reviewing;
let repo: string;
beforeEach(async () => {
  sandbox = createSandbox();
  reviews = reviewingIn(sandbox);
  repo = sandbox.path('repo');
  mkdirSync(repo);
  git('init', '--quiet', '--initial-branch=main');
  await sandbox.json(['run', '--detach', '-s', 'w', '--cwd', repo, '--', 'sleep', '600']);
});
afterEach(() => sandbox.cleanUp());

function git(...args: readonly string[]): string {
  const who = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', '-c', 'commit.gpgsign=false'];
  return execFileSync('git', ['-C', repo, ...who, ...args], { env: sandbox.env, encoding: 'utf8' }).trim();
}

/** The commit that it makes. */
function commit(text: string, ...more: readonly string[]): string {
  writeFileSync(join(repo, 'file'), text);
  git('add', 'file');
  git('commit', '--quiet', '--message', text, ...more);
  return git('rev-parse', 'HEAD');
}

describe('a head', () => {
  it('with a tree that was reviewed is skipped, says so, and has that verdict', async () => {
    const first = commit('one');
    const { pullRequests, reviewer } = await reviews.trigger({ 17: first });
    const done = pullRequests[0]?.review.id ?? '';
    expect(pullRequests[0]?.review.tree).toBe(git('rev-parse', 'HEAD^{tree}'));
    await reviews.submit(done, 'changes');
    const amended = commit('one', '--amend', '--message', 'better words');
    expect(amended).not.toBe(first);
    const answer = await reviews.trigger({ 17: amended });
    expect(answer).toMatchObject({
      isStarted: false,
      retired: null,
      pullRequests: [
        {
          is: 'duplicate',
          // Of a plain program nothing is known.
          savedTokens: null,
          review: {
            head: amended,
            status: 'changes-requested',
            verdict: 'changes',
            reason: expect.stringContaining(done),
            reviewer: null,
            isCurrent: true,
          },
        },
      ],
    });
    expect((await reviews.trigger({ 17: amended })).pullRequests[0]?.is).toBe('up-to-date');
    expect((await sandbox.show('review-w')).run.id).toBe(reviewer?.run);
    expect((await reviews.trigger({ 17: amended }, '--again')).isStarted).toBe(true);
  });

  it('with the tree of an earlier one ends the reviewer of the one between, and starts none', async () => {
    const first = commit('one');
    const id = (await reviews.trigger({ 17: first })).pullRequests[0]?.review.id ?? '';
    expect(await reviews.submit(id, 'approve')).toBe(0);
    const second = commit('two');
    const between = await reviews.trigger({ 17: second });
    const reverted = commit('one');
    const answer = await reviews.trigger({ 17: reverted });
    expect(answer).toMatchObject({
      isStarted: false,
      reviewer: null,
      retired: between.reviewer?.run,
      superseded: [{ head: second, status: 'superseded' }],
      pullRequests: [{ is: 'duplicate' }],
    });
    expect(reviews.alive()).toEqual([]);
  });

  it('is known by its whole name, in whatever letters it is written', async () => {
    const head = commit('one');
    await reviews.trigger({ 17: head });
    expect((await reviews.trigger({ 17: head.toUpperCase() })).pullRequests).toMatchObject([
      { is: 'reused', review: { head } },
    ]);
  });

  it('is not looked for in the repository of a git hook that calls', async () => {
    const head = commit('one');
    const other = sandbox.path('other');
    mkdirSync(other);
    execFileSync('git', ['-C', other, 'init', '--quiet'], { env: sandbox.env });
    const result = await reviews.review([...reviews.words({ 17: head }), '--json'], {
      GIT_DIR: join(other, '.git'),
      GIT_WORK_TREE: other,
    });
    const { pullRequests } = JSON.parse(result.stdout) as TriggerView;
    expect(pullRequests[0]?.review.tree).toBe(git('rev-parse', 'HEAD^{tree}'));
  });
});

describe('review watch', () => {
  const started = (...more: readonly string[]) => {
    const [, ...how] = reviews.words({});
    const words = ['review', 'watch', ...how, '--repo', repo, '--debounce', '0.1', '--json', ...more];
    const child = sandbox.start(words);
    let text = '';
    child.stdout?.on('data', (chunk) => (text += String(chunk)));
    const lines = () => text.split('\n').filter(Boolean);
    const told = (count: number) =>
      eventually(`${count} lines`, () => lines().length >= count).then(
        () => lines().map((line) => JSON.parse(line) as WatchTold), // As the command line writes them.
      );
    return { child, told };
  };

  it('triggers when a branch has moved, by whatever way git stores it, and ends on Ctrl-C', async () => {
    const first = commit('one');
    const { child, told } = started('--branch', 'main=17');
    const [watching, initial] = await told(2);
    expect(watching).toEqual({ is: 'watching', branches: [{ branch: 'main', head: first }] });
    expect(initial).toMatchObject({ is: 'triggered', heads: { 17: first }, result: { isStarted: true } });
    const second = commit('two');
    expect((await told(3))[2]).toMatchObject({
      heads: { 17: second },
      result: { isStarted: true, superseded: [{ head: first }] },
    });
    // Packed, all is in one file.
    git('pack-refs', '--all');
    const third = commit('three');
    expect((await told(4))[3]).toMatchObject({ heads: { 17: third } });
    child.kill('SIGINT');
    expect((await finished(child)).code).toBe(0);
    // The reviewer is not the watcher's: it goes on.
    expect(reviews.alive()).toHaveLength(1);
  });

  it('follows a branch that is checked out in a worktree', async () => {
    commit('one');
    const tree = sandbox.path('tree');
    git('worktree', 'add', '--quiet', '-b', 'side', tree);
    const main = repo;
    const [, ...how] = reviews.words({});
    const child = sandbox.start([
      'review',
      'watch',
      ...how,
      '--repo',
      tree,
      '--debounce',
      '0.1',
      '--branch',
      'side',
      '--json',
    ]);
    let text = '';
    child.stdout?.on('data', (chunk) => (text += String(chunk)));
    await eventually('it has triggered', () => text.includes('triggered'));
    repo = tree;
    const head = commit('two');
    repo = main;
    await eventually('it has seen the move', () =>
      text.split('\n').some((line) => line.includes(`"side":"${head}"`)),
    );
    child.kill('SIGTERM');
    expect((await finished(child)).code).toBe(0);
  });

  it('says what went wrong, and tries again when the branch moves again, not before', async () => {
    commit('one');
    const program = sandbox.path('reviewer');
    copyFileSync('/bin/sleep', program);
    const { child, told } = started('--branch', 'main=17', '--reviewer', `${program} 600`);
    await told(2);
    rmSync(program);
    const second = commit('two');
    expect((await told(3))[2]).toMatchObject({
      is: 'failed',
      heads: { 17: second },
      error: { code: 'usage' },
    });
    const third = commit('three');
    const later = await told(4);
    expect(later[3]).toMatchObject({ is: 'failed', heads: { 17: third } });
    expect(later).toHaveLength(4);
    child.kill('SIGINT');
    expect((await finished(child)).code).toBe(0);
  });

  it('says once that a branch is gone, and that it is back, and reviews what it then is', async () => {
    commit('one');
    git('branch', 'side');
    const { child, told } = started('--branch', 'main=17', '--branch', 'side');
    await told(2);
    git('branch', '-D', 'side');
    expect((await told(3))[2]).toEqual({ is: 'gone', what: 'branch', name: 'side' });
    const second = commit('two');
    git('branch', 'side');
    // Seen at one look, both are triggered together.
    const later = await eventually('both are reviewed', async () => {
      const now = await told(5);
      const heads = Object.assign({}, ...now.map((each) => ('heads' in each ? each.heads : {}))) as unknown;
      return isDeepStrictEqual(heads, { 17: second, side: second }) && now;
    });
    expect(later.filter(({ is }) => is === 'returned')).toEqual([
      { is: 'returned', what: 'branch', name: 'side' },
    ]);
    child.kill('SIGINT');
    expect((await finished(child)).code).toBe(0);
  });

  it('says once that the repository is gone, and that it is back', async () => {
    commit('one');
    const { child, told } = started('--branch', 'main=17');
    await told(2);
    renameSync(repo, `${repo}-away`);
    expect((await told(3))[2]).toEqual({ is: 'gone', what: 'repository', name: repo });
    renameSync(`${repo}-away`, repo);
    expect((await told(4))[3]).toEqual({ is: 'returned', what: 'repository', name: repo });
    const second = commit('two');
    expect((await told(5))[4]).toMatchObject({ is: 'triggered', heads: { 17: second } });
    child.kill('SIGINT');
    expect((await finished(child)).code).toBe(0);
  });

  it('for people says it in sentences', async () => {
    commit('one');
    git('branch', 'side');
    const [, ...how] = reviews.words({});
    const child = sandbox.start(['review', 'watch', ...how, '--repo', repo, '--branch', 'side']);
    let text = '';
    child.stderr?.on('data', (chunk) => (text += String(chunk)));
    await eventually('it watches', () => text.includes('watching side'));
    git('branch', '-D', 'side');
    await eventually('it says so', () => text.includes('branch side is gone'));
    git('branch', 'side');
    await eventually('it says so', () => text.includes('branch side is there again'));
    child.kill('SIGINT');
    expect((await finished(child)).code).toBe(0);
  });

  it.each([
    ['a worker that nobody knows', ['--branch', 'main', '--worker', 'nobody'], 3],
    ['a branch that is not there', ['--branch', 'main', '--branch', 'mian'], 2],
    ['a reviewer that cannot be executed', ['--branch', 'main', '--reviewer', 'no-such-reviewer'], 2],
    ['a directory for the reviewer that is not there', ['--branch', 'main', '--cwd', '/nowhere'], 2],
    ['no branch', [], 2],
    ['what is no repository', ['--branch', 'main', '--repo', '/'], 2],
    ['a branch that is no word', ['--branch', 'a b'], 2],
    ['one pull request twice', ['--branch', 'main=17', '--branch', 'main=17'], 2],
  ])('with %s exits', async (_, more, code) => {
    commit('one');
    const [, ...how] = reviews.words({});
    const words = ['watch', ...how, ...(more.includes('--repo') ? [] : ['--repo', repo]), ...more];
    expect((await reviews.review(words)).code).toBe(code);
  });
});

describe('a watcher whose time is given', () => {
  it('waits until a head has come to rest, and triggers that one alone', async () => {
    commit('one');
    const reeve = await openReeve({ home: sandbox.home, environment: sandbox.env });
    const ending = new AbortController();
    let nowMs = 0;
    /** Goes on with the next look, at that time. */
    let look: (atMs: number) => void = () => {};
    let looks = 0;
    const told: WatchTold[] = [];
    const request: WatchRequest = {
      worker: 'w',
      repo,
      branches: [{ branch: 'main', pr: '17' }],
      reviewer: ['sleep', '600'],
      graceMs: 300,
      debounceMs: 1_000,
      signal: ending.signal,
      tell: (each) => told.push(each),
      listen: () => () => {},
      clock: {
        nowMs: () => nowMs,
        wait: (_ms, until) =>
          new Promise((resolve) => {
            looks += 1;
            look = (atMs) => {
              nowMs = atMs;
              resolve();
            };
            void until.then(resolve);
          }),
      },
    };
    const over = reeve.reviews.watch(request);
    const lookAt = async (atMs: number) => {
      const before = looks;
      look(atMs);
      await eventually('it has looked', () => looks > before);
    };
    const heads = () => told.flatMap((each) => (each.is === 'triggered' ? Object.values(each.heads) : []));
    await eventually('it has looked', () => looks > 0);
    await lookAt(999);
    const second = commit('two');
    await lookAt(1_000);
    await lookAt(1_999);
    expect(heads()).toEqual([]);
    await lookAt(2_000);
    expect(heads()).toEqual([second]);
    await lookAt(60_000);
    expect(heads()).toEqual([second]);
    ending.abort();
    await over;
    await reeve.close();
  });
});

it('tells what a skipped review saved, when that is known', async () => {
  const first = commit('one');
  const { pullRequests, reviewer } = await reviews.trigger({ 17: first });
  await reviews.submit(pullRequests[0]?.review.id ?? '', 'approve');
  await spend(reviewer?.run ?? '', 1_690_000);
  const amended = commit('one', '--amend', '--message', 'better words');
  expect((await reviews.trigger({ 17: amended })).pullRequests).toMatchObject([{ savedTokens: 1_690_000 }]);
  expect((await reviews.list('--all')).map(({ tokens }) => tokens)).toEqual([1_690_000, null]);
  const text = await reviews.review(['ls', '--all']);
  expect(text.stdout).toContain('1,690,000');
});

/** As if a harness had told so. */
async function spend(runId: string, input: number): Promise<void> {
  const { store } = await openContext({ home: sandbox.home, environment: sandbox.env });
  const run = await store.run(runId);
  const record = { key: 'm-1', model: 'model', atMs: Date.now(), ...NO_TOKENS, input };
  const to = { identity: 'file', offset: 1, state: '' };
  const file = { nativeId: 'native', path: '/transcript', sessionId: run?.sessionId ?? '' };
  expect(await store.recordUsage({ ...file, from: null, to, records: [record] })).toBe('recorded');
  await store.close();
}
