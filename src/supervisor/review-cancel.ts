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
import { withReviewLock } from './review-lock.ts';
import { settleReviews } from './review-settle.ts';
import { viewReviews } from './review-view.ts';
import { endReviewer, liveReviewer, refuseInside } from './reviewer.ts';

export type CancelRequest = (
  | { readonly review: string }
  | { readonly worker: string; readonly pr?: string | undefined }
) & { readonly graceMs?: number | undefined };

export async function cancelReviews(context: Context, request: CancelRequest): Promise<CancelledView> {
  const named = 'review' in request ? (await reviewNamed(context, request.review)).review : null;
  const worker = named?.sessionId ?? ('worker' in request ? request.worker : '');
  const { session } = await resolveSession(context, worker);
  const isMeant = ({ id, pr }: Review) =>
    named === null ? !('pr' in request) || request.pr === undefined || request.pr === pr : id === named.id;
  return withReviewLock(context, session.id, async () => {
    await settleReviews(context, session.id);
    const standing = await standingOf(context, session);
    const meant = standing.filter(isMeant);
    if (named === null && 'pr' in request && request.pr !== undefined)
      await requireKnown(context, session, request.pr);
    const left = standing.filter((review) => review.state === 'running' && !meant.includes(review));
    const retired = await cancel(context, session, meant, {
      mayEnd: left.length === 0,
      graceMs: request.graceMs ?? DEFAULT_GRACE_MS,
    });
    const records = await context.store.reviews({ sessionId: session.id });
    const ids = new Set(meant.map(({ id }) => id));
    const cancelled = records.filter(({ review }) => ids.has(review.id) && review.state === 'cancelled');
    return { cancelled: await viewReviews(context, cancelled), retired };
  });
}

async function standingOf(context: Context, session: Session): Promise<readonly Review[]> {
  const open = await context.store.reviews({ sessionId: session.id, only: 'open' });
  return open.map(({ review }) => review).filter(isStanding);
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
  reviews: readonly Review[],
  { mayEnd, graceMs }: { mayEnd: boolean; graceMs: number },
): Promise<string | null> {
  if (reviews.length === 0) return null;
  const live = await liveReviewer(context, session);
  const isAtWork = live !== null && reviews.some(({ reviewerRunId }) => reviewerRunId === live.id);
  const run = isAtWork && mayEnd ? live : null;
  if (run !== null) refuseInside(context, run);
  const reason = `${context.actor} cancelled it`;
  const ids = reviews.map(({ id }) => id);
  const when = run === null ? 'now' : 'reviewer_over';
  await context.store.stepReviews(
    ids.map((id) => ({ id, step: { kind: 'cancel', reason, when } })),
    context.actor,
  );
  await checkpoint('review.planned');
  if (run === null) return null;
  await endOrKeep(context, run, ids, graceMs);
  await settleReviews(context, session.id);
  return run.id;
}

async function endOrKeep(
  context: Context,
  run: Parameters<typeof endReviewer>[1],
  ids: readonly string[],
  graceMs: number,
): Promise<void> {
  try {
    const reason = `${context.actor} cancelled its reviews`;
    await endReviewer(context, run, { outcome: 'stopped', reason }, graceMs);
  } catch (error) {
    const because = error instanceof Error ? error.message.replace(/\.$/, '') : String(error);
    await context.store.stepReviews(
      ids.map((id) => ({ id, step: { kind: 'withdraw', because } })),
      context.actor,
    );
    throw error;
  }
}
