/** A trigger that is refused has ended nobody: all that can be checked is checked first, and the world may change after. */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NO_TOKENS } from '../../src/lifecycle/usage.ts';
import { openContext } from '../../src/supervisor/context.ts';
import { mayRunForeign } from '../../src/process/elf.ts';
import { elf, FOREIGN } from '../support/elf.ts';
import { launchIn } from '../support/launch.ts';
import { eventually, isAlive } from '../support/processes.ts';
import { reviewingIn, sha } from '../support/reviewer.ts';
import type { Reviewing, ReviewFailure } from '../support/reviewer.ts';
import { createSandbox, finished } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';
import { unprovableHolder } from '../support/unprovable.ts';

let sandbox: Sandbox;
let reviews: Reviewing;
beforeEach(async () => {
  sandbox = createSandbox();
  reviews = reviewingIn(sandbox);
  await launchIn(sandbox, 'w', 'sleep', '600');
});
afterEach(() => sandbox.cleanUp());

/** A program that waits, in a place of its own. */
function program(name: string, mode = 0o755, interpreter = '/bin/sh'): string {
  const path = sandbox.path(name);
  writeFileSync(path, `#!${interpreter}\nexec sleep 600\n`);
  chmodSync(path, mode);
  return path;
}

function loop(): string {
  symlinkSync('loop', sandbox.path('loop'));
  return sandbox.path('loop');
}

async function healthy() {
  const { reviewer } = await reviews.trigger({ 1: 'aaaa1', 2: 'bbbb1' });
  return { run: reviewer?.run ?? '', ...(await reviews.reviewer(reviewer?.run)) };
}

/** What has been asked for in vain has changed nothing. */
async function refused(
  words: readonly string[],
  exit: number,
  env: Record<string, string> = {},
): Promise<ReviewFailure['error']> {
  const before = await reviews.list('--all');
  const result = await reviews.review([...words, '--json'], env);
  expect([result.code, result.stdout]).toEqual([exit, expect.any(String)]);
  expect(await reviews.list('--all')).toEqual(before);
  return (JSON.parse(result.stdout) as ReviewFailure).error;
}

describe('a trigger that would supersede, refused before anybody is ended', () => {
  it.each([
    ['a reviewer that is not there', () => 'no-such-reviewer --strict', 2, 'usage'],
    ['a path that is not there', () => './no-such-reviewer', 2, 'usage'],
    ['a reviewer that is a directory', () => sandbox.root, 2, 'usage'],
    ['a reviewer that may not be executed', () => program('plain', 0o644), 2, 'usage'],
    ['a reviewer without its interpreter', () => program('script', 0o755, '/nonexist/interp'), 2, 'usage'],
    ['a reviewer whose interpreter is no program', () => program('script', 0o755, '/etc/passwd'), 2, 'usage'],
    ['a reviewer that is a link to itself', () => loop(), 2, 'usage'],
  ])('for %s', async (_, reviewer, exit, code) => {
    const { process } = await healthy();
    const error = await refused(reviews.words({ 1: 'aaaa2' }, '--reviewer', reviewer()), exit);
    expect([error.code, isAlive(process)]).toEqual([code, true]);
    expect((await sandbox.show('review-w')).epoch).toBe(1);
  });

  const foreign: [string, Buffer] = ['a reviewer for another kind of processor', elf({ machine: FOREIGN })];
  it
    .runIf(process.platform === 'linux')
    .each<[string, Buffer]>([
      ['a reviewer without its loader', elf({ interpreter: '/nonexist/ld.so\0' })],
      ['a reviewer that is not whole', elf().subarray(0, 100)],
      ...(mayRunForeign() ? [] : [foreign]),
    ])('for %s, and for a script with it as its interpreter', async (_, bytes) => {
    const { process } = await healthy();
    writeFileSync(sandbox.path('reviewer'), bytes, { mode: 0o755 });
    for (const reviewer of [sandbox.path('reviewer'), program('script', 0o755, sandbox.path('reviewer'))]) {
      const error = await refused(reviews.words({ 1: 'aaaa2' }, '--reviewer', reviewer), 2);
      expect([error.code, isAlive(process)]).toEqual(['usage', true]);
    }
  });

  it.each([
    ['a directory that is not there', ['--cwd', '/no/such'], 2, 'bad_directory'],
    ['a directory that is below a file', ['--cwd', '/etc/passwd/in'], 2, 'bad_directory'],
    ['a repository that is none', ['--repo', '/'], 2, 'bad_directory'],
    ['a harness that is not installed', ['--harness', 'gemini'], 1, 'harness_missing'],
  ])('for %s', async (_, more, exit, code) => {
    const { process } = await healthy();
    const by = more.includes('--harness') ? [] : ['--reviewer', reviews.command];
    const words = ['trigger', '-w', 'w', '--pr', `1=${sha('aaaa2')}`, ...by, ...more];
    const error = await refused(words, exit, { PATH: '/usr/bin:/bin' });
    expect([error.code, isAlive(process)]).toEqual([code, true]);
  });

  it.each([
    ['a short id', 'aaaa2aaaa2', 'usage'],
    ['an id with a letter too many', `${sha('aaaa2')}0`, 'usage'],
    ['a branch', 'main', 'usage'],
  ])('for %s as the head', async (_, head, code) => {
    const { process } = await healthy();
    const words = ['trigger', '-w', 'w', '--pr', `1=${head}`, '--reviewer', reviews.command];
    expect([(await refused(words, 2)).code, isAlive(process)]).toEqual([code, true]);
  });

  it('for a configuration that cannot be read', async () => {
    const { process } = await healthy();
    writeFileSync(sandbox.path('config.toml'), '[review\n');
    const words = ['trigger', '-w', 'w', '--pr', `1=${sha('aaaa2')}`];
    const error = await refused(words, 2, { REEVE_CONFIG: sandbox.path('config.toml') });
    expect([error.code, isAlive(process)]).toEqual(['bad_config', true]);
  });

  it('for a reviewer that has spent what it may', async () => {
    const { run, process } = await healthy();
    // It goes on, for a person is asked; a fresh start is refused.
    await sandbox.json(['budget', 'set', 'review-w', '--max-tokens', '10', '--on-budget', 'ask']);
    await spend(run, 11);
    const error = await refused(reviews.words({ 1: 'aaaa2' }), 8);
    expect([error.code, isAlive(process)]).toEqual(['over_budget', true]);
  });

  it('for the sake of somebody who uses the reviewer’s session for something else', async () => {
    const { harness } = await launchIn(sandbox, 'review-w', 'sleep', '600');
    const error = await refused(reviews.words({ 1: 'aaaa1' }), 4);
    expect([error.code, isAlive(harness)]).toEqual(['live_owner', true]);
  });
});

describe('a head of a worker in a repository', () => {
  let repo: string;
  const git = (...args: readonly string[]) =>
    execFileSync('git', ['-C', repo, '-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', ...args], {
      env: sandbox.env,
      encoding: 'utf8',
    }).trim();
  const trigger = (head: string, ...more: readonly string[]) => [
    'trigger',
    '-w',
    'in-repo',
    '--pr',
    `1=${head}`,
    '--reviewer',
    reviews.command,
    '--grace',
    '0.3',
    ...more,
  ];
  beforeEach(async () => {
    repo = sandbox.path('repo');
    mkdirSync(repo);
    git('init', '--quiet');
    git('commit', '--quiet', '--allow-empty', '--message', 'one');
    await sandbox.json(['run', '--detach', '-s', 'in-repo', '--cwd', repo, '--', 'sleep', '600']);
  });

  it('is found loose and packed, with its tree', async () => {
    const [head, tree] = [git('rev-parse', 'HEAD'), git('rev-parse', 'HEAD^{tree}')];
    const first = await reviews.json(trigger(head));
    expect(first).toMatchObject({ pullRequests: [{ review: { head, tree } }] });
    git('gc', '--quiet', '--prune=now');
    rmSync(join(repo, '.git/objects', head.slice(0, 2)), { recursive: true, force: true });
    expect(await reviews.json(trigger(head, '--again'))).toMatchObject({
      pullRequests: [{ review: { head, tree } }],
    });
  });

  it('that it does not have, a tree, or a tag of it is refused, and nobody is ended', async () => {
    const { reviewer } = await reviews.json<{ reviewer: { run: string } }>(trigger(git('rev-parse', 'HEAD')));
    const { process } = await reviews.reviewer(reviewer.run);
    git('tag', '-a', 'v1', '-m', 'v1');
    for (const head of [sha('aaaa1'), git('rev-parse', 'HEAD^{tree}'), git('rev-parse', 'v1')]) {
      expect((await refused(trigger(head), 2)).code).toBe('usage');
    }
    expect(isAlive(process)).toBe(true);
  });

  it('of which git cannot tell is unknown (7), not absent', async () => {
    git('gc', '--quiet', '--prune=now');
    const head = git('rev-parse', 'HEAD');
    rmSync(join(repo, '.git/HEAD'));
    expect((await refused(trigger(head), 7)).code).toBe('unproven');
    // A look that fails before git is asked proves no more.
    rmSync(join(repo, '.git'), { recursive: true });
    symlinkSync('.git', join(repo, '.git'));
    expect((await refused(trigger(head), 7)).code).toBe('unproven');
  });
});

describe('the world that changes after the check', () => {
  /** A trigger that is held at a point, having found everything in order. */
  const held = async (point: string, words: readonly string[]) => {
    const go = sandbox.path(`go-${point}`);
    const child = sandbox.start(['review', ...words, '--json'], {
      env: { ...sandbox.env, REEVE_CHECKPOINT: `${point}=wait:${go}` },
    });
    const done = finished(child);
    await eventually('it is there', () => existsSync(`${go}.reached`));
    return { go: () => writeFileSync(go, ''), done };
  };

  it('by the reviewer’s program going away: nobody is said to be at it, and the next trigger goes on', async () => {
    const { process } = await healthy();
    const path = program('reviewer');
    const { go, done } = await held('review.planned', reviews.words({ 1: 'aaaa2' }, '--reviewer', path));
    rmSync(path);
    go();
    expect((await done).code).toBe(1);
    expect(isAlive(process)).toBe(false);
    expect(await reviews.told()).toEqual([
      '1 at aaaa1: superseded',
      '2 at bbbb1: failed',
      '1 at aaaa2: failed',
    ]);
    await reviews.trigger({ 1: 'aaaa2', 2: 'bbbb1' });
    expect(reviews.alive()).toHaveLength(1);
  });

  it('before its turn has come: it is looked at again, and nobody is ended', async () => {
    const { process } = await healthy();
    const path = program('reviewer');
    const words = reviews.words({ 1: 'aaaa2' }, '--reviewer', path);
    const { go, done } = await held('review.checked', words);
    rmSync(path);
    go();
    expect((await done).code).toBe(2);
    expect(isAlive(process)).toBe(true);
    expect(await reviews.told()).toEqual(['1 at aaaa1: running', '2 at bbbb1: running']);
  });

  it('by the worker being forgotten: there is nothing to review any more', async () => {
    await sandbox.json(['kill', 'w']);
    const first = await held('review.checked', reviews.words({ 1: 'aaaa1' }));
    await sandbox.json(['rm', 'w']);
    first.go();
    const { code, stdout } = await first.done;
    expect([code, (JSON.parse(stdout) as ReviewFailure).error.code]).toEqual([3, 'not_found']);
    expect(reviews.alive()).toEqual([]);
  });
});

describe('reviews that a trigger on a vanished host holds', () => {
  it('are taken over on a person’s word, which is on record, and not otherwise', async () => {
    const go = sandbox.path('go');
    const words = ['review', ...reviews.words({ 1: 'aaaa1' }), '--json'];
    const child = sandbox.start(words, {
      env: { ...sandbox.env, REEVE_CHECKPOINT: `review.locked=wait:${go}` },
    });
    const done = finished(child);
    await eventually('it holds the lock', () => existsSync(`${go}.reached`));
    unprovableHolder(sandbox);
    const error = await refused(reviews.words({ 1: 'aaaa2' }), 7);
    expect(error).toMatchObject({ code: 'unproven', message: expect.stringContaining('another-host') });
    await reviews.trigger({ 1: 'aaaa2' }, '--assume-gone');
    // It was not gone after all: it finds that out before it has done anything.
    writeFileSync(go, '');
    expect((await done).code).toBe(1);
    expect(await reviews.told()).toEqual(['1 at aaaa2: running']);
    expect(reviews.alive()).toHaveLength(1);
    const { sentences } = await sandbox.json<{ sentences: { text: string }[] }>(['why', 'w']);
    expect(sentences.filter(({ text }) => text.includes('another-host'))).toHaveLength(1);
  });

  it('of one that is alive are not, whatever is said', async () => {
    const go = sandbox.path('go');
    const child = sandbox.start(['review', ...reviews.words({ 1: 'aaaa1' })], {
      env: { ...sandbox.env, REEVE_CHECKPOINT: `review.locked=wait:${go}` },
    });
    const done = finished(child);
    await eventually('it holds the lock', () => existsSync(`${go}.reached`));
    const second = reviews.json(['cancel', '-w', 'w', '--assume-gone', '--grace', '0.3']);
    await reviews.list();
    writeFileSync(go, '');
    expect((await done).code).toBe(0);
    // It waited, and so found what the first one had made.
    expect(await second).toMatchObject({ cancelled: [{ pr: '1' }] });
  });
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
