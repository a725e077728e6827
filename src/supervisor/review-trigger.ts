/**
 * A trigger: these heads are to be reviewed. A saga, each step durable before its effect:
 *   all that can be checked → lock → the same → plan, with what is to become of older reviews → reviewer ended, proven gone → older ones superseded
 *        → one fresh reviewer claimed → its reviews running, its queue written → executing → lock given back.
 * Nothing is ever sent to a reviewer that lives: it ends, or it is left alone. Whoever dies in the middle leaves records
 * that are true, and from which the next trigger goes on: what was to be superseded still is, what waits still waits.
 */
import { ReeveError } from '../api/errors.ts';
import type { ReviewView, TriggeredView, TriggerView } from '../api/http-views.ts';
import { planReviews } from '../lifecycle/review-plan.ts';
import type { HeadPlan, ReviewPlan } from '../lifecycle/review-plan.ts';
import type { ReviewStep } from '../lifecycle/review.ts';
import type { LiveRun } from '../lifecycle/run.ts';
import type { Session } from '../lifecycle/session.ts';
import { checkpoint } from '../process/checkpoint.ts';
import type { ReviewPlanWrite, ReviewStepOf } from '../store/store.ts';
import type { Context } from './context.ts';
import { DEFAULT_GRACE_MS } from './launch.ts';
import { newId } from './new-id.ts';
import { resolveSession } from './resolve.ts';
import { requireProgram } from './require-program.ts';
import { lockTerms, withReviewLock } from './review-lock.ts';
import { checkRequest, reviewerCommand, wantedHeads } from './review-request.ts';
import type { TriggerRequest } from './review-request.ts';
import { settleReviews } from './review-settle.ts';
import { viewReviews } from './review-view.ts';
import { reviewerName } from './reviewer-name.ts';
import {
  checkReviewer,
  endReviewer,
  liveReviewer,
  refuseInside,
  requireReviewer,
  startReviewer,
} from './reviewer.ts';
import type { ReviewerOrder } from './reviewer.ts';

/** All about a trigger that does not depend on its heads. Throws what one would be refused for. */
export async function checkTrigger(
  context: Context,
  request: Omit<TriggerRequest, 'pullRequests'>,
): Promise<void> {
  const { order } = await readOrder(context, request);
  try {
    await checkReviewer(context, order);
  } catch (error) {
    // There may be more to spend by the time that there is something to review.
    if (!(error instanceof ReeveError) || error.code !== 'over_budget') throw error;
  }
}

async function readOrder(
  context: Context,
  request: Omit<TriggerRequest, 'pullRequests'>,
): Promise<{ session: Session; order: ReviewerOrder }> {
  const { session } = await resolveSession(context, request.worker);
  const command = reviewerCommand(context, request);
  return { session, order: { worker: session, command, cwd: request.cwd } };
}

export async function triggerReviews(context: Context, request: TriggerRequest): Promise<TriggerView> {
  const { session, order } = await readOrder(context, request);
  checkRequest(request);
  const { command, cwd = session.cwd } = order;
  if (command.is === 'command') requireProgram(context, command.argv[0] ?? '', cwd);
  await checkpoint('review.checked');
  // The repository is asked meanwhile; what is the matter with that is told to whoever waits for it.
  const wanting = wantedHeads(context, request, session);
  wanting.catch(() => {});
  return withReviewLock(context, session.id, lockTerms(request), async (lockToken) => {
    await checkpoint('review.locked');
    await settleReviews(context, session.id);
    const live = await liveReviewer(context, session);
    const reviews = (await context.store.reviews({ sessionId: session.id })).map(({ review }) => review);
    const plan = planReviews({
      wanted: await wanting,
      reviews,
      liveRunId: live?.id ?? null,
      repeat: request.again === true ? 'again' : 'once',
    });
    if (plan.retire !== null && live !== null) {
      refuseInside(context, live);
      requireReviewer(session, live, reviews);
    }
    // Also what was in order when this began to wait for another trigger.
    if (plan.start) await checkReviewer(context, order);
    const planned = namedPlan(plan);
    await writePlan(context, session, lockToken, planned);
    if (plan.retire !== null && live !== null) {
      await retire(context, session, live, plan, request.graceMs ?? DEFAULT_GRACE_MS);
    }
    const started = plan.start ? await start(context, session, () => startReviewer(context, order)) : null;
    const run = started ?? (plan.retire === null ? live : null);
    return answer(context, session, planned, { started: started?.id ?? null, run: run?.id ?? null });
  });
}

/** A plan whose reviews have their ids, those to be written included. */
interface Planned {
  readonly plan: ReviewPlan;
  readonly heads: readonly (HeadPlan & { readonly id: string })[];
}

function namedPlan(plan: ReviewPlan): Planned {
  const heads = plan.heads.map((head) => ({ ...head, id: 'review' in head ? head.review : newId('rev') }));
  return { plan, heads };
}

async function writePlan(
  context: Context,
  session: Session,
  lockToken: string,
  { plan, heads }: Planned,
): Promise<void> {
  const created = heads.flatMap((head): ReviewPlanWrite['created'] => {
    const { id, pr, head: commit, tree } = head;
    const wanted = { id, pr, head: commit, tree };
    if (head.is === 'create') return [{ ...wanted, state: 'queued' }];
    return head.is === 'duplicate'
      ? [{ ...wanted, state: 'duplicate', sameAs: head.of, verdict: head.verdict }]
      : [];
  });
  const by = new Map(heads.map(({ pr, id }) => [pr, id]));
  const steps: ReviewStepOf[] = [
    ...plan.supersede.map(({ id, pr }) => ({
      id,
      step: { kind: 'supersede', by: by.get(pr) ?? '' } as const,
    })),
    ...plan.move.map(({ id }) => ({ id, step: { kind: 'move' } as const })),
  ];
  const { actor } = context;
  // Nobody is signalled, and nothing starts, before another write is durable: the intent about the run, or the claim.
  const durability = plan.retire !== null || plan.start ? 'with_next' : 'now';
  const isWritten = await context.store.writeReviewPlan(
    { sessionId: session.id, lockToken, actor, heads: plan.heads, created, steps },
    durability,
  );
  if (!isWritten) {
    throw new ReeveError('busy', 'Another trigger took over these reviews, taking this one for dead.', {
      hint: 'Nothing was changed. Try again.',
    });
  }
  await checkpoint('review.planned');
}

/**
 * Only when it is proven gone are the older reviews superseded. Until then they are meant to be, the new ones wait, and the
 * next trigger goes on from there.
 */
async function retire(
  context: Context,
  session: Session,
  live: LiveRun,
  plan: ReviewPlan,
  graceMs: number,
): Promise<void> {
  const reason = `${context.actor} triggered reviews of ${plan.heads.map(({ pr, head }) => `${pr} at ${head}`).join(', ')}`;
  try {
    await endReviewer(context, live, { outcome: 'superseded', reason }, graceMs);
  } catch (error) {
    await stepQueued(context, session, { kind: 'wait', because: messageOf(error) });
    throw error;
  }
  await checkpoint('review.retired');
  await settleReviews(context, session.id);
  await checkpoint('review.settled');
}

/** When no reviewer can be started, nobody is at what waits for it, and that is what the record then says. */
async function start<T>(context: Context, session: Session, begin: () => Promise<T>): Promise<T> {
  try {
    const started = await begin();
    await checkpoint('review.started');
    return started;
  } catch (error) {
    await settleReviews(context, session.id);
    const reason = `no reviewer could be started: ${messageOf(error)}`;
    await stepQueued(context, session, { kind: 'fail', reason });
    throw error;
  }
}

async function stepQueued(context: Context, session: Session, step: ReviewStep): Promise<void> {
  const open = await context.store.reviews({ sessionId: session.id, only: 'open' });
  const queued = open.filter(({ review }) => review.state === 'queued');
  await context.store.stepReviews(
    queued.map(({ review }) => ({ id: review.id, step })),
    context.actor,
  );
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\.$/, '');
}

const WORDS: Readonly<Record<HeadPlan['is'], TriggeredView['is']>> = {
  reuse: 'reused',
  up_to_date: 'up-to-date',
  duplicate: 'duplicate',
  create: 'created',
};

async function answer(
  context: Context,
  session: Session,
  { plan, heads }: Planned,
  { started, run }: { started: string | null; run: string | null },
): Promise<TriggerView> {
  const told = new Set([
    ...heads.flatMap((head) => (head.is === 'duplicate' ? [head.id, head.of] : [head.id])),
    ...plan.supersede.map(({ id }) => id),
  ]);
  const records = await context.store.reviews({ sessionId: session.id });
  const views = await viewReviews(
    context,
    records.filter(({ review }) => told.has(review.id)),
  );
  const view = new Map(views.map((each) => [each.id, each]));
  const seen = (id: string): ReviewView[] => [view.get(id)].filter((each) => each !== undefined);
  const pullRequests = heads.flatMap((head): TriggeredView[] => {
    const savedTokens = head.is === 'duplicate' ? (view.get(head.of)?.tokens ?? null) : null;
    return seen(head.id).map((review) => ({ is: WORDS[head.is], review, savedTokens }));
  });
  return {
    worker: session.name,
    reviewer: run === null ? null : { session: reviewerName(session), run },
    isStarted: started !== null,
    retired: plan.retire,
    pullRequests,
    superseded: plan.supersede.flatMap(({ id }) => seen(id)),
  };
}
