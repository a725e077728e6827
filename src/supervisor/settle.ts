/**
 * The way on for runs of which a look could prove nothing: each is looked at once more, for itself alone, what is left of
 * it is ended, and what can be said is written. A mass death, which a sweep doubts, is believed here, for a person asked;
 * but only of a process table that works.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ReeveError } from '../api/errors.ts';
import type { SettleView } from '../api/session-view.ts';
import { withObstacle } from '../lifecycle/reconcile.ts';
import type { LiveRun, Run } from '../lifecycle/run.ts';
import type { Session } from '../lifecycle/session.ts';
import { checkpoint } from '../process/checkpoint.ts';
import { endTree } from '../process/end-tree.ts';
import type { SessionWithRun } from '../store/store.ts';
import type { Context } from './context.ts';
import { SWEEP_GRACE_MS } from './finalise.ts';
import { proveSpared } from './lineage.ts';
import { probeRun } from './liveness.ts';
import { assumeHostGone } from './ownership/host-gone.ts';
import { declaredLiving, endDeclared } from './ownership/declared-gone.ts';
import { obstacleInStore, obstacleTo } from './obstacle.ts';
import { isHere, isOnOtherHost, lastCommand } from './reach.ts';
import { isTableSane, reconcileRun } from './reconcile.ts';
import type { Reconciled } from './reconcile.ts';
import { resolveCurrent, resolveSession, runNamed } from './resolve.ts';
import { treeOf } from './tree-of.ts';

/** Of these sessions; without any, of every run on this machine that is on record as live, or was declared gone and lives. */
export async function settle(
  context: Context,
  references: readonly string[] = [],
  { hostGone }: { readonly hostGone?: string | undefined } = {},
): Promise<SettleView> {
  if (hostGone !== undefined) await assumeHostGone(context, hostGone);
  if (!isTableSane(context.table)) {
    throw new ReeveError('process_table', 'The process table does not even show this process and others.', {
      hint: 'Nothing was settled. Look at /proc, or run this outside of the sandbox that hides it.',
    });
  }
  const wanted = await whichOf(context, references);
  const [settled, remaining]: [SettleView['settled'][number][], SettleView['remaining'][number][]] = [[], []];
  for (const { session, run } of wanted) {
    if (run.state === 'ended') {
      const left = await endDeclared(context, run);
      if (left !== null) {
        const { outcome, reason } = run.ending;
        settled.push({ session: session.name, run: run.id, outcome, reason, evidence: [left] });
      }
      continue;
    }
    const seen = await lookAgain(context, run);
    if (seen.run.state === 'ended') {
      const { outcome, reason, evidence } = seen.run.ending;
      settled.push({ session: session.name, run: run.id, outcome, reason, evidence });
    } else if (seen.because !== null || seen.liveness !== 'alive') {
      const isOurs = seen.liveness !== 'alive' && isHere(context, seen.run);
      const left = isOurs ? await sweep(context, seen.run) : null;
      remaining.push({
        session: session.name,
        run: run.id,
        because: reasonOf(seen, left),
        next:
          seen.liveness === 'alive' ? `reeve stop ${session.name}` : lastCommand(context, { session, run }),
      });
    }
  }
  return { settled, remaining };
}

/** A run that was declared gone may be an earlier one of its session: it is meant by its id, by its session, and by nothing at all. */
async function whichOf(
  context: Context,
  references: readonly string[],
): Promise<readonly { readonly session: Session; readonly run: Run }[]> {
  const declared = await declaredLiving(context);
  const named = await Promise.all(references.map((reference) => settledBy(context, reference)));
  const meant =
    references.length > 0
      ? named
      : (await context.store.live()).filter(({ run }) => isToBeSettled(context, run));
  const older = declared.filter(
    ({ session, run }) =>
      !meant.some((each) => each.run.id === run.id) &&
      (references.length === 0 || named.some((each) => each.isSession && each.session.id === session.id)),
  );
  return [...older, ...meant];
}

/** Of another state directory of this machine only what is in doubt: the others of it are nothing to this one. */
function isToBeSettled(context: Context, run: Run): boolean {
  if (isHere(context, run)) return true;
  return run.state !== 'ended' && !isOnOtherHost(context, run) && probeRun(context, run).is !== 'alive';
}

async function settledBy(
  context: Context,
  reference: string,
): Promise<SessionWithRun & { readonly isSession: boolean }> {
  const found = await resolveSession(context, reference);
  const run = await runNamed(context, found, reference);
  if (run.id === found.run.id) return { ...found, isSession: !run.id.startsWith(reference) };
  if (run.state === 'ended' && run.ending.proof === 'word')
    return { session: found.session, run, isSession: false };
  return { ...(await resolveCurrent(context, reference)), isSession: false };
}

/** The same as whoever looks, and then waits for an outcome that is about to be written. */
export async function lookAgain(context: Context, run: LiveRun): Promise<Reconciled> {
  return untilRecorded(context, await reconcileRun(context, run));
}

/** Beyond what a keeper takes to end what its command left behind (eight seconds), and to write the outcome. */
const RECORD_WAIT_MS = 10_000;
const POLL_MS = 50;

/** A keeper whose command is gone is mostly about to write the outcome; with what is in its way, if that can be seen. */
async function untilRecorded(context: Context, seen: Reconciled): Promise<Reconciled> {
  if (seen.run.state === 'ended' || seen.command !== 'gone') return seen;
  const keeper = probeRun(context, seen.run);
  if ((keeper.is === 'alive' && keeper.isStopped === true) || obstacleTo(context, seen.run) !== null)
    return seen;
  const obstacle = await obstacleInStore(context);
  if (obstacle !== null) return { ...seen, because: withObstacle(reasonOf(seen, null), obstacle) };
  await checkpoint('settle.waiting');
  const deadline = performance.now() + RECORD_WAIT_MS;
  let latest = seen;
  while (latest.run.state !== 'ended' && latest.command === 'gone' && performance.now() < deadline) {
    await sleep(POLL_MS);
    latest = await reconcileRun(context, latest.run);
  }
  return latest;
}

/** How it ended may not be known, but that it has: what is left of it is nobody's. Null, or why that failed. */
async function sweep(context: Context, run: LiveRun): Promise<string | null> {
  try {
    if (probeRun(context, run).is !== 'dead' || !(await context.store.mayWrite())) return null;
    await proveSpared(context, run);
    const { end, survivors, because } = await endTree(await treeOf(context, run), SWEEP_GRACE_MS);
    if (end !== 'survived') return null;
    return survivors.length === 0 && because !== undefined ? because : 'processes of it could not be ended';
  } catch (error) {
    return error instanceof Error ? error.message.replace(/\.$/, '') : String(error);
  }
}

function reasonOf({ because }: Reconciled, left: string | null): string {
  const reason = because ?? 'nothing could be proven';
  return left === null || left === reason ? reason : `${reason}; ${left}`;
}
