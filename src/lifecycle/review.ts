/**
 * The review of one head of one pull request of one worker session, and its life.
 *
 *   queued --bind--> running --submit--> submitted
 *     ^                 |
 *     |                 +--leave: its reviewer is proven over--> failed, or what was intended:
 *     +-------------------- move ------------------------------- queued again, for a fresh reviewer; so also
 *                                                                when that run never executed
 *                                                                superseded, cancelled
 *   queued --intend supersede or cancel--> superseded, cancelled: nobody was at it
 *   queued --fail--> failed: no reviewer could be started
 *   duplicate: a head with the same tree as one that was reviewed. It is born so, and has that one's verdict.
 *
 * A running review is only ever superseded or failed after its reviewer is over: `intend` puts on record what is to
 * become of it, and `leave`, once the reviewer is proven gone, makes it so. So a row that says `superseded` has no living
 * reviewer. When the reviewer cannot be ended, the intent stays, for whenever it is gone; and what waits for that moment
 * stays queued, with the reason on record (`wait`).
 *
 * Three separate facts: freshness (is its head the one last asked for), state, and outcome (the verdict). Time is none of
 * them. Every step is decided here, and carried out by the store as one conditional write together with its event.
 */
export const VERDICTS = ['approve', 'changes', 'comment'] as const;
export type Verdict = (typeof VERDICTS)[number];

type ReviewState = 'queued' | 'running' | 'submitted' | 'superseded' | 'cancelled' | 'failed' | 'duplicate';

type ReviewIntent = 'supersede' | 'move' | 'cancel';

export interface Review {
  readonly id: string;
  /** The worker whose pull request it is. */
  readonly sessionId: string;
  readonly pr: string;
  readonly head: string;
  /** Null where no repository told. */
  readonly tree: string | null;
  readonly state: ReviewState;
  /** What becomes of it once its reviewer is over. */
  readonly intent: ReviewIntent | null;
  readonly supersededBy: string | null;
  /** Of a duplicate: the review whose verdict it has. */
  readonly sameAs: string | null;
  readonly reviewerRunId: string | null;
  readonly verdict: Verdict | null;
  readonly reason: string | null;
  readonly createdAtMs: number;
  readonly startedAtMs: number | null;
  readonly endedAtMs: number | null;
}

export type ReviewStep =
  /** A run of the reviewer has been claimed for it, and has not begun to execute. */
  | { readonly kind: 'bind'; readonly runId: string }
  | { readonly kind: 'supersede'; readonly by: string }
  | { readonly kind: 'move' }
  /** At once where its reviewer goes on with others: what that submits about this one will be refused. */
  | { readonly kind: 'cancel'; readonly reason: string; readonly when: 'now' | 'reviewer_over' }
  /** Nobody can begin with it yet. */
  | { readonly kind: 'wait'; readonly because: string }
  /** The run that had it is proven over, or never executed; `how` tells it as the end of a sentence. */
  | {
      readonly kind: 'leave';
      readonly runId: string;
      readonly was: 'executed' | 'never_started';
      readonly how: string;
    }
  | { readonly kind: 'fail'; readonly reason: string }
  | { readonly kind: 'submit'; readonly verdict: Verdict };

export interface ReviewEvent {
  readonly kind: `review.${string}`;
  readonly data: Readonly<Record<string, unknown>>;
}

export type ReviewStepResult =
  | { readonly taken: true; readonly review: Review; readonly event: ReviewEvent }
  | { readonly taken: false };

const REFUSED: ReviewStepResult = { taken: false };

/** Not over: somebody is at it, or is to be. */
export function isOpen({ state }: Review): boolean {
  return state === 'queued' || state === 'running';
}

/** Open, and meant to stay so: at most one a pull request, as the database enforces. */
export function isStanding(review: Review): boolean {
  return isOpen(review) && (review.intent === null || review.intent === 'move');
}

export function takeReviewStep(review: Review, step: ReviewStep, atMs: number): ReviewStepResult {
  if (!isOpen(review)) return REFUSED;
  switch (step.kind) {
    case 'bind':
      return bind(review, step.runId, atMs);
    case 'supersede':
    case 'move':
    case 'cancel':
      return intend(review, step, atMs);
    case 'wait':
      if (review.state !== 'queued' || review.reason === step.because) return REFUSED;
      return taken({ ...review, reason: step.because }, 'waits', { because: step.because });
    case 'leave':
      return leave(review, step, atMs);
    case 'fail':
      return review.state === 'queued'
        ? taken(over(review, 'failed', step.reason, atMs), 'failed', { reason: step.reason })
        : REFUSED;
    case 'submit':
      return submit(review, step.verdict, atMs);
  }
}

function bind(review: Review, runId: string, atMs: number): ReviewStepResult {
  if (review.state !== 'queued') return REFUSED;
  const bound: Review = {
    ...review,
    state: 'running',
    reviewerRunId: runId,
    startedAtMs: atMs,
    reason: null,
  };
  return taken(bound, 'started', { run: runId });
}

function intend(
  review: Review,
  step: Extract<ReviewStep, { kind: 'supersede' | 'move' | 'cancel' }>,
  atMs: number,
): ReviewStepResult {
  if (!isStanding(review) || review.intent === step.kind) return REFUSED;
  const meant: Review = {
    ...review,
    intent: step.kind,
    supersededBy: step.kind === 'supersede' ? step.by : null,
    reason: step.kind === 'cancel' ? step.reason : null,
  };
  const isNow = step.kind === 'cancel' && step.when === 'now';
  if (review.state === 'running' && !isNow) {
    return taken(meant, 'intended', { intent: step.kind, by: meant.supersededBy, run: review.reviewerRunId });
  }
  return step.kind === 'move' ? REFUSED : concluded(meant, atMs);
}

function leave(
  review: Review,
  { runId, was, how }: Extract<ReviewStep, { kind: 'leave' }>,
  atMs: number,
): ReviewStepResult {
  if (review.state !== 'running' || review.reviewerRunId !== runId) return REFUSED;
  // Of one that never executed nothing was asked yet: whoever started it fails the review, or died and cannot.
  if (review.intent === 'move' || (review.intent === null && was === 'never_started')) {
    const queued: Review = {
      ...review,
      state: 'queued',
      intent: null,
      reviewerRunId: null,
      startedAtMs: null,
    };
    return taken(queued, 'requeued', { run: runId });
  }
  if (review.intent !== null) return concluded(review, atMs);
  const reason = `its reviewer ended without submitting it: ${how}`;
  return taken(over(review, 'failed', reason, atMs), 'failed', { reason, run: runId });
}

/** What was intended is so. */
function concluded(review: Review, atMs: number): ReviewStepResult {
  if (review.intent === 'cancel') {
    return taken(over(review, 'cancelled', review.reason, atMs), 'cancelled', { run: review.reviewerRunId });
  }
  return taken(over(review, 'superseded', null, atMs), 'superseded', {
    by: review.supersededBy,
    run: review.reviewerRunId,
  });
}

/** Also while its reviewer is being ended for the sake of others: it is done, and will not be done again. */
function submit(review: Review, verdict: Verdict, atMs: number): ReviewStepResult {
  if (review.state !== 'running' || !isStanding(review)) return REFUSED;
  return taken({ ...over(review, 'submitted', null, atMs), verdict }, 'submitted', {
    verdict,
    run: review.reviewerRunId,
  });
}

function over(review: Review, state: ReviewState, reason: string | null, atMs: number): Review {
  return { ...review, state, intent: null, reason, endedAtMs: atMs };
}

function taken(review: Review, what: string, data: ReviewEvent['data']): ReviewStepResult {
  const { id, pr, head } = review;
  return { taken: true, review, event: { kind: `review.${what}`, data: { review: id, pr, head, ...data } } };
}

export const REVIEW_STATUSES = [
  'needs-review',
  'running',
  'up-to-date',
  'changes-requested',
  'superseded',
  'cancelled',
  'failed',
] as const;
export type ReviewStatus = (typeof REVIEW_STATUSES)[number];

/** What is shown. A verdict about a head that is no longer the one asked for stands, but is up to date no more. */
export function reviewStatus({ state, verdict }: Review, isCurrent: boolean): ReviewStatus {
  switch (state) {
    case 'queued':
      return 'needs-review';
    case 'submitted':
    case 'duplicate':
      if (!isCurrent) return 'superseded';
      return verdict === 'changes' ? 'changes-requested' : 'up-to-date';
    case 'running':
    case 'superseded':
    case 'cancelled':
    case 'failed':
      return state;
  }
}

/**
 * Why a review is not what it was meant to be, as the end of a sentence; null when there is nothing to explain. `alive` says
 * why its reviewer, which was to end, is not known to be over: null for one that nobody has failed to end.
 */
export function explainOpen(review: Review, alive: string | null): string | null {
  if (review.state !== 'running' || review.intent === null) return review.reason;
  const meant = {
    supersede: `to be superseded by ${review.supersededBy ?? 'a newer head'}`,
    move: 'to go to a fresh reviewer',
    cancel: `to be cancelled (${review.reason ?? 'no reason is on record'})`,
  }[review.intent];
  const until = `${meant} once its reviewer, run ${review.reviewerRunId ?? 'unknown'}, is gone`;
  return alive === null ? until : `${until}; that could not be ended: ${alive}`;
}
