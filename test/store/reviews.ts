/** The part of the store's contract about reviews: plans written whole, one standing review a pull request, submissions. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ReviewPlanWrite, ReviewSubmission, Store } from '../../src/store/store.ts';
import { TakenElsewhere } from '../../src/store/taken-elsewhere.ts';
import type { Database, Engine } from './engine.ts';
import { claimOf, end, identity, intend, many, TOKEN, won } from './examples.ts';

const LOCK = 'lock-1';

let database: Database;
let one: Store;
let two: Store;
let worker: string;
let reviewer: string;

export function describeStoreReviews(engine: Engine): void {
  describe(`reviews on ${engine.name}`, () => {
    beforeEach(async () => {
      database = await engine.createDatabase();
      [one, two] = [await database.open(), await database.open()];
      worker = (await won(one, claimOf('w'))).session.id;
      reviewer = (await won(one, claimOf('review-w'))).run.id;
      await lock();
    });
    afterEach(() => database.close());

    describe('the lock', describeLock);
    describe('a plan', describePlan);
    describe('a step', describeStep);
    describe('a submission', describeSubmission);

    test('go with the worker that is forgotten', async () => {
      await write({ created: [queued('1', 'a')] });
      const other = (await won(one, claimOf('other'))).session.id;
      await lock(other);
      await write({ sessionId: other, created: [queued('1', 'a', 'rev-other')] });
      const { run } = (await one.sessionByName('w')) ?? {};
      await one.step(run?.id ?? '', end());
      expect(await one.removeSession(worker, 'ada')).toBe(true);
      expect((await two.reviews({})).map(({ review }) => review.id)).toStrictEqual(['rev-other']);
    });
  });
}

function lock(sessionId = worker) {
  return one.takeReviewLock({ sessionId, token: LOCK, holder: identity(7), instead: null });
}

const queued = (pr: string, head: string, id = `rev-${pr}-${head}`, tree: string | null = null) =>
  ({ id, pr, head, tree, state: 'queued' }) as const;

function write(changes: Partial<ReviewPlanWrite>, store = one): Promise<boolean> {
  const created = changes.created ?? [];
  const heads = created.map(({ pr, head, tree }) => ({ pr, head, tree }));
  return store.writeReviewPlan({
    sessionId: worker,
    lockToken: LOCK,
    actor: 'ada',
    heads,
    created,
    steps: [],
    ...changes,
  });
}

async function states(store = two): Promise<readonly string[]> {
  return (await store.reviews({ sessionId: worker })).map(
    ({ review, isCurrent }) =>
      `${review.id} ${review.state}${review.intent === null ? '' : ` (${review.intent})`}${isCurrent ? '' : ' old'}`,
  );
}

async function kinds(): Promise<readonly string[]> {
  const events = await two.eventsOf(worker);
  return events.map(({ kind }) => kind).filter((kind) => kind.startsWith('review.'));
}

async function running(pr = '1', head = 'a'): Promise<string> {
  const { id } = queued(pr, head);
  await write({ created: [queued(pr, head)] });
  await one.stepReviews([{ id, step: { kind: 'bind', runId: reviewer } }], 'ada');
  return id;
}

function describeLock(): void {
  const take = (token: string, instead: string | null = null, store = two) =>
    store.takeReviewLock({ sessionId: worker, token, holder: identity(8), instead });

  test('is one holder’s, who is told to all others', async () => {
    expect(await take('lock-2')).toStrictEqual({ is: 'held', token: LOCK, holder: identity(7) });
    expect(await lock()).toStrictEqual({ is: 'taken' });
    await one.releaseReviewLock(worker, LOCK);
    expect(await take('lock-2')).toStrictEqual({ is: 'taken' });
  });

  test('is released by its holder only', async () => {
    await two.releaseReviewLock(worker, 'lock-2');
    expect(await take('lock-2')).toMatchObject({ is: 'held', token: LOCK });
  });

  test('is taken over from exactly the holder that was found dead', async () => {
    expect(await take('lock-2', 'lock-0')).toMatchObject({ is: 'held', token: LOCK });
    expect(await take('lock-2', LOCK)).toStrictEqual({ is: 'taken' });
    expect(await write({ created: [queued('1', 'a')] })).toBe(false);
    expect(await states()).toStrictEqual([]);
  });

  test('is taken over by one of many', async () => {
    const results = await Promise.all(
      many(8, (index) => take(`many-${index}`, LOCK, index % 2 === 0 ? one : two)),
    );
    expect(results.filter(({ is }) => is === 'taken')).toHaveLength(1);
  });

  test('of a worker that is none is not to be had', async () => {
    expect(await lock('s-none')).toStrictEqual({ is: 'gone' });
  });
}

function describePlan(): void {
  test('puts reviews, heads and events on record together', async () => {
    const sameAs = 'rev-1-a';
    expect(
      await write({
        created: [
          queued('1', 'a', 'rev-1-a', 'tree'),
          { ...queued('2', 'b'), state: 'duplicate', sameAs, verdict: 'approve' },
        ],
      }),
    ).toBe(true);
    const facts = {
      sessionId: worker,
      intent: null,
      supersededBy: null,
      reviewerRunId: null,
      reason: null,
      createdAtMs: expect.any(Number),
      startedAtMs: null,
    };
    expect(await two.reviews({})).toStrictEqual([
      {
        worker: 'w',
        isCurrent: true,
        review: {
          ...facts,
          id: 'rev-1-a',
          pr: '1',
          head: 'a',
          tree: 'tree',
          state: 'queued',
          sameAs: null,
          verdict: null,
          endedAtMs: null,
        },
      },
      {
        worker: 'w',
        isCurrent: true,
        review: {
          ...facts,
          id: 'rev-2-b',
          pr: '2',
          head: 'b',
          tree: null,
          state: 'duplicate',
          sameAs,
          verdict: 'approve',
          endedAtMs: expect.any(Number),
        },
      },
    ]);
    expect(await kinds()).toStrictEqual(['review.created', 'review.skipped']);
  });

  test('makes what it supersedes old, and lets only one stand', async () => {
    const id = await running();
    const steps = [{ id, step: { kind: 'supersede', by: 'rev-1-b' } as const }];
    expect(await write({ created: [queued('1', 'b')], steps })).toBe(true);
    expect(await states()).toStrictEqual(['rev-1-a running (supersede) old', 'rev-1-b queued']);
    // Whoever forgot to have the other give way is stopped by the database itself.
    await expect(write({ created: [queued('1', 'c')] })).rejects.toThrow();
    expect(await states()).toStrictEqual(['rev-1-a running (supersede) old', 'rev-1-b queued']);
    const wait = [{ id: 'rev-1-b', step: { kind: 'wait', because: 'x' } as const }];
    expect(await one.stepReviews(wait, 'ada')).toStrictEqual(['rev-1-b']);
    // Said once, however often it is tried.
    expect(await one.stepReviews(wait, 'ada')).toStrictEqual([]);
    expect((await two.reviews({ reference: 'rev-1-b' }))[0]?.review.reason).toBe('x');
    expect(await states()).toStrictEqual(['rev-1-a running (supersede) old', 'rev-1-b queued']);
  });

  test('whose events are refused writes nothing', async () => {
    await database.refuseEvents('review.created');
    await expect(write({ created: [queued('1', 'a')] })).rejects.toThrow();
    expect(await states()).toStrictEqual([]);
    expect(await two.reviews({ reference: 'rev-' })).toStrictEqual([]);
  });

  test('about a head that is known already leaves the time at which it became the head', async () => {
    const changedAt = async () =>
      (await database.sql('select changed_at from review_heads')).map((row) => Number(row['changed_at']));
    await write({ heads: [{ pr: '1', head: 'a', tree: null }] });
    await database.sql('update review_heads set changed_at = 1');
    await write({ heads: [{ pr: '1', head: 'a', tree: null }] });
    expect(await changedAt()).toStrictEqual([1]);
    await write({ heads: [{ pr: '1', head: 'b', tree: null }] });
    expect(await changedAt()).not.toStrictEqual([1]);
  });

  test('without the lock writes nothing', async () => {
    expect(await write({ created: [queued('1', 'a')], lockToken: 'lock-2' })).toBe(false);
    expect(await states()).toStrictEqual([]);
  });
}

function describeStep(): void {
  test('is taken once, by one of many, with one event', async () => {
    const id = await running();
    const leave = { kind: 'leave', runId: reviewer, was: 'executed', how: 'it exited' } as const;
    const taken = await Promise.all(
      many(8, (index) => (index % 2 === 0 ? one : two).stepReviews([{ id, step: leave }], 'reconcile')),
    );
    expect(taken.flat()).toStrictEqual([id]);
    expect(await kinds()).toStrictEqual(['review.created', 'review.started', 'review.failed']);
    expect((await two.eventsOf(worker)).at(-1)).toMatchObject({
      runId: null,
      actor: 'reconcile',
      data: { review: id, pr: '1', head: 'a', run: reviewer, reason: expect.stringContaining('it exited') },
    });
  });

  test('beside the submission of the same review: one of the two is so', async () => {
    for (const round of many(10, (index) => index)) {
      const id = await running(`pr-${round}`);
      const leave = { kind: 'leave', runId: reviewer, was: 'executed', how: 'it exited' } as const;
      const [left, submitted] = await Promise.all([
        two.stepReviews([{ id, step: leave }], 'reconcile'),
        one.submitReview(submissionOf(id)),
      ]);
      expect(submitted.is === 'accepted').toBe(left.length === 0);
    }
  });

  test('of several in any order waits for others, and never both for ever', async () => {
    const ids = [await running('1'), await running('2'), await running('3')];
    const steps = (order: readonly string[], kind: 'move' | 'supersede') =>
      order.map((id) => ({ id, step: kind === 'move' ? { kind } : { kind, by: 'rev-x' } }) as const);
    await Promise.all(
      many(12, (index) =>
        (index % 2 === 0 ? one : two).stepReviews(
          steps(index % 3 === 0 ? ids : ids.toReversed(), index % 2 === 0 ? 'move' : 'supersede'),
          'ada',
        ),
      ),
    );
    expect((await states()).every((state) => state.includes('running'))).toBe(true);
  });

  test('of what is not there is not taken', async () => {
    expect(await one.stepReviews([{ id: 'rev-none', step: { kind: 'move' } }], 'ada')).toStrictEqual([]);
    expect(await one.stepReviews([], 'ada')).toStrictEqual([]);
  });

  test('a review is found by the beginning of its id, and among those that are open', async () => {
    const id = await running();
    await write({ created: [queued('2', 'a')] });
    await one.stepReviews([{ id: 'rev-2-a', step: { kind: 'fail', reason: 'x' } }], 'ada');
    const ids = async (query: Parameters<Store['reviews']>[0]) =>
      (await two.reviews(query)).map(({ review }) => review.id);
    expect(await ids({ reference: 'rev-1' })).toStrictEqual([id]);
    expect(await ids({ reference: 'rev-' })).toStrictEqual([id, 'rev-2-a']);
    expect(await ids({ reference: 'rev-%' })).toStrictEqual([]);
    expect(await ids({ reference: 'rev-\0' })).toStrictEqual([]);
    expect(await ids({ only: 'open' })).toStrictEqual([id]);
    expect(await ids({ only: 'open', sessionId: 's-none' })).toStrictEqual([]);
  });
}

const submissionOf = (id: string, changes: Partial<ReviewSubmission> = {}): ReviewSubmission => ({
  id,
  runId: reviewer,
  token: TOKEN,
  verdict: 'approve',
  body: 'fïne 😀',
  ...changes,
});

function describeSubmission(): void {
  test('of its reviewer is on record, with one event, and the same again is no other', async () => {
    const id = await running();
    expect(await two.submitReview(submissionOf(id))).toMatchObject({
      is: 'accepted',
      review: { id, state: 'submitted', verdict: 'approve' },
    });
    expect(await one.submitReview(submissionOf(id))).toMatchObject({ is: 'again', review: { id } });
    expect(await one.reviewTexts(id)).toStrictEqual({ body: 'fïne 😀', late: null });
    expect(await kinds()).toStrictEqual(['review.created', 'review.started', 'review.submitted']);
    expect((await one.eventsOf(worker)).at(-1)?.actor).toBe(`run ${reviewer}`);
  });

  test('while its reviewer is being ended for the sake of others is accepted', async () => {
    const id = await running();
    await one.stepReviews([{ id, step: { kind: 'move' } }], 'ada');
    await one.step(reviewer, intend({ outcome: 'superseded' }));
    expect(await two.submitReview(submissionOf(id))).toMatchObject({ is: 'accepted' });
  });

  test.each<[string, (id: string) => Promise<unknown>, RegExp]>([
    [
      'superseded',
      (id) => one.stepReviews([{ id, step: { kind: 'supersede', by: 'rev-2' } }], 'ada'),
      /superseded/,
    ],
    [
      'cancelled',
      (id) => one.stepReviews([{ id, step: { kind: 'cancel', reason: 'x', when: 'reviewer_over' } }], 'ada'),
      /cancelled/,
    ],
    [
      'over',
      (id) => one.stepReviews([{ id, step: { kind: 'cancel', reason: 'x', when: 'now' } }], 'ada'),
      /cancelled/,
    ],
    ['of an older head', () => write({ heads: [{ pr: '1', head: 'b', tree: null }] }), /head of 1 is b/],
    ['of a reviewer that is over', () => one.step(reviewer, end()), /ended/],
    [
      'waiting for its next reviewer',
      (id) => {
        const leave = { kind: 'leave', runId: reviewer, was: 'executed', how: 'x' } as const;
        return one.stepReviews(
          [
            { id, step: { kind: 'move' } },
            { id, step: leave },
          ],
          'ada',
        );
      },
      /waits/,
    ],
    [
      'with its next reviewer',
      async (id) => {
        const leave = { kind: 'leave', runId: reviewer, was: 'executed', how: 'x' } as const;
        const bind = { kind: 'bind', runId: 'r-next' } as const;
        await one.stepReviews(
          [
            { id, step: { kind: 'move' } },
            { id, step: leave },
            { id, step: bind },
          ],
          'ada',
        );
      },
      /r-next/,
    ],
  ])('of one that is %s is refused, put aside, and changes nothing else', async (_, prepare, why) => {
    const id = await running();
    await prepare(id);
    const before = await two.reviews({});
    expect(await two.submitReview(submissionOf(id))).toStrictEqual({
      is: 'refused',
      because: expect.stringMatching(why),
      isKept: true,
    });
    expect(await two.reviews({})).toStrictEqual(before);
    expect(await two.reviewTexts(id)).toStrictEqual({
      body: null,
      late: { body: 'fïne 😀', because: expect.stringMatching(why) },
    });
    expect((await kinds()).at(-1)).toBe('review.fenced');
  });

  test.each<[string, () => Promise<Partial<ReviewSubmission>>]>([
    ['with a token that is not the run’s', async () => ({ token: 'x' })],
    ['by a run that is none', async () => ({ runId: 'r-none' })],
    ['by a run of somebody else', async () => ({ runId: (await won(one, claimOf('x'))).run.id })],
    [
      'by the reviewer of another pull request',
      async () => {
        const { run } = await won(one, claimOf('x'));
        await write({ created: [queued('2', 'a')] });
        await one.stepReviews([{ id: 'rev-2-a', step: { kind: 'bind', runId: run.id } }], 'ada');
        return { runId: run.id };
      },
    ],
  ])('%s is refused, and nothing is kept', async (_, changes) => {
    const id = await running();
    const submission = submissionOf(id, await changes());
    const before = [await states(), await kinds()];
    expect(await two.submitReview(submission)).toMatchObject({ is: 'refused', isKept: false });
    expect(await two.reviewTexts(id)).toStrictEqual({ body: null, late: null });
    expect([await states(), await kinds()]).toStrictEqual(before);
  });

  test.each<[string, Partial<ReviewSubmission>]>([
    ['verdict', { verdict: 'changes' }],
    ['text', { body: 'on second thoughts' }],
  ])('with another %s than the first is refused, put aside, and the first stands', async (_, changes) => {
    const id = await running();
    const first = await one.submitReview(submissionOf(id));
    const again = submissionOf(id, changes);
    expect(await two.submitReview(again)).toStrictEqual({
      is: 'refused',
      because: expect.stringMatching(/already has a verdict \(approve\)/),
      isKept: true,
    });
    const [record] = await two.reviews({ reference: id });
    expect({ is: 'accepted', review: record?.review }).toStrictEqual(first);
    expect(await two.reviewTexts(id)).toStrictEqual({
      body: 'fïne 😀',
      late: { body: again.body, because: expect.stringMatching(/already has a verdict \(approve\)/) },
    });
  });

  test('that was put aside is told once, however often it comes; another text or reason is told anew', async () => {
    const id = await running();
    await one.stepReviews([{ id, step: { kind: 'cancel', reason: 'x', when: 'reviewer_over' } }], 'ada');
    const late = async (body: string) => {
      const result = await two.submitReview(submissionOf(id, { body }));
      const fenced = (await kinds()).filter((kind) => kind === 'review.fenced').length;
      const because = result.is === 'refused' ? result.because : null;
      expect(result).toStrictEqual({ is: 'refused', because, isKept: true });
      expect((await two.reviewTexts(id)).late).toStrictEqual({ body, because });
      return fenced;
    };
    expect([await late('a'), await late('a'), await late('b'), await late('b')]).toStrictEqual([1, 1, 2, 2]);
    const over = { kind: 'leave', runId: reviewer, was: 'executed', how: 'x' } as const;
    await one.stepReviews([{ id, step: over }], 'ada');
    expect([await late('b'), await late('b')]).toStrictEqual([3, 3]);
  });

  test('from a spool that somebody else has taken in changes nothing, and is not told as a late one', async () => {
    const id = await running();
    const before = [await two.reviews({}), await two.lastSeq()];
    const gone = submissionOf(id, { isStillLeft: () => false });
    await expect(two.submitReview(gone)).rejects.toBeInstanceOf(TakenElsewhere);
    expect([await two.reviews({}), await two.lastSeq()]).toStrictEqual(before);
    expect(await two.submitReview({ ...gone, isStillLeft: () => true })).toMatchObject({ is: 'accepted' });
    await one.step(reviewer, end());
    const changed = { ...gone, body: 'the copy of a slow reader' };
    await expect(two.submitReview(changed)).rejects.toBeInstanceOf(TakenElsewhere);
    expect(await two.reviewTexts(id)).toStrictEqual({ body: 'fïne 😀', late: null });
  });

  test('of what is not there is refused', async () => {
    expect(await one.submitReview(submissionOf('rev-none'))).toMatchObject({ is: 'refused', isKept: false });
    expect(await one.reviewTexts('rev-none')).toStrictEqual({ body: null, late: null });
  });

  test('of several runs at once is accepted from the one that has it', async () => {
    const id = await running();
    const other = (await won(one, claimOf('x'))).run.id;
    const results = await Promise.all(
      many(8, (index) =>
        (index % 2 === 0 ? one : two).submitReview(submissionOf(id, index % 2 === 0 ? {} : { runId: other })),
      ),
    );
    expect(results.map(({ is }) => is).toSorted()).toStrictEqual([
      'accepted',
      ...many(3, () => 'again'),
      ...many(4, () => 'refused'),
    ]);
  });
}
