/** Looking at reviews. Every look accounts for reviewers that are over by now. */
import { ReeveError } from '../api/errors.ts';
import type { ReviewDetailView, ReviewView } from '../api/http-views.ts';
import { isOpen } from '../lifecycle/review.ts';
import type { ReviewRecord } from '../store/store.ts';
import type { Context } from './context.ts';
import { resolveSession } from './resolve.ts';
import { settleReviews } from './review-settle.ts';
import { viewReviews } from './review-view.ts';

export interface ReviewRange {
  /** Only those of this worker. */
  readonly worker?: string | undefined;
  /** Every one there ever was, not only what is so now of each pull request. */
  readonly all?: boolean | undefined;
}

export async function listReviews(context: Context, range: ReviewRange = {}): Promise<readonly ReviewView[]> {
  const sessionId =
    range.worker === undefined ? undefined : (await resolveSession(context, range.worker)).session.id;
  await settleReviews(context, sessionId);
  const records = await context.store.reviews({ sessionId });
  return viewReviews(context, range.all === true ? records : latestOf(records));
}

/**
 * Of each pull request the latest review of the head that was last asked for; and whatever is open, also of an older
 * head: a reviewer that could not be ended is not to be overlooked.
 */
function latestOf(records: readonly ReviewRecord[]): readonly ReviewRecord[] {
  const latest = new Map<string, ReviewRecord>();
  for (const record of records) {
    if (record.isCurrent) latest.set(JSON.stringify([record.review.sessionId, record.review.pr]), record);
  }
  const shown = new Set(latest.values());
  return records.filter((record) => shown.has(record) || isOpen(record.review));
}

export async function showReview(context: Context, reference: string): Promise<ReviewDetailView> {
  const found = await reviewNamed(context, reference);
  await settleReviews(context, found.review.sessionId);
  const record = await reviewNamed(context, found.review.id);
  const { reviewerRunId } = record.review;
  const run = reviewerRunId === null ? null : await context.store.run(reviewerRunId);
  const [view] = await viewReviews(context, [record]);
  if (view === undefined) throw new Error('A review without a view.');
  const texts = await context.store.reviewTexts(record.review.id);
  return { ...view, ...texts, logPath: run?.logPath ?? null };
}

/** A review by its id, or by a unique beginning of it. */
export async function reviewNamed(context: Context, reference: string): Promise<ReviewRecord> {
  const matches = reference === '' ? [] : await context.store.reviews({ reference });
  const exact = matches.find(({ review }) => review.id === reference);
  const [first, ...others] = exact === undefined ? matches : [exact];
  if (first === undefined) {
    throw new ReeveError('not_found', `There is no review ${JSON.stringify(reference)}.`, {
      hint: '`reeve review ls --all` lists them.',
    });
  }
  if (others.length === 0) return first;
  throw new ReeveError('ambiguous', `${JSON.stringify(reference)} fits several reviews.`, {
    hint: 'Give more of the id.',
    details: { candidates: matches.map(({ review: { id, pr, head } }) => ({ id, pr, head })) },
  });
}
