/**
 * What a run's keeper has done from time to time, outside of what it keeps and without a daemon: the run is held to its
 * budgets, dealt with when the run above it is gone, and ended when it has waited in vain for a successor of its parent.
 * It is a child of the keeper and so part of the run's tree as others see it, which may end it at any point; for itself
 * alone, it is not.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Run } from '../lifecycle/run.ts';
import { checkpoint } from '../process/checkpoint.ts';
import { BUDGET_ACTOR, enforceBudgetsOf } from './budgets.ts';
import { endOverdueChildren } from './children.ts';
import { openContext } from './context.ts';
import type { Context } from './context.ts';
import { followOwner } from './follow-owner.ts';
import { runDirectory } from './liveness.ts';
import { takeWrites } from './take-writes.ts';

/** In the run's directory: in how many seconds the keeper is to look again, 0 for not any more. */
const NEXT_LOOK = 'watch';

export async function watchRun(runId: string): Promise<void> {
  const context = { ...(await openContext({ actor: BUDGET_ACTOR })), watches: runId };
  try {
    await checkpoint('watch.begun');
    const [found] = await context.store.runsWithSession([runId]);
    if (found === undefined || found.run.state === 'ended') return;
    if (found.run.parent !== null) await followOwner({ ...context, actor: 'keeper' }, runId);
    // What it spent may be among what it left.
    await takeWrites(context, found.run);
    const looks = [await enforceBudgetsOf(context, found), await endIfOverdue(context, runId)];
    const nextMs = looks.reduce((soonest, each) =>
      soonest === null || each === null ? (soonest ?? each) : Math.min(soonest, each),
    );
    const path = join(runDirectory(context, runId), NEXT_LOOK);
    // The keeper's timer has seconds; one look too early does no harm, one too late may.
    writeFileSync(`${path}.new`, `${nextMs === null ? 0 : Math.max(1, Math.ceil(nextMs / 1000))}\n`, {
      mode: 0o600,
    });
    renameSync(`${path}.new`, path);
  } finally {
    await context.store.close();
  }
}

/** The store's clock decides, and may be a little behind this one. */
const ONCE_MORE_MS = 1_000;

/** When to look again at a run that waits to be adopted; null for one that does not, or is over. */
async function endIfOverdue(context: Context, runId: string): Promise<number | null> {
  const waitingMs = (run: Run | null) =>
    run === null || run.state === 'ended' ? null : (run.parent?.waitsUntilMs ?? null);
  const untilMs = waitingMs(await context.store.run(runId));
  if (untilMs === null || untilMs > Date.now()) return untilMs === null ? null : untilMs - Date.now();
  await endOverdueChildren({ ...context, actor: 'keeper' });
  return waitingMs(await context.store.run(runId)) === null ? null : ONCE_MORE_MS;
}
