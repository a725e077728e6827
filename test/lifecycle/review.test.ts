import { describe, expect, it } from 'vitest';
import { explainOpen, isOpen, isStanding, reviewStatus, takeReviewStep } from '../../src/lifecycle/review.ts';
import type { Review, ReviewStep } from '../../src/lifecycle/review.ts';
import { reviewOf } from './review-samples.ts';

const INTENTS = [null, 'supersede', 'move', 'cancel'] as const;
const OVER = ['submitted', 'superseded', 'cancelled', 'failed', 'duplicate'] as const;

const STEPS = {
  bind: { kind: 'bind', runId: 'r-2' },
  supersede: { kind: 'supersede', by: 'rev-2' },
  move: { kind: 'move' },
  cancel: { kind: 'cancel', reason: 'ada cancelled it', when: 'reviewer_over' },
  'cancel now': { kind: 'cancel', reason: 'ada cancelled it', when: 'now' },
  wait: { kind: 'wait', because: 'its reviewer lives' },
  leave: { kind: 'leave', runId: 'r-1', was: 'executed', how: 'run r-1 ended as failed' },
  'leave before it executed': { kind: 'leave', runId: 'r-1', was: 'never_started', how: 'it did not start' },
  'leave of another run': { kind: 'leave', runId: 'r-9', was: 'executed', how: 'run r-9 ended' },
  fail: { kind: 'fail', reason: 'no reviewer could be started' },
  submit: { kind: 'submit', verdict: 'changes' },
} as const satisfies Record<string, ReviewStep>;

/** For each open state, with its intent: what every step makes of it; what is not named is refused. */
const TAKEN: Readonly<Record<string, Partial<Record<keyof typeof STEPS, string>>>> = {
  'queued, null': {
    bind: 'running, null',
    supersede: 'superseded, null',
    cancel: 'cancelled, null',
    'cancel now': 'cancelled, null',
    wait: 'queued, null',
    fail: 'failed, null',
  },
  'running, null': {
    supersede: 'running, supersede',
    move: 'running, move',
    cancel: 'running, cancel',
    'cancel now': 'cancelled, null',
    leave: 'failed, null',
    'leave before it executed': 'queued, null',
    submit: 'submitted, null',
  },
  'running, supersede': {
    leave: 'superseded, null',
    'leave before it executed': 'superseded, null',
  },
  'running, move': {
    supersede: 'running, supersede',
    cancel: 'running, cancel',
    'cancel now': 'cancelled, null',
    leave: 'queued, null',
    'leave before it executed': 'queued, null',
    submit: 'submitted, null',
  },
  'running, cancel': {
    leave: 'cancelled, null',
    'leave before it executed': 'cancelled, null',
  },
};

function stateOf({ state, intent }: Review): string {
  return `${state}, ${intent}`;
}

describe.each(Object.entries(TAKEN))('a review that is %s', (name, taken) => {
  const [state, intent] = name.split(', ') as ['queued' | 'running', string];
  const review = reviewOf({
    state,
    intent: intent === 'null' ? null : (intent as Review['intent']),
    supersededBy: intent === 'supersede' ? 'rev-0' : null,
  });
  // The keys are those of the table.
  it.each(Object.keys(STEPS) as (keyof typeof STEPS)[])('by %s', (step) => {
    const result = takeReviewStep(review, STEPS[step], 9);
    expect(result.taken ? stateOf(result.review) : undefined).toBe(taken[step]);
  });
});

describe('a review', () => {
  it.each(OVER)('that is %s stays so, whatever is done', (state) => {
    for (const step of Object.values(STEPS)) {
      expect(takeReviewStep(reviewOf({ state }), step, 9)).toEqual({ taken: false });
    }
  });

  it('never leaves a living reviewer behind by being superseded: only a proven end makes it so', () => {
    for (const step of Object.values(STEPS)) {
      const result = takeReviewStep(reviewOf(), step, 9);
      if (result.taken && step.kind !== 'leave') expect(result.review.state).not.toBe('superseded');
    }
  });

  it('tells what has become of it, by whom, and when', () => {
    expect(takeReviewStep(reviewOf({ state: 'queued' }), STEPS.bind, 9)).toEqual({
      taken: true,
      review: reviewOf({ reviewerRunId: 'r-2', startedAtMs: 9 }),
      event: { kind: 'review.started', data: { review: 'rev-1', pr: '17', head: 'aaaa', run: 'r-2' } },
    });
    expect(takeReviewStep(reviewOf(), STEPS.submit, 9)).toEqual({
      taken: true,
      review: reviewOf({
        state: 'submitted',
        reviewerRunId: 'r-1',
        startedAtMs: 2,
        verdict: 'changes',
        endedAtMs: 9,
      }),
      event: {
        kind: 'review.submitted',
        data: { review: 'rev-1', pr: '17', head: 'aaaa', verdict: 'changes', run: 'r-1' },
      },
    });
  });

  it('that is given up keeps who had it, and why', () => {
    const superseded = takeReviewStep(
      reviewOf({ intent: 'supersede', supersededBy: 'rev-2' }),
      STEPS.leave,
      9,
    );
    expect(superseded).toMatchObject({
      review: {
        state: 'superseded',
        supersededBy: 'rev-2',
        reviewerRunId: 'r-1',
        endedAtMs: 9,
        reason: null,
      },
      event: { kind: 'review.superseded', data: { by: 'rev-2', run: 'r-1' } },
    });
    const cancelled = takeReviewStep(
      reviewOf({ intent: 'cancel', reason: 'ada cancelled it' }),
      STEPS.leave,
      9,
    );
    expect(cancelled).toMatchObject({
      review: { state: 'cancelled', reason: 'ada cancelled it', endedAtMs: 9 },
    });
    expect(takeReviewStep(reviewOf(), STEPS.leave, 9)).toMatchObject({
      review: {
        state: 'failed',
        reason: 'its reviewer ended without submitting it: run r-1 ended as failed',
        endedAtMs: 9,
      },
    });
  });

  it('that moves to a fresh reviewer has none until that is there', () => {
    expect(takeReviewStep(reviewOf({ intent: 'move' }), STEPS.leave, 9)).toMatchObject({
      review: reviewOf({ state: 'queued', intent: null }),
    });
  });

  it('that waits says why, once, and no longer when somebody begins with it', () => {
    const queued = reviewOf({ state: 'queued' });
    const waits = takeReviewStep(queued, STEPS.wait, 9);
    expect(waits).toMatchObject({ review: { ...queued, reason: 'its reviewer lives' } });
    if (!waits.taken) throw new Error('It was refused.');
    expect(takeReviewStep(waits.review, STEPS.wait, 10)).toEqual({ taken: false });
    expect(takeReviewStep(waits.review, STEPS.bind, 10)).toMatchObject({ review: { reason: null } });
    expect(takeReviewStep(waits.review, STEPS.supersede, 10)).toMatchObject({ review: { reason: null } });
  });

  it('whose reviewer could not be ended is what was meant for it as soon as that is over', () => {
    for (const [step, state] of [
      [STEPS.supersede, 'superseded'],
      [STEPS.cancel, 'cancelled'],
      [STEPS.move, 'queued'],
    ] as const) {
      const meant = takeReviewStep(reviewOf(), step, 9);
      const left = meant.taken ? takeReviewStep(meant.review, STEPS.leave, 10) : meant;
      expect(left).toMatchObject({ taken: true, review: { state } });
    }
  });

  it('stands while it is open and nobody means it to end', () => {
    for (const state of ['queued', 'running', ...OVER] as const) {
      for (const intent of INTENTS) {
        const review = reviewOf({ state, intent });
        const open = state === 'queued' || state === 'running';
        expect([isOpen(review), isStanding(review)]).toEqual([
          open,
          open && (intent === null || intent === 'move'),
        ]);
      }
    }
  });
});

describe('the status', () => {
  it.each([
    ['queued', null, 'needs-review', 'needs-review'],
    ['running', null, 'running', 'running'],
    ['submitted', 'approve', 'up-to-date', 'superseded'],
    ['submitted', 'comment', 'up-to-date', 'superseded'],
    ['submitted', 'changes', 'changes-requested', 'superseded'],
    ['duplicate', 'approve', 'up-to-date', 'superseded'],
    ['duplicate', 'changes', 'changes-requested', 'superseded'],
    ['superseded', null, 'superseded', 'superseded'],
    ['cancelled', null, 'cancelled', 'cancelled'],
    ['failed', null, 'failed', 'failed'],
  ] as const)(
    'of %s (%s) is %s, and %s for a head that is no longer asked for',
    (state, verdict, now, then) => {
      const review = reviewOf({ state, verdict });
      expect([reviewStatus(review, true), reviewStatus(review, false)]).toEqual([now, then]);
    },
  );
});

describe('the reason', () => {
  it.each([
    [
      { intent: 'supersede', supersededBy: 'rev-2' },
      'to be superseded by rev-2 once its reviewer, run r-1, is gone',
    ],
    [{ intent: 'move' }, 'to go to a fresh reviewer once its reviewer, run r-1, is gone'],
    [
      { intent: 'cancel', reason: 'ada cancelled it' },
      'to be cancelled (ada cancelled it) once its reviewer, run r-1, is gone',
    ],
  ] as const)(
    'of one that runs with %j says what it waits for, and why that is not so yet',
    (changes, says) => {
      expect(explainOpen(reviewOf(changes), null)).toBe(says);
      expect(explainOpen(reviewOf(changes), 'pid 7 lives')).toBe(
        `${says}; that could not be ended: pid 7 lives`,
      );
    },
  );

  it.each([
    [{ state: 'running' }, null],
    [{ state: 'queued', reason: 'nobody can' }, 'nobody can'],
    [{ state: 'failed', reason: 'it died' }, 'it died'],
    [{ state: 'superseded', supersededBy: 'rev-2' }, null],
  ] as const)('of %j is the one on record', (changes, reason) => {
    expect(explainOpen(reviewOf(changes), 'pid 7 lives')).toBe(reason);
  });
});
