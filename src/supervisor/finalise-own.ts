import { readExit } from '../process/run-directory.ts';
import { openContext } from './context.ts';
import { finaliseRun, SWEEP_GRACE_MS } from './finalise.ts';
import { runDirectory } from './liveness.ts';
import { reconcileRun } from './reconcile.ts';

/** For the keeper itself, in its last moments: it is alive, so no reader will do this meanwhile. False: not ended. */
export async function finaliseOwn(runId: string): Promise<boolean> {
  const context = await openContext({ actor: 'keeper' });
  try {
    const run = await context.store.run(runId);
    if (run === null || run.state === 'ended') return true;
    // Never recorded as this run's keeper: its launcher, or a reader after the launcher's death, ends the claim.
    if (run.state === 'claimed') return (await reconcileRun(context, run)).run.state === 'ended';
    const result = await finaliseRun(context, run, {
      exit: readExit(runDirectory(context, runId), runId),
      actor: 'keeper',
      evidence: ['its keeper saw it exit'],
      graceMs: SWEEP_GRACE_MS,
    });
    return result.is === 'ended';
  } finally {
    await context.store.close();
  }
}
