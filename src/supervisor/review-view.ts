import type { ReviewView } from '../api/http-views.ts';
import { reviewStatus } from '../lifecycle/review.ts';
import { totalOf } from '../lifecycle/usage.ts';
import type { ReviewRecord } from '../store/store.ts';
import type { Context } from './context.ts';
import { reviewerName } from './reviewer-name.ts';
import { isoTime } from './view.ts';

/** With what their reviewers have spent. */
export async function viewReviews(
  context: Context,
  records: readonly ReviewRecord[],
): Promise<readonly ReviewView[]> {
  const ids = new Set(records.flatMap(({ review }) => review.reviewerRunId ?? []));
  const runs = await context.store.runsWithSession([...ids]);
  const spent = await context.store.usageOfRuns(runs.map(({ run }) => run));
  return records.map((record) => {
    const sums = spent.get(record.review.reviewerRunId ?? '');
    return viewReview(record, sums === undefined ? null : totalOf(sums));
  });
}

function viewReview({ review, worker, isCurrent }: ReviewRecord, tokens: number | null): ReviewView {
  const { id, sessionId, pr, head, tree, verdict, reviewerRunId, supersededBy, sameAs } = review;
  const session = reviewerName({ name: worker, id: sessionId });
  return {
    id,
    worker,
    workerId: sessionId,
    pr,
    head,
    tree,
    status: reviewStatus(review, isCurrent),
    verdict,
    reason: sameAs === null ? review.reason : `its tree is that of review ${sameAs}, whose verdict it has`,
    reviewer: reviewerRunId === null ? null : { session, run: reviewerRunId },
    tokens,
    createdAt: isoTime(review.createdAtMs),
    startedAt: review.startedAtMs === null ? null : isoTime(review.startedAtMs),
    endedAt: review.endedAtMs === null ? null : isoTime(review.endedAtMs),
    supersededBy,
    isCurrent,
  };
}
