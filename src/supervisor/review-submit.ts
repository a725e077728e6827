/** What a reviewer found. Accepted from the run that has the review, while that is running and its head the current one. */
import { ReeveError } from '../api/errors.ts';
import type { SubmittedView } from '../api/http-views.ts';
import type { Verdict } from '../lifecycle/review.ts';
import type { Context } from './context.ts';
import { credentialsFrom } from './run-credentials.ts';
import type { RunCredentials } from './run-credentials.ts';
import { MAX_REVIEW_BYTES } from './review-limits.ts';
import { reviewNamed } from './review-list.ts';
import { settleReviews } from './review-settle.ts';
import { viewReviews } from './review-view.ts';

export interface ReviewSubmitRequest {
  /** The review's id, or a unique beginning of it. */
  readonly review: string;
  readonly verdict: Verdict;
  readonly body: string;
}

/** Inside a run the credentials are in the environment. */
export async function submitReview(
  context: Context,
  request: ReviewSubmitRequest,
  given?: RunCredentials,
): Promise<SubmittedView> {
  const holder = given ?? credentialsFrom(context);
  checkReview(request);
  const { review } = await reviewNamed(context, request.review);
  await settleReviews(context, review.sessionId);
  const is = await recordReview(context, review.id, request, holder);
  const [view] = await viewReviews(context, [await reviewNamed(context, review.id)]);
  if (view === undefined) throw new Error('A review without a view.');
  return { accepted: true, again: is === 'again', review: view };
}

export async function recordReview(
  context: Context,
  id: string,
  { verdict, body }: Pick<ReviewSubmitRequest, 'verdict' | 'body'>,
  { run: runId, token, isStillLeft }: RunCredentials,
): Promise<'accepted' | 'again'> {
  const result = await context.store.submitReview({
    id,
    runId,
    token,
    verdict,
    // PostgreSQL stores no NUL.
    body: body.replaceAll('\0', '\u{FFFD}'),
    isStillLeft,
  });
  if (result.is === 'refused') throw await refused(context, id, runId, result);
  return result.is;
}

/** What can be said of it without the store. */
export function checkReview({ body }: ReviewSubmitRequest): void {
  if (Buffer.byteLength(body) <= MAX_REVIEW_BYTES) return;
  throw new ReeveError('too_large', `A review may have ${MAX_REVIEW_BYTES} bytes, and this one has more.`, {
    hint: 'Nothing was submitted. Leave out what is not about the change.',
  });
}

async function refused(
  context: Context,
  id: string,
  run: string,
  { because, isKept }: { because: string; isKept: boolean },
): Promise<ReeveError> {
  // Only counted: that it cannot be changes nothing about the answer.
  await context.store.count('writes_fenced').catch(() => {});
  return new ReeveError('fenced', `The submission of review ${id} by run ${run} was refused: ${because}.`, {
    hint: isKept
      ? `It was put aside, and nothing else was changed: reeve review show ${id}`
      : 'Nothing was changed.',
    details: { review: id, run, because, isKept },
  });
}
