/** Brings what the record says of open reviews in line with their reviewers: on every look, by whoever looks. */
import type { ReviewStep } from '../lifecycle/review.ts';
import type { Run } from '../lifecycle/run.ts';
import type { ReviewStepOf, SessionWithRun } from '../store/store.ts';
import type { Context } from './context.ts';
import { reconcileAll } from './reconcile.ts';

/** Of one worker, or of all. The number of those that changed. */
export async function settleReviews(context: Context, sessionId?: string): Promise<number> {
  const open = await context.store.reviews({ sessionId, only: 'open' });
  const running = open.flatMap(({ review }) =>
    review.reviewerRunId === null ? [] : [{ id: review.id, runId: review.reviewerRunId }],
  );
  if (running.length === 0) return 0;
  const ends = await endsOf(context, [...new Set(running.map(({ runId }) => runId))]);
  const steps = running.flatMap(({ id, runId }): ReviewStepOf[] => {
    const end = ends.get(runId);
    return end === undefined ? [] : [{ id, step: { kind: 'leave', runId, ...end } }];
  });
  if (steps.length === 0 || !(await context.store.mayWrite())) return 0;
  // What is lost with the machine is found out again from the same ends.
  return (await context.store.stepReviews(steps, 'reconcile', 'with_next')).length;
}

type End = Pick<Extract<ReviewStep, { kind: 'leave' }>, 'was' | 'how'>;

/** How those of these runs ended that are over. */
async function endsOf(context: Context, runIds: readonly string[]): Promise<ReadonlyMap<string, End>> {
  const ends = new Map<string, End>();
  const live: SessionWithRun[] = [];
  const readAtMs = Date.now();
  const found = new Map((await context.store.runsWithSession(runIds)).map((each) => [each.run.id, each]));
  for (const id of runIds) {
    const each = found.get(id);
    if (each === undefined) ends.set(id, { was: 'executed', how: `run ${id} is no longer on record` });
    else if (each.run.state === 'ended') ends.set(id, howItEnded(each.run));
    else live.push(each);
  }
  for (const { run } of await reconcileAll(context, live, readAtMs)) {
    if (run.state === 'ended') ends.set(run.id, howItEnded(run));
  }
  return ends;
}

function howItEnded({ id, ending, logPath }: Extract<Run, { state: 'ended' }>): End {
  const log = logPath === null ? '' : `; its log is ${logPath}`;
  return {
    was: ending.outcome === 'never_started' ? 'never_started' : 'executed',
    how: `run ${id} ended as ${ending.outcome}, ${ending.reason}${log}`,
  };
}
