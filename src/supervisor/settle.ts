/**
 * The way on for runs of which a look could prove nothing: each is looked at once more, for itself alone, what is left of
 * it is ended, and what can be said is written. A mass death, which a sweep doubts, is believed here, for a person asked;
 * but only of a process table that works.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ReeveError } from '../api/errors.ts';
import type { SettleView } from '../api/session-view.ts';
import { withObstacle } from '../lifecycle/reconcile.ts';
import type { LiveRun } from '../lifecycle/run.ts';
import type { Session } from '../lifecycle/session.ts';
import { checkpoint } from '../process/checkpoint.ts';
import { endTree } from '../process/end-tree.ts';
import type { Context } from './context.ts';
import { SWEEP_GRACE_MS } from './finalise.ts';
import { proveSpared } from './lineage.ts';
import { probeRun } from './liveness.ts';
import { assumeHostGone } from './ownership/host-gone.ts';
import { obstacleInStore, obstacleTo } from './obstacle.ts';
import { isHere } from './reach.ts';
import { isTableSane, reconcileRun } from './reconcile.ts';
import type { Reconciled } from './reconcile.ts';
import { resolveCurrent } from './resolve.ts';
import { treeOf } from './tree-of.ts';

/** Of these sessions; without any, of every run on record as live that is on this machine. */
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
  const wanted =
    references.length > 0
      ? await Promise.all(references.map((reference) => resolveCurrent(context, reference)))
      : (await context.store.live()).filter(({ run }) => isHere(context, run));
  const [settled, remaining]: [SettleView['settled'][number][], SettleView['remaining'][number][]] = [[], []];
  for (const { session, run } of wanted) {
    if (run.state === 'ended') continue;
    const seen = await untilRecorded(context, await reconcileRun(context, run));
    if (seen.run.state === 'ended') {
      const { outcome, reason, evidence } = seen.run.ending;
      settled.push({ session: session.name, run: run.id, outcome, reason, evidence });
    } else if (seen.because !== null || seen.liveness !== 'alive') {
      const left = seen.liveness === 'alive' ? null : await sweep(context, seen.run);
      remaining.push({
        session: session.name,
        run: run.id,
        because: reasonOf(seen, left),
        next: nextFor(session, seen),
      });
    }
  }
  return { settled, remaining };
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
    if (probeRun(context, run).is !== 'dead') return null;
    await proveSpared(context, run);
    const { end } = await endTree(await treeOf(context, run), SWEEP_GRACE_MS);
    return end === 'survived' ? 'processes of it could not be ended' : null;
  } catch (error) {
    return error instanceof Error ? error.message.replace(/\.$/, '') : String(error);
  }
}

function reasonOf({ because }: Reconciled, left: string | null): string {
  const reason = because ?? 'nothing could be proven';
  return left === null || left === reason ? reason : `${reason}; ${left}`;
}

/** The command that a person goes on with. */
function nextFor({ name }: Session, { liveness }: Reconciled): string {
  return liveness === 'alive' ? `reeve stop ${name}` : `reeve kill ${name} --assume-gone`;
}
