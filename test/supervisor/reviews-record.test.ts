/** What is decided about reviews from the record alone: nobody has looked since, or nobody executes at all. */
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { identify } from '../../src/process/process-table.ts';
import { cancelReviews } from '../../src/supervisor/review-cancel.ts';
import { openContext } from '../../src/supervisor/context.ts';
import type { Context } from '../../src/supervisor/context.ts';
import { MAX_REVIEW_BYTES } from '../../src/supervisor/review-limits.ts';
import { wantedHeads } from '../../src/supervisor/review-request.ts';
import { settleReviews } from '../../src/supervisor/review-settle.ts';
import { submitReview } from '../../src/supervisor/review-submit.ts';
import { triggerReviews } from '../../src/supervisor/review-trigger.ts';
import { claimOf, end, identity, TOKEN, won } from '../store/examples.ts';
import { launchIn } from '../support/launch.ts';
import { isAlive } from '../support/processes.ts';
import { brief, sha } from '../support/reviewer.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
let context: Context;
let worker: string;
beforeEach(async () => {
  sandbox = createSandbox();
  context = await openContext({ home: sandbox.home, environment: sandbox.env });
  const { session, run } = await won(context.store, claimOf('w', { cwd: sandbox.root }));
  await context.store.step(run.id, end());
  worker = session.id;
});
afterEach(async () => {
  vi.restoreAllMocks();
  await context.store.close();
  await sandbox.cleanUp();
});

/** Waiting for a reviewer, as `rev-<pr>`. */
async function asked(...prs: readonly string[]): Promise<void> {
  const { store } = context;
  await store.takeReviewLock({ sessionId: worker, token: 'lock', holder: identity(1), instead: null });
  const heads = prs.map((pr) => ({ pr, head: sha('aaaa1'), tree: null }));
  const created = heads.map((head) => ({ ...head, id: `rev-${head.pr}`, state: 'queued' as const }));
  await store.writeReviewPlan({
    sessionId: worker,
    lockToken: 'lock',
    actor: 'ada',
    heads,
    created,
    steps: [],
  });
  await store.releaseReviewLock(worker, 'lock');
}

async function bound(runId: string, ...prs: readonly string[]): Promise<void> {
  await asked(...prs);
  const steps = prs.map((pr) => ({ id: `rev-${pr}`, step: { kind: 'bind', runId } as const }));
  await context.store.stepReviews(steps, 'ada');
}

/** A run of the reviewer's session that is about to start: this process, which is alive, is at it. */
async function reviewer(): Promise<string> {
  const launcher = identify(context.table, process.pid);
  const { run } = await won(context.store, claimOf('review-w', { cwd: sandbox.root, launcher }));
  return run.id;
}

async function told(): Promise<readonly string[]> {
  const records = await context.store.reviews({ sessionId: worker });
  return records.map(({ review: { pr, head, state } }) => `${pr} at ${brief(head)}: ${state}`);
}

const trigger = (head: string, ...program: readonly string[]) =>
  triggerReviews(context, { worker: 'w', pullRequests: [{ pr: '1', head: sha(head) }], reviewer: program });

describe('a reviewer that is over, which nobody has seen yet', () => {
  beforeEach(async () => {
    const run = await reviewer();
    await bound(run, '1');
    await context.store.step(run, end());
  });

  it('is not taken for one that is at work: a trigger of the same head starts another', async () => {
    const answer = await trigger('aaaa1', 'sleep', '600');
    expect(answer).toMatchObject({ isStarted: true, retired: null, pullRequests: [{ is: 'created' }] });
    expect(await told()).toEqual(['1 at aaaa1: failed', '1 at aaaa1: running']);
  });

  it('leaves nothing to be cancelled', async () => {
    expect(await cancelReviews(context, { worker: 'w' })).toEqual({ cancelled: [], retired: null });
    expect(await told()).toEqual(['1 at aaaa1: failed']);
  });
});

describe('a reviewer', () => {
  it('that is on record no more has left its reviews, and what waits still waits', async () => {
    await bound('r-forgotten', '1');
    await asked('2');
    expect(await settleReviews(context)).toBe(1);
    expect(await told()).toEqual(['1 at aaaa1: failed', '2 at aaaa1: queued']);
    expect(await settleReviews(context)).toBe(0);
  });

  it('that is not there is refused, also where nothing would be started', async () => {
    await bound(await reviewer(), '1');
    await expect(trigger('aaaa1', 'no-such-program')).rejects.toMatchObject({ code: 'usage' });
    expect(await trigger('aaaa1', 'sleep', '600')).toMatchObject({ isStarted: false });
  });
});

it('a trigger whose heads prove wrong while it waits for another one is refused in its turn', async () => {
  const { session } = (await context.store.sessionByName('w')) ?? {};
  if (session === undefined) throw new Error('There is no worker.');
  const pullRequests = [{ pr: '1', head: sha('aaaa1') }];
  const request = { worker: 'w', pullRequests, reviewer: ['sleep', '600'], repo: '/' };
  const takeReviewLock = context.store.takeReviewLock.bind(context.store);
  vi.spyOn(context.store, 'takeReviewLock').mockImplementation(async (wanted) => {
    // By the time that this look, which began later, has failed, the trigger's own has too. Nobody waits for that yet.
    await expect(wantedHeads(context, request, session)).rejects.toMatchObject({ code: 'bad_directory' });
    await turn();
    return takeReviewLock(wanted);
  });
  await expect(triggerReviews(context, request)).rejects.toMatchObject({ code: 'bad_directory' });
  expect(await told()).toEqual([]);
});

describe('a cancel', () => {
  it('does not end whoever uses the reviewer’s session for something else', async () => {
    await asked('1');
    const { harness } = await launchIn(sandbox, 'review-w', 'sleep', '600');
    const result = await cancelReviews(context, { worker: 'w', graceMs: 0 });
    expect(result).toMatchObject({ retired: null, cancelled: [{ pr: '1', status: 'cancelled' }] });
    expect(isAlive(harness)).toBe(true);
  });

  it('of what is over already ends nobody, although its reviewer has only what it was to end for', async () => {
    const { run, harness } = await launchIn(sandbox, 'review-w', 'sleep', '600');
    await bound(run.id, '1', '2');
    const submission = { kind: 'submit', verdict: 'approve' } as const;
    const supersede = { kind: 'supersede', by: 'rev-3' } as const;
    await context.store.stepReviews(
      [
        { id: 'rev-1', step: submission },
        { id: 'rev-2', step: supersede },
      ],
      'ada',
    );
    const result = await cancelReviews(context, { worker: 'w', pr: '1', graceMs: 0 });
    expect(result).toEqual({ cancelled: [], retired: null });
    expect(isAlive(harness)).toBe(true);
  });

  it.each([
    ['of all', {}],
    ['of the only other one', { pr: '1' }],
  ])('%s ends a reviewer that was to end anyway, and tells only what it cancelled', async (_, which) => {
    const { run, harness } = await launchIn(sandbox, 'review-w', 'sleep', '600');
    await bound(run.id, '1', '2');
    await context.store.stepReviews([{ id: 'rev-2', step: { kind: 'supersede', by: 'rev-3' } }], 'ada');
    const result = await cancelReviews(context, { worker: 'w', ...which, graceMs: 0 });
    expect(result).toMatchObject({ retired: run.id, cancelled: [{ id: 'rev-1', status: 'cancelled' }] });
    expect(isAlive(harness)).toBe(false);
    expect(await told()).toEqual(['1 at aaaa1: cancelled', '2 at aaaa1: superseded']);
  });

  it('of all that it is at ends a reviewer, and what waits for another one goes on waiting', async () => {
    const { run, harness } = await launchIn(sandbox, 'review-w', 'sleep', '600');
    await bound(run.id, '1');
    await asked('2');
    const result = await cancelReviews(context, { worker: 'w', pr: '1', graceMs: 0 });
    expect(result).toMatchObject({ retired: run.id, cancelled: [{ id: 'rev-1' }] });
    expect(isAlive(harness)).toBe(false);
    expect(await told()).toEqual(['1 at aaaa1: cancelled', '2 at aaaa1: queued']);
  });

  it('from inside the reviewer that it would have to end is refused, and nothing is meant', async () => {
    const { run, harness } = await launchIn(sandbox, 'review-w', 'sleep', '600');
    await bound(run.id, '1');
    const inside = { ...context, environment: { ...context.environment, REEVE_RUN: run.id } };
    await expect(cancelReviews(inside, { worker: 'w', graceMs: 0 })).rejects.toMatchObject({
      code: 'inside_own_run',
    });
    expect(isAlive(harness)).toBe(true);
    expect((await context.store.reviews({}))[0]?.review).toMatchObject({ state: 'running', intent: null });
  });
});

describe('a submission', () => {
  const submission = { review: 'rev-1', verdict: 'approve', body: 'fine' } as const;

  it('of a run whose end nobody has seen yet is refused', async () => {
    // Its launcher is of another boot: nothing of it lives.
    const launcher = { ...identify(context.table, process.pid), boot: 'another boot' };
    const { run } = await won(context.store, claimOf('review-w', { cwd: sandbox.root, launcher }));
    await bound(run.id, '1');
    await expect(submitReview(context, submission, { run: run.id, token: TOKEN })).rejects.toMatchObject({
      code: 'fenced',
    });
    expect((await context.store.reviewTexts('rev-1')).body).toBeNull();
  });

  it('is kept without the character that PostgreSQL cannot store, up to the largest there is', async () => {
    const holder = { run: await reviewer(), token: TOKEN };
    await bound(holder.run, '1', '2');
    await submitReview(context, { ...submission, body: 'a\0b' }, holder);
    expect((await context.store.reviewTexts('rev-1')).body).toBe('a\u{FFFD}b');
    const largest = { ...submission, review: 'rev-2', body: 'ä'.repeat(MAX_REVIEW_BYTES / 2) };
    await expect(
      submitReview(context, { ...largest, body: `${largest.body}x` }, holder),
    ).rejects.toMatchObject({ code: 'too_large' });
    await submitReview(context, largest, holder);
    expect((await context.store.reviewTexts('rev-2')).body).toBe(largest.body);
  });

  it('that is refused is told as that, also when it cannot be counted', async () => {
    await bound(await reviewer(), '1');
    vi.spyOn(context.store, 'count').mockRejectedValue(new Error('The store is away.'));
    const stranger = { run: 'r-none', token: TOKEN };
    await expect(submitReview(context, submission, stranger)).rejects.toMatchObject({ code: 'fenced' });
  });
});
