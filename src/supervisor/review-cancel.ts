/** Nobody wants these reviews any more. A reviewer that has nothing else to do is ended, and proven gone, first. */
import { ReeveError } from '../api/errors.ts';
import type { CancelledView } from '../api/http-views.ts';
import { isStanding } from '../lifecycle/review.ts';
import type { Review } from '../lifecycle/review.ts';
import type { Session } from '../lifecycle/session.ts';
import { checkpoint } from '../process/checkpoint.ts';
import type { Context } from './context.ts';
import { DEFAULT_GRACE_MS } from './launch.ts';
import { resolveSession } from './resolve.ts';
import { reviewNamed } from './review-list.ts';
import { lockTerms, withReviewLock } from './review-lock.ts';
import type { TriggerRequest } from './review-request.ts';
import { settleReviews } from './review-settle.ts';
import { viewReviews } from './review-view.ts';
import { endReviewer, liveReviewer, refuseInside } from './reviewer.ts';

export type CancelRequest = (
  | { readonly review: string }
  | { readonly worker: string; readonly pr?: string | undefined }
) &
  Pick<TriggerRequest, 'graceMs' | 'assumeGone'>;

export async function cancelReviews(context: Context, request: CancelRequest): Promise<CancelledView> {
  const named = 'review' in request ? (await reviewNamed(context, request.review)).review : null;
  const worker = named?.sessionId ?? ('worker' in request ? request.worker : '');
  const { session } = await resolveSession(context, worker);
  const isMeant = ({ id, pr }: Review) =>
    named === null ? !('pr' in request) || request.pr === undefined || request.pr === pr : id === named.id;
  return withReviewLock(context, session.id, lockTerms(request), async () => {
    await settleReviews(context, session.id);
    const open = (await context.store.reviews({ sessionId: session.id, only: 'open' })).map(
      ({ review }) => review,
    );
    if (named === null && 'pr' in request && request.pr !== undefined)
      await requireKnown(context, session, request.pr);
    const retired = await cancel(context, session, open, isMeant, request.graceMs ?? DEFAULT_GRACE_MS);
    const records = await context.store.reviews({ sessionId: session.id });
    const ids = new Set(open.filter(isMeant).map(({ id }) => id));
    const cancelled = records.filter(({ review }) => ids.has(review.id) && review.state === 'cancelled');
    return { cancelled: await viewReviews(context, cancelled), retired };
  });
}

async function requireKnown(context: Context, session: Session, pr: string): Promise<void> {
  const all = await context.store.reviews({ sessionId: session.id });
  if (all.some(({ review }) => review.pr === pr)) return;
  throw new ReeveError('not_found', `${session.name} has no review of pull request ${JSON.stringify(pr)}.`, {
    hint: `reeve review ls --worker ${session.name}`,
  });
}

/** The run that was ended; null when it has other reviews to do, or there is none. */
async function cancel(
  context: Context,
  session: Session,
  open: readonly Review[],
  isMeant: (review: Review) => boolean,
  graceMs: number,
): Promise<string | null> {
  const meant = open.filter(isMeant);
  if (meant.length === 0) return null;
  const live = await liveReviewer(context, session);
  const isLeft = open.some((review) => isStanding(review) && review.state === 'running' && !isMeant(review));
  // Also one that only has what it was to be ended for before, and could not be.
  const isAtWork = open.some(({ reviewerRunId }) => reviewerRunId !== null && reviewerRunId === live?.id);
  const run = isAtWork && !isLeft ? live : null;
  if (run !== null) refuseInside(context, run);
  const reason = `${context.actor} cancelled it`;
  const when = run === null ? 'now' : 'reviewer_over';
  await context.store.stepReviews(
    meant.map(({ id }) => ({ id, step: { kind: 'cancel', reason, when } })),
    context.actor,
  );
  await checkpoint('review.planned');
  if (run === null) return null;
  const why = `${context.actor} cancelled its reviews`;
  await endReviewer(context, run, { outcome: 'stopped', reason: why }, graceMs);
  await settleReviews(context, session.id);
  return run.id;
}
