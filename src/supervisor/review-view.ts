import type { ReviewView } from '../api/http-views.ts';
import { explainOpen, reviewStatus } from '../lifecycle/review.ts';
import type { Run } from '../lifecycle/run.ts';
import { totalOf } from '../lifecycle/usage.ts';
import type { ReviewRecord } from '../store/store.ts';
import type { Context } from './context.ts';
import { probeRun } from './liveness.ts';
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
  const runOf = new Map(runs.map(({ run }) => [run.id, run]));
  return records.map((record) => {
    const runId = record.review.reviewerRunId ?? '';
    const sums = spent.get(runId);
    const why = explainOpen(record.review, whyAlive(context, runOf.get(runId)));
    return viewReview(record, why, sums === undefined ? null : totalOf(sums));
  });
}

/** Why a reviewer that is not over could not be ended, as far as anybody has tried, or can tell from here. */
function whyAlive(context: Context, run: Run | undefined): string | null {
  if (run === undefined || run.state === 'ended') return null;
  if (run.intent?.failed !== undefined) return run.intent.failed;
  const liveness = probeRun(context, run);
  return liveness.is === 'unknown' ? liveness.because : null;
}

function viewReview(
  { review, worker, isCurrent }: ReviewRecord,
  why: string | null,
  tokens: number | null,
): ReviewView {
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
    reason: sameAs === null ? why : `its tree is that of review ${sameAs}, whose verdict it has`,
    reviewer: reviewerRunId === null ? null : { session, run: reviewerRunId },
    tokens,
    createdAt: isoTime(review.createdAtMs),
    startedAt: review.startedAtMs === null ? null : isoTime(review.startedAtMs),
    endedAt: review.endedAtMs === null ? null : isoTime(review.endedAtMs),
    supersededBy,
    isCurrent,
  };
}
