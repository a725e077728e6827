/** The reviewer of a worker: one session of a stable name, each of whose runs begins afresh with the whole queue. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ReeveError } from '../api/errors.ts';
import { adapterNamed } from '../harness/adapters.ts';
import type { Review } from '../lifecycle/review.ts';
import type { LiveRun, Run } from '../lifecycle/run.ts';
import type { Session } from '../lifecycle/session.ts';
import { checkpoint } from '../process/checkpoint.ts';
import { RUN_MARK } from '../process/tree.ts';
import type { Context } from './context.ts';
import { describeSurvivors } from './describe-members.ts';
import { checkLaunch, launch } from './launch.ts';
import type { Claimed, LaunchRequest } from './launch.ts';
import { ownProgram } from './own-program.ts';
import { accepted } from './owner-words.ts';
import { reconcileRun } from './reconcile.ts';
import { intentNow, retireRun } from './retire.ts';
import type { ReviewerCommand } from './review-request.ts';
import { settleReviews } from './review-settle.ts';
import { reviewerName } from './reviewer-name.ts';

const QUEUE_VARIABLE = 'REEVE_REVIEW_QUEUE';

/** Its run that is not proven over; null when there is none. */
export async function liveReviewer(context: Context, worker: Session): Promise<LiveRun | null> {
  const found = await context.store.sessionByName(reviewerName(worker));
  if (found === null) return null;
  const { run } = await reconcileRun(context, found.run);
  return run.state === 'ended' ? null : run;
}

/** Ended, and proven gone; otherwise this throws, and it lives on. */
export async function endReviewer(
  context: Context,
  run: LiveRun,
  why: { readonly outcome: 'superseded' | 'stopped'; readonly reason: string },
  graceMs: number,
): Promise<void> {
  const result = await retireRun(context, run, intentNow({ ...why, actor: context.actor }), graceMs);
  if (result.is === 'ended') return;
  const isAlive = result.is === 'survivors';
  const because = isAlive ? describeSurvivors(result) : result.because;
  throw new ReeveError(
    isAlive ? 'survivors' : 'unproven',
    `The reviewer, run ${run.id}, could not be ended: ${because}.`,
    {
      hint: isAlive
        ? 'What you asked for is on record, and waits for its end. Look at these processes, then try again.'
        : `What you asked for is on record, and waits for its end. Try again where it runs; or, if you know that it is gone: reeve kill ${run.id} --assume-gone`,
      details: { run: run.id },
    },
  );
}

/** Whoever uses the reviewer's session for something else is not ended for a review: every reviewer has had one. */
export function requireReviewer(worker: Session, run: LiveRun, reviews: readonly Review[]): void {
  if (reviews.some(({ reviewerRunId }) => reviewerRunId === run.id)) return;
  const name = reviewerName(worker);
  throw new ReeveError(
    'live_owner',
    `${name} is alive, and no review on record belongs to its run ${run.id}.`,
    {
      hint: `Nothing was changed. The name is that of the reviewer: end it (reeve stop ${name}), then try again.`,
      details: { session: name, run: run.id },
    },
  );
}

/** A reviewer that would have to end itself can do nothing after that. */
export function refuseInside(context: Context, run: LiveRun): void {
  if (context.environment[RUN_MARK] !== run.id && !isBelow(context, run)) return;
  throw new ReeveError(
    'inside_own_run',
    `This command runs inside ${run.id}, the reviewer it would have to end.`,
    {
      hint: 'Leave that to the worker, or to a person.',
      details: { run: run.id },
    },
  );
}

/** No tree has more levels; and a table that is read while it changes may show a ring. */
const MAX_DEPTH = 64;

/**
 * For a caller whose environment was wiped. One that also left its parents behind is not found: it ends with the
 * reviewer, half-way, which is no more than any trigger may do.
 */
function isBelow({ table }: Context, { harness, keeper }: LiveRun): boolean {
  let pid = process.ppid;
  for (let depth = 0; depth < MAX_DEPTH && pid > 1; depth += 1) {
    const reading = table.read(pid);
    if (reading.is !== 'there') return false;
    const { startTime, parentPid } = reading.fact;
    const isIt = [harness, keeper].some(
      (each) => each?.pid === pid && each.startTime === startTime && each.boot === table.host.boot,
    );
    if (isIt) return true;
    pid = parentPid;
  }
  return false;
}

export interface ReviewerOrder {
  readonly worker: Session;
  readonly command: ReviewerCommand;
  readonly cwd: string | undefined;
}

/** Before anybody is ended for it: all of its start that can be known to be wrong. */
export async function checkReviewer(context: Context, order: ReviewerOrder): Promise<void> {
  await checkLaunch(context, await startOf(order, []));
}

/** One fresh run with all that is queued; what keeps it from starting is thrown. */
export async function startReviewer(context: Context, order: ReviewerOrder): Promise<Run> {
  const { worker } = order;
  const result = await launch(context, {
    ...(await startOf(order, await queued(context, worker))),
    beforeStart: (claimed) => handOver(context, worker, claimed),
  });
  const started = accepted(result, Date.now());
  if (started.is === 'started') started.release();
  return started.run;
}

async function startOf(
  { worker, command, cwd = worker.cwd }: ReviewerOrder,
  queue: readonly Review[],
): Promise<LaunchRequest> {
  return {
    session: reviewerName(worker),
    argv: command.is === 'command' ? command.argv : await promptedArgv(command.harness, worker, queue),
    harness: command.is === 'harness' ? command.harness : undefined,
    cwd,
    mode: 'detached',
    onLive: 'refuse',
    child: {
      onParentEnd: 'detach',
      subject: 'review',
      revision: queue.map(({ head }) => head).join(' '),
    },
  };
}

async function queued(context: Context, worker: Session): Promise<readonly Review[]> {
  const open = await context.store.reviews({ sessionId: worker.id, only: 'open' });
  return open.map(({ review }) => review).filter(({ state }) => state === 'queued');
}

/**
 * Before it executes, so that it can submit from its first moment on; and only what is on record as its own is in the
 * queue that it reads.
 */
async function handOver(context: Context, worker: Session, { runId, runDirectory }: Claimed) {
  // A run that was claimed for them before this one, and could not start, has not had them.
  await settleReviews(context, worker.id);
  const waiting = await queued(context, worker);
  const steps = waiting.map(({ id }) => ({ id, step: { kind: 'bind', runId } as const }));
  // Durable with the record of the keeper, without which nothing executes.
  const bound = new Set(await context.store.stepReviews(steps, context.actor, 'with_next'));
  const program = ownProgram();
  const queue = waiting
    .filter(({ id }) => bound.has(id))
    .map(({ id, pr, head, tree }) => ({
      id,
      pr,
      head,
      tree,
      // Whole, for a reviewer that does not find `reeve` on its PATH.
      submit: [...program, 'review', 'submit', '--run', id],
    }));
  const file = join(runDirectory, 'review-queue.json');
  writeFileSync(file, `${JSON.stringify(queue, null, 2)}\n`, { mode: 0o600 });
  await checkpoint('review.bound');
  return { [QUEUE_VARIABLE]: file };
}

async function promptedArgv(
  harness: Extract<ReviewerCommand, { is: 'harness' }>['harness'],
  worker: Session,
  queue: readonly Review[],
): Promise<readonly string[]> {
  const { headless } = await adapterNamed(harness);
  const prompt = promptFor(worker, queue);
  // The last word of some is the prompt's own place.
  return headless.at(-1) === '' ? [...headless.slice(0, -1), prompt] : [...headless, prompt];
}

function promptFor(worker: Session, queue: readonly Review[]): string {
  return [
    `Review the work of session ${worker.name} in ${worker.cwd}. Exactly these commits, no others:`,
    ...queue.map(({ id, pr, head }) => `- pull request ${pr} at commit ${head} (review ${id})`),
    `The file named by $${QUEUE_VARIABLE} has the same list as JSON; the "submit" of each entry is a command line.`,
    'Change nothing. Write what you find about each into a file, and submit each review by that command line with',
    '`--verdict approve`, `--verdict changes` or `--verdict comment`, and `--body FILE`.',
    'A submission that is refused with exit code 5 is about a commit that is no longer wanted: go on with the next.',
  ].join('\n');
}
