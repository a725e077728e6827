/** Reviews: the stale reviewer is gone before the fresh one begins, and the record says only what is so. */
import { closeSync, copyFileSync, existsSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TriggerView } from '../../src/api/http-views.ts';
import { installStandIns } from '../fixtures/stand-in-harness.ts';
import { openDaemon } from '../daemon/support.ts';
import { launchIn } from '../support/launch.ts';
import { eventually, isAlive } from '../support/processes.ts';
import { brief, reviewingIn, sha } from '../support/reviewer.ts';
import type { Reviewing, ReviewFailure } from '../support/reviewer.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
let reviews: Reviewing;
beforeEach(async () => {
  sandbox = createSandbox();
  reviews = reviewingIn(sandbox);
  await launchIn(sandbox, 'w', 'sleep', '600');
});
afterEach(() => sandbox.cleanUp());

describe('a trigger', () => {
  it('starts one reviewer with the whole queue, which it finds in a file', async () => {
    const answer = await reviews.trigger({ 17: 'aaaa1', 'feature/x=1': 'bbbb1' });
    expect(answer).toMatchObject({
      worker: 'w',
      reviewer: { session: 'review-w' },
      isStarted: true,
      retired: null,
      superseded: [],
      pullRequests: [
        { is: 'created', savedTokens: null, review: { pr: '17', head: sha('aaaa1'), status: 'running' } },
        {
          is: 'created',
          savedTokens: null,
          review: { pr: 'feature/x=1', head: sha('bbbb1'), status: 'running' },
        },
      ],
    });
    const { queue, process } = await reviews.reviewer(answer.reviewer?.run);
    const command = [expect.any(String), expect.any(String), 'review', 'submit', '--run', expect.any(String)];
    expect(queue).toEqual(
      answer.pullRequests.map(({ review: { id, pr, head } }) => ({
        id,
        pr,
        head,
        tree: null,
        submit: command,
      })),
    );
    expect(reviews.alive()).toEqual([process]);
  });

  it('of a newer head destroys the reviewer of the older one, and only then starts another', async () => {
    const first = await reviews.trigger({ 17: 'aaaa1' });
    const old = await reviews.reviewer(first.reviewer?.run);
    const second = await reviews.trigger({ 17: 'aaaa2' });
    const fresh = await reviews.reviewer(second.reviewer?.run);
    expect(isAlive(old.process)).toBe(false);
    expect(reviews.alive()).toEqual([fresh.process]);
    expect({ ...second, pullRequests: [], superseded: [] }).toMatchObject({
      isStarted: true,
      retired: first.reviewer?.run,
    });
    expect(fresh.queue).toMatchObject([{ pr: '17', head: sha('aaaa2') }]);
    expect(await reviews.told()).toEqual(['17 at aaaa1: superseded', '17 at aaaa2: running']);
    const [stale, current] = await reviews.list('--all');
    expect(stale).toMatchObject({ isCurrent: false, supersededBy: current?.id, reason: null, verdict: null });
    expect((await sandbox.show('review-w')).runs.map(({ outcome }) => outcome)).toEqual(['superseded', null]);
    // Nothing was ever said to the old one.
    expect(existsSync(sandbox.path(`reviews/told-${first.reviewer?.run}`))).toBe(false);
  });

  it('kills a reviewer that does not listen, and proves it', async () => {
    reviews = reviewingIn(sandbox, 'deaf');
    const first = await reviews.trigger({ 17: 'aaaa1' });
    const old = await reviews.reviewer(first.reviewer?.run);
    await reviews.trigger({ 17: 'aaaa2' });
    expect(isAlive(old.process)).toBe(false);
    expect(reviews.alive()).toHaveLength(1);
  });

  it('of the same head changes nothing', async () => {
    const first = await reviews.trigger({ 17: 'aaaa1' });
    const before = await reviews.list('--all');
    const again = await reviews.trigger({ 17: 'AAAA1' });
    expect(again).toEqual({
      ...first,
      isStarted: false,
      pullRequests: first.pullRequests.map((each) => ({ ...each, is: 'reused' })),
    });
    expect(await reviews.list('--all')).toEqual(before);
    expect(reviews.alive()).toHaveLength(1);
  });

  it('of several newer heads restarts the reviewer once, with what else it had', async () => {
    const first = await reviews.trigger({ 1: 'aaaa1', 2: 'bbbb1', 3: 'cccc1' });
    const second = await reviews.trigger({ 1: 'aaaa2', 2: 'bbbb2', 3: 'cccc1' });
    expect(second.pullRequests.map(({ is }) => is)).toEqual(['created', 'created', 'reused']);
    expect((await sandbox.show('review-w')).epoch).toBe(2);
    const { queue } = await reviews.reviewer(second.reviewer?.run);
    expect(queue.map(({ pr, head }) => `${pr} ${brief(head)}`)).toEqual(['3 cccc1', '1 aaaa2', '2 bbbb2']);
    // The same record as before, with its new reviewer.
    const kept = second.pullRequests[2]?.review;
    expect(kept).toMatchObject({
      id: first.pullRequests[2]?.review.id,
      reviewer: second.reviewer,
      status: 'running',
    });
  });

  it('gives an idle reviewer a fresh start, never a message', async () => {
    const first = await reviews.trigger({ 17: 'aaaa1' });
    expect(await reviews.submit(first.pullRequests[0]?.review.id ?? '', 'approve')).toBe(0);
    const { process } = await reviews.reviewer(first.reviewer?.run);
    expect(isAlive(process)).toBe(true);
    const second = await reviews.trigger({ 17: 'aaaa2' });
    expect(isAlive(process)).toBe(false);
    expect(second).toMatchObject({ isStarted: true, retired: first.reviewer?.run, superseded: [] });
    expect(existsSync(sandbox.path(`reviews/told-${first.reviewer?.run}`))).toBe(false);
  });

  it('of what was reviewed is up to date, and is reviewed again only when asked', async () => {
    const { pullRequests } = await reviews.trigger({ 17: 'aaaa1' });
    const id = pullRequests[0]?.review.id ?? '';
    await reviews.submit(id, 'changes');
    const done = await reviews.trigger({ 17: 'aaaa1' });
    expect(done).toMatchObject({
      isStarted: false,
      retired: null,
      pullRequests: [{ is: 'up-to-date', review: { id, status: 'changes-requested', verdict: 'changes' } }],
    });
    const again = await reviews.trigger({ 17: 'aaaa1' }, '--again');
    expect(again).toMatchObject({ isStarted: true, pullRequests: [{ is: 'created' }] });
    expect(await reviews.told()).toEqual(['17 at aaaa1: changes-requested', '17 at aaaa1: running']);
  });

  it('that goes back to a head which was reviewed ends the reviewer of the one between', async () => {
    const first = await reviews.trigger({ 17: 'aaaa1' });
    await reviews.submit(first.pullRequests[0]?.review.id ?? '', 'approve');
    await reviews.trigger({ 17: 'aaaa2' });
    const back = await reviews.trigger({ 17: 'aaaa1' });
    expect(back).toMatchObject({ isStarted: false, reviewer: null, pullRequests: [{ is: 'up-to-date' }] });
    expect(reviews.alive()).toEqual([]);
    expect(await reviews.told()).toEqual(['17 at aaaa1: up-to-date', '17 at aaaa2: superseded']);
    expect(await reviews.list()).toMatchObject([
      { head: sha('aaaa1'), status: 'up-to-date', isCurrent: true },
    ]);
  });

  it('whose reviewer cannot be started says why, exits 1, and fails what waited for it', async () => {
    await reviews.trigger({ 1: 'aaaa1', 2: 'bbbb1' });
    // Somebody has it open to write to it: nobody can tell without trying.
    copyFileSync('/bin/true', sandbox.path('broken'));
    const writing = openSync(sandbox.path('broken'), 'r+');
    const words = reviews.words({ 1: 'aaaa2' }, '--reviewer', sandbox.path('broken'));
    const { error } = await reviews.json<ReviewFailure>(words, 1).finally(() => closeSync(writing));
    expect(error.code).toBe('never_started');
    expect(reviews.alive()).toEqual([]);
    expect(await reviews.told()).toEqual([
      '1 at aaaa1: superseded',
      '2 at bbbb1: failed',
      '1 at aaaa2: failed',
    ]);
    for (const { reason } of await reviews.list()) expect(reason).toContain('broken');
  });

  it('that is not said properly is refused, and nothing is started', async () => {
    const cases: readonly [string, readonly string[], number, string][] = [
      ['no worker', ['trigger', '--pr', `1=${sha('aaaa1')}`, '--reviewer', 'true'], 2, 'usage'],
      [
        'a worker that is none',
        ['trigger', '-w', 'x', '--pr', `1=${sha('aaaa1')}`, '--reviewer', 'true'],
        3,
        'not_found',
      ],
      ['no pull request', ['trigger', '-w', 'w', '--reviewer', 'true'], 2, 'usage'],
      ['a head that is none', ['trigger', '-w', 'w', '--pr', '1=main', '--reviewer', 'true'], 2, 'usage'],
      ['no head', ['trigger', '-w', 'w', '--pr', '1', '--reviewer', 'true'], 2, 'usage'],
      [
        'two heads',
        [
          'trigger',
          '-w',
          'w',
          '--pr',
          `1=${sha('aaaa1')}`,
          '--pr',
          `1=${sha('aaaa2')}`,
          '--reviewer',
          'true',
        ],
        2,
        'usage',
      ],
      [
        'a key with control characters',
        ['trigger', '-w', 'w', '--pr', '1\u001B=aaaa1', '--reviewer', 'x'],
        2,
        'usage',
      ],
      ['no reviewer', ['trigger', '-w', 'w', '--pr', `1=${sha('aaaa1')}`], 2, 'usage'],
      [
        'a reviewer and a harness',
        ['trigger', '-w', 'w', '--pr', `1=${sha('aaaa1')}`, '--reviewer', 'x', '--harness', 'codex'],
        2,
        'usage',
      ],
      [
        'a quote that is never closed',
        ['trigger', '-w', 'w', '--pr', `1=${sha('aaaa1')}`, '--reviewer', `"x`],
        2,
        'usage',
      ],
    ];
    for (const [what, words, exit, code] of cases) {
      const { error } = await reviews.json<ReviewFailure>(words, exit);
      expect([what, error.code]).toEqual([what, code]);
    }
    expect(await reviews.list('--all')).toEqual([]);
  });

  it('takes its reviewer from the configuration, when none is given', async () => {
    writeFileSync(
      sandbox.path('config.toml'),
      `[review]\nreviewer = ["sh", "-c", "echo $REEVE_REVIEW_QUEUE > named.new; mv named.new named; exec sleep 60"]\n`,
    );
    const words = ['trigger', '-w', 'w', '--pr', `17=${sha('aaaa1')}`, '--json'];
    const result = await reviews.review(words, { REEVE_CONFIG: sandbox.path('config.toml') });
    expect(result.code).toBe(0);
    await eventually('the reviewer runs', () => existsSync(sandbox.path('named')));
    const queue = readFileSync(readFileSync(sandbox.path('named'), 'utf8').trim(), 'utf8');
    expect(JSON.parse(queue)).toMatchObject([{ pr: '17', head: sha('aaaa1') }]);
  });
});

describe('a harness as the reviewer', () => {
  it.each([
    ['claude', ['claude', '-p']],
    ['gemini', ['gemini', '-p']],
    ['codex', ['codex', 'exec']],
  ] as const)('%s is told in its prompt what to review, and how to submit', async (harness, beginning) => {
    installStandIns(sandbox, 'claude', 'gemini', 'codex');
    const words = [
      'trigger',
      '-w',
      'w',
      '--pr',
      `17=${sha('aaaa1')}`,
      '--pr',
      `18=${sha('bbbb1')}`,
      '--harness',
      harness,
    ];
    const { pullRequests } = await reviews.json<TriggerView>(words);
    const { argv, harness: known, status } = await sandbox.show('review-w');
    expect({ beginning: argv.slice(0, -1), known }).toEqual({ beginning, known: harness });
    expect(status).not.toBe('failed');
    const prompt = argv.at(-1) ?? '';
    for (const { review } of pullRequests) {
      for (const fact of [review.id, review.pr, review.head]) expect(prompt).toContain(fact);
    }
    expect(prompt).toContain('$REEVE_REVIEW_QUEUE');
  });
});

describe('a reviewer', () => {
  it('that exits without submitting leaves its reviews failed, with how it ended and its log', async () => {
    const { reviewer } = await reviews.trigger({ 1: 'aaaa1', 2: 'bbbb1' });
    await reviews.reviewer(reviewer?.run);
    const [first] = await reviews.list();
    await reviews.submit(first?.id ?? '', 'comment');
    reviews.exit(reviewer?.run ?? '', 4);
    await eventually('it is over', async () => (await sandbox.show('review-w')).run.state === 'ended');
    const { logPath } = (await sandbox.show('review-w')).run;
    expect(await reviews.list()).toMatchObject([
      { pr: '1', status: 'up-to-date', verdict: 'comment', reason: null },
      { pr: '2', status: 'failed', verdict: null, reason: expect.stringContaining('code 4') },
    ]);
    const [, failed] = await reviews.list();
    expect(failed?.reason).toContain(logPath);
    expect(await reviews.show(failed?.id ?? '')).toMatchObject({ logPath });
  });

  it('that does its work at once is never too early', async () => {
    reviews = reviewingIn(sandbox, 'quick');
    const { reviewer } = await reviews.trigger({ 1: 'aaaa1', 2: 'bbbb1' });
    await eventually('it is over', async () => (await sandbox.show('review-w')).run.state === 'ended');
    expect((await reviews.list()).map(({ status }) => status)).toEqual(['up-to-date', 'up-to-date']);
    expect((await sandbox.show('review-w')).run).toMatchObject({ id: reviewer?.run, outcome: 'completed' });
  });

  it('stopped by a person leaves its reviews failed, and they can be triggered again', async () => {
    await reviews.trigger({ 1: 'aaaa1' });
    await sandbox.json(['kill', 'review-w']);
    expect(await reviews.list()).toMatchObject([
      { status: 'failed', reason: expect.stringContaining('stopped') },
    ]);
    expect(await reviews.trigger({ 1: 'aaaa1' })).toMatchObject({ isStarted: true });
    expect(await reviews.told()).toEqual(['1 at aaaa1: failed', '1 at aaaa1: running']);
  });

  it('may not trigger what would end itself', async () => {
    const { reviewer } = await reviews.trigger({ 1: 'aaaa1' });
    const { token, process } = await reviews.reviewer(reviewer?.run);
    const own = { REEVE_RUN: reviewer?.run ?? '', REEVE_TOKEN: token };
    expect((await reviews.review(reviews.words({ 1: 'aaaa2' }), own)).code).toBe(2);
    expect(isAlive(process)).toBe(true);
    expect(await reviews.told()).toEqual(['1 at aaaa1: running']);
  });
});

describe('cancel', () => {
  it('of the last review ends its reviewer, and proves it', async () => {
    const { reviewer } = await reviews.trigger({ 1: 'aaaa1', 2: 'bbbb1' });
    const { process } = await reviews.reviewer(reviewer?.run);
    const result = await reviews.json(['cancel', '--worker', 'w', '--grace', '0.3']);
    expect(result).toMatchObject({
      retired: reviewer?.run,
      cancelled: [
        { pr: '1', status: 'cancelled' },
        { pr: '2', status: 'cancelled' },
      ],
    });
    expect(isAlive(process)).toBe(false);
    expect((await sandbox.show('review-w')).run.outcome).toBe('stopped');
    expect(await reviews.json(['cancel', '--worker', 'w'])).toEqual({ cancelled: [], retired: null });
  });

  it('of one among several leaves the reviewer to the others, and refuses what it says about that one', async () => {
    const { reviewer, pullRequests } = await reviews.trigger({ 1: 'aaaa1', 2: 'bbbb1' });
    const { process } = await reviews.reviewer(reviewer?.run);
    const id = pullRequests[0]?.review.id ?? '';
    expect(await reviews.json(['cancel', id])).toMatchObject({ retired: null, cancelled: [{ id }] });
    expect(isAlive(process)).toBe(true);
    expect(await reviews.submit(id, 'approve')).toBe(5);
    expect(await reviews.show(id)).toMatchObject({ status: 'cancelled', late: { body: expect.any(String) } });
    expect(await reviews.told()).toEqual(['1 at aaaa1: cancelled', '2 at bbbb1: running']);
    expect(await reviews.json(['cancel', '--worker', 'w', '--pr', '2', '--grace', '0'])).toMatchObject({
      retired: reviewer?.run,
    });
    expect(isAlive(process)).toBe(false);
  });

  it.each([
    [['cancel'], 2],
    [['cancel', 'rev-x', '--worker', 'w'], 2],
    [['cancel', 'rev-none'], 3],
    [['cancel', '--worker', 'w', '--pr', 'none'], 3],
  ])('as %j exits %i', async (words, code) => {
    expect((await reviews.review(words)).code).toBe(code);
  });
});

it('a worker that is forgotten takes its reviews with it', async () => {
  await reviews.trigger({ 1: 'aaaa1' });
  await reviews.json(['cancel', '--worker', 'w', '--grace', '0.3']);
  await sandbox.json(['kill', 'w']);
  await sandbox.json(['rm', 'w']);
  expect(await reviews.list('--all')).toEqual([]);
});

it('a daemon notices by itself that a reviewer has left its work undone', async () => {
  const daemon = await openDaemon(sandbox);
  const { reviewer } = await reviews.trigger({ 17: 'aaaa1' });
  await reviews.reviewer(reviewer?.run);
  reviews.exit(reviewer?.run ?? '', 4);
  // Which looks at no review.
  await eventually('it is on record', async () =>
    (await sandbox.reeve(['why', 'w'])).stdout.includes('code 4'),
  );
  await daemon.stop();
});

it('what happened is told in the worker’s story', async () => {
  const { pullRequests } = await reviews.trigger({ 17: 'aaaa1' });
  await reviews.submit(pullRequests[0]?.review.id ?? '', 'changes');
  const { sentences } = await sandbox.json<{ sentences: { text: string }[] }>(['why', 'w']);
  const texts = sentences.map(({ text }) => text).filter((text) => text.includes('review rev-'));
  expect(texts).toEqual([
    expect.stringContaining('asked for'),
    expect.stringContaining('Reviewer run'),
    expect.stringContaining('changes'),
  ]);
});
