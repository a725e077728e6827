import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isOpen, isStanding } from '../../src/lifecycle/review.ts';
import type { Review } from '../../src/lifecycle/review.ts';
import { planReviews } from '../../src/lifecycle/review-plan.ts';
import type { ReviewFacts, ReviewPlan } from '../../src/lifecycle/review-plan.ts';
import { reviewOf } from './review-samples.ts';

const NOTHING = { supersede: [], move: [], retire: null, start: false };

function plan(facts: Partial<ReviewFacts>): ReviewPlan {
  return planReviews({ wanted: [], reviews: [], liveRunId: null, repeat: 'once', ...facts });
}

const want = (pr: string, head: string, tree: string | null = null) => ({ pr, head, tree });

describe('a head', () => {
  it('that nobody has reviewed is reviewed by one fresh reviewer', () => {
    expect(plan({ wanted: [want('1', 'a'), want('2', 'b')] })).toEqual({
      heads: [
        { ...want('1', 'a'), is: 'create' },
        { ...want('2', 'b'), is: 'create' },
      ],
      ...NOTHING,
      start: true,
    });
  });

  it('that is under review already is left to its reviewer', () => {
    const running = reviewOf({ pr: '1', head: 'a' });
    expect(plan({ wanted: [want('1', 'a')], reviews: [running], liveRunId: 'r-1' })).toEqual({
      heads: [{ ...want('1', 'a'), is: 'reuse', review: 'rev-1' }],
      ...NOTHING,
    });
  });

  it('that was left waiting by a trigger that died gets a reviewer', () => {
    const queued = reviewOf({ pr: '1', head: 'a', state: 'queued' });
    expect(plan({ wanted: [want('1', 'a')], reviews: [queued] })).toEqual({
      heads: [{ ...want('1', 'a'), is: 'reuse', review: 'rev-1' }],
      ...NOTHING,
      start: true,
    });
  });

  it('that was reviewed is up to date, unless it is asked for again', () => {
    const done = reviewOf({ pr: '1', head: 'a', state: 'submitted', verdict: 'approve' });
    const facts = { wanted: [want('1', 'a')], reviews: [done] };
    expect(plan(facts)).toEqual({
      heads: [{ ...want('1', 'a'), is: 'up_to_date', review: 'rev-1' }],
      ...NOTHING,
    });
    expect(plan({ ...facts, repeat: 'again' })).toMatchObject({ heads: [{ is: 'create' }], start: true });
  });

  it.each(['superseded', 'cancelled', 'failed'] as const)('whose review is %s is reviewed', (state) => {
    const over = reviewOf({ pr: '1', head: 'a', state });
    expect(plan({ wanted: [want('1', 'a')], reviews: [over] })).toMatchObject({
      heads: [{ is: 'create' }],
      start: true,
    });
  });

  it('with the tree of one that was reviewed is skipped, with whose verdict it has', () => {
    const done = reviewOf({ pr: '1', head: 'a', tree: 't', state: 'submitted', verdict: 'changes' });
    expect(plan({ wanted: [want('1', 'b', 't')], reviews: [done] })).toEqual({
      heads: [{ ...want('1', 'b', 't'), is: 'duplicate', of: 'rev-1', verdict: 'changes' }],
      ...NOTHING,
    });
  });

  it.each([
    ['of another pull request', { pr: '2', tree: 't', state: 'submitted' }, 't'],
    ['that was never submitted', { pr: '1', tree: 't', state: 'failed' }, 't'],
    ['of another tree', { pr: '1', tree: 'u', state: 'submitted' }, 't'],
    ['whose tree nobody knows', { pr: '1', tree: null, state: 'submitted' }, null],
  ] as const)('is not taken for a duplicate of one %s', (_, changes, tree) => {
    const other = reviewOf({ head: 'a', verdict: 'approve', ...changes });
    expect(plan({ wanted: [want('1', 'b', tree)], reviews: [other] }).heads[0]?.is).toBe('create');
  });
});

describe('a reviewer', () => {
  it('of an older head is ended, and a fresh one started with what else it had', () => {
    const old = reviewOf({ id: 'rev-old', pr: '1', head: 'a' });
    const other = reviewOf({ id: 'rev-other', pr: '2', head: 'x' });
    expect(plan({ wanted: [want('1', 'b')], reviews: [old, other], liveRunId: 'r-1' })).toEqual({
      heads: [{ ...want('1', 'b'), is: 'create' }],
      supersede: [old],
      move: [other],
      retire: 'r-1',
      start: true,
    });
  });

  it('that is idle is ended too: nothing is pasted into what it knows', () => {
    expect(plan({ wanted: [want('1', 'a')], liveRunId: 'r-1' })).toMatchObject({
      retire: 'r-1',
      start: true,
    });
  });

  it('that is idle is left alone when there is nothing to do', () => {
    const done = reviewOf({ pr: '1', head: 'a', state: 'submitted', verdict: 'approve' });
    expect(plan({ wanted: [want('1', 'a')], reviews: [done], liveRunId: 'r-1' })).toMatchObject(NOTHING);
  });

  it('of an older head is ended, and none started, when the newer one needs no review', () => {
    const done = reviewOf({ id: 'rev-done', pr: '1', head: 'a', state: 'submitted', verdict: 'approve' });
    const old = reviewOf({ id: 'rev-old', pr: '1', head: 'b' });
    expect(plan({ wanted: [want('1', 'a')], reviews: [done, old], liveRunId: 'r-1' })).toEqual({
      heads: [{ ...want('1', 'a'), is: 'up_to_date', review: 'rev-done' }],
      supersede: [old],
      move: [],
      retire: 'r-1',
      start: false,
    });
  });

  it('that a trigger meant to end before it died is ended by the next, whatever that one wants', () => {
    const doomed = reviewOf({
      id: 'rev-old',
      pr: '1',
      head: 'a',
      intent: 'supersede',
      supersededBy: 'rev-new',
    });
    const waiting = reviewOf({ id: 'rev-new', pr: '1', head: 'b', state: 'queued' });
    expect(plan({ wanted: [want('1', 'b')], reviews: [doomed, waiting], liveRunId: 'r-1' })).toEqual({
      heads: [{ ...want('1', 'b'), is: 'reuse', review: 'rev-new' }],
      supersede: [],
      move: [],
      retire: 'r-1',
      start: true,
    });
  });

  it('that was to end with reviews that were cancelled is ended, also when there is nothing to start', () => {
    const done = reviewOf({ id: 'rev-done', pr: '2', head: 'x', state: 'submitted', verdict: 'approve' });
    const doomed = reviewOf({ id: 'rev-old', pr: '1', head: 'a', intent: 'cancel' });
    expect(plan({ wanted: [want('2', 'x')], reviews: [done, doomed], liveRunId: 'r-1' })).toEqual({
      heads: [{ ...want('2', 'x'), is: 'up_to_date', review: 'rev-done' }],
      ...NOTHING,
      retire: 'r-1',
    });
  });

  it('is not started twice for what is queued behind a head that moves on again', () => {
    const waiting = reviewOf({ id: 'rev-old', pr: '1', head: 'a', state: 'queued' });
    expect(plan({ wanted: [want('1', 'b')], reviews: [waiting] })).toEqual({
      heads: [{ ...want('1', 'b'), is: 'create' }],
      ...NOTHING,
      supersede: [waiting],
      start: true,
    });
  });
});

/** What carrying a plan out makes of the facts. */
function carriedOut(
  facts: ReviewFacts,
  { heads, supersede, start, retire }: ReviewPlan,
  round: number,
): ReviewFacts {
  const fresh = `r-fresh-${round}`;
  const superseded = new Set(supersede.map(({ id }) => id));
  const kept = facts.reviews.map((review): Review => {
    if (!isOpen(review)) return review;
    const isDoomed = superseded.has(review.id) || !isStanding(review);
    if (isDoomed) return { ...review, state: 'superseded', intent: null };
    return start ? { ...review, state: 'running', reviewerRunId: fresh, intent: null } : review;
  });
  const created = heads.flatMap((head, index): Review[] => {
    const { pr, head: commit, tree } = head;
    const facets = { id: `rev-${round}-${index}`, pr, head: commit, tree };
    if (head.is === 'create') return [reviewOf({ ...facets, reviewerRunId: fresh })];
    return head.is === 'duplicate' ? [reviewOf({ ...facets, state: 'duplicate', sameAs: head.of })] : [];
  });
  const liveRunId = start ? fresh : retire === null ? facts.liveRunId : null;
  return { ...facts, reviews: [...kept, ...created], liveRunId, repeat: 'once' };
}

/** What is so when the reviewer could not be ended: everything is meant, and nothing has happened. */
function leftUndone(facts: ReviewFacts, { heads, supersede, move }: ReviewPlan, round: number): ReviewFacts {
  const [obsolete, moving] = [supersede, move].map((reviews) => new Set(reviews.map(({ id }) => id)));
  const kept = facts.reviews.map((review): Review => {
    if (obsolete?.has(review.id) === true)
      return review.state === 'queued'
        ? { ...review, state: 'superseded' }
        : { ...review, intent: 'supersede', supersededBy: 'rev-x' };
    return moving?.has(review.id) === true ? { ...review, intent: 'move' } : review;
  });
  const created = heads.flatMap((head, index): Review[] => {
    const { pr: key, head: commit, tree: of } = head;
    const facets = { id: `rev-${round}-${index}`, pr: key, head: commit, tree: of };
    if (head.is === 'create') return [reviewOf({ ...facets, state: 'queued' })];
    return head.is === 'duplicate' ? [reviewOf({ ...facets, state: 'duplicate', sameAs: head.of })] : [];
  });
  return { ...facts, reviews: [...kept, ...created], repeat: 'once' };
}

const pr = fc.constantFrom('1', '2', '3');
const head = fc.constantFrom('a', 'b', 'c');
const tree = fc.constantFrom(null, 't', 'u');
const wantedHeads = fc
  .uniqueArray(fc.record({ pr, head, tree }), { selector: (each) => each.pr, minLength: 1 })
  .map((heads) => heads.map((each) => ({ ...each })));
const trigger = fc.record({
  wanted: wantedHeads,
  repeat: fc.constantFrom('once' as const, 'again' as const),
  /** What reviewers did before it: submit, die, or leave the trigger dead half-way. */
  before: fc.constantFrom('nothing', 'submitted', 'died', 'crashed'),
  /** Whether the reviewer that has to go can be ended. */
  canEnd: fc.boolean(),
});

describe('whatever is triggered in whatever order', () => {
  it('a running review is of the head last asked for, one reviewer has them all, and a second look does nothing', () => {
    fc.assert(
      fc.property(fc.array(trigger, { minLength: 1, maxLength: 8 }), (triggers) => {
        let facts: ReviewFacts = { wanted: [], reviews: [], liveRunId: null, repeat: 'once' };
        const asked = new Map<string, string>();
        for (const [round, { wanted, repeat, before, canEnd }] of triggers.entries()) {
          facts = { ...meanwhile(facts, before), wanted, repeat };
          for (const each of wanted) asked.set(each.pr, each.head);
          const made = planReviews(facts);
          // Nothing lives on beside a fresh one, and what is to be superseded never stays with its reviewer.
          if (made.start || made.supersede.some(({ state }) => state === 'running')) {
            expect(made.retire).toBe(facts.liveRunId);
          }
          if (made.retire !== null && !canEnd) {
            facts = leftUndone(facts, made, round);
            // Tried again, it is the same once more: nobody else is to be ended, and nothing is added.
            const again = planReviews({ ...facts, wanted });
            expect(again).toMatchObject({ supersede: [], move: [], retire: facts.liveRunId });
            expect(again.heads.some(({ is }) => is === 'create' || is === 'duplicate')).toBe(false);
            continue;
          }
          facts = carriedOut(facts, made, round);
          const open = facts.reviews.filter(isOpen);
          expect(open.every((review) => asked.get(review.pr) === review.head)).toBe(true);
          expect(new Set(open.map((review) => review.pr)).size).toBe(open.length);
          expect(open.every(({ reviewerRunId }) => reviewerRunId === facts.liveRunId)).toBe(true);
          expect(planReviews({ ...facts, wanted })).toMatchObject(NOTHING);
        }
      }),
      { numRuns: 1000 },
    );
  });

  it('time is no fact at all', () => {
    const reviews = [reviewOf({ pr: '1', head: 'a' })];
    const aged = reviews.map((review) => ({ ...review, createdAtMs: -1e15, startedAtMs: -1e15 }));
    const facts = { wanted: [want('1', 'a')], liveRunId: 'r-1' };
    expect(plan({ ...facts, reviews: aged })).toEqual(plan({ ...facts, reviews }));
  });
});

function meanwhile(facts: ReviewFacts, what: string): ReviewFacts {
  const change = (changes: (review: Review) => Partial<Review>) =>
    facts.reviews.map((review) => (isOpen(review) ? { ...review, ...changes(review) } : review));
  switch (what) {
    case 'submitted':
      return { ...facts, reviews: change(() => ({ state: 'submitted', verdict: 'approve' })) };
    case 'died':
      return { ...facts, reviews: change(() => ({ state: 'failed' })), liveRunId: null };
    case 'crashed':
      // Its reviewer was to move on, and is gone; its reviews wait.
      return { ...facts, reviews: change(() => ({ state: 'queued', reviewerRunId: null })), liveRunId: null };
    default:
      return facts;
  }
}
