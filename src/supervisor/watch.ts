/**
 * What a run's keeper has done from time to time, outside of what it keeps and without a daemon: the run is held to its
 * budgets. It is a child of the keeper and so part of the run's tree as others see it, which may end it at any point; for
 * itself alone, it is not.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkpoint } from '../process/checkpoint.ts';
import { BUDGET_ACTOR, enforceBudgetsOf } from './budgets.ts';
import { openContext } from './context.ts';
import { runDirectory } from './liveness.ts';

/** In the run's directory: in how many seconds the keeper is to look again, 0 for not any more. */
const NEXT_LOOK = 'watch';

export async function watchRun(runId: string): Promise<void> {
  const context = { ...(await openContext({ actor: BUDGET_ACTOR })), watches: runId };
  try {
    await checkpoint('watch.begun');
    const [found] = await context.store.runsWithSession([runId]);
    if (found === undefined || found.run.state === 'ended') return;
    const nextMs = await enforceBudgetsOf(context, found);
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
