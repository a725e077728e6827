/**
 * What a run wrote where nobody with the store could be asked: it is left for whoever ends the run, or looks before, and
 * is accepted, or refused, when that takes it in.
 */
import type { Verdict } from '../lifecycle/review.ts';
import type { Tokens } from '../lifecycle/usage.ts';

export interface Queued {
  readonly accepted: false;
  readonly queued: true;
}

export interface QueuedHeartbeat extends Queued {
  readonly run: string;
}

export interface QueuedSubmission extends Queued {
  /** It has no id before it is on record; by its key it is found there. */
  readonly key: string;
}

export interface QueuedUsage extends Queued, Tokens {
  readonly run: string;
  readonly model: string;
}

export interface QueuedReview extends Queued {
  readonly review: string;
  readonly verdict: Verdict;
}
