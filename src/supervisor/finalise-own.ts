import { join } from 'node:path';
import { ReeveError } from '../api/errors.ts';
import { isOnRecord } from '../lifecycle/exit.ts';
import type { ExitEvidence } from '../lifecycle/exit.ts';
import { isThere } from '../process/reading.ts';
import { parseExit, readExit } from '../process/run-directory.ts';
import { openContext } from './context.ts';
import { finaliseRun, SWEEP_GRACE_MS } from './finalise.ts';
import { homeFrom } from './home.ts';
import type { Home } from './home.ts';
import { runDirectory } from './liveness.ts';
import { requireOwnersKnown } from './ownership/continuity.ts';
import { letGoOfAll } from './ownership/hold.ts';
import { reconcileRun } from './reconcile.ts';
import { takeReports } from './reports.ts';

/**
 * For the keeper itself, in its last moments: it is alive, so no reader will do this meanwhile. False: not ended.
 * `record` is the exit record as text, for when the one on disk is gone.
 */
export async function finaliseOwn(runId: string, record: string): Promise<boolean> {
  // Somebody removed the whole state while the run was on: there is nothing to write to, and none is made anew.
  if (isAway(homeFrom(process.env), runId)) return true;
  // A store that has forgotten the run is told of it here, for this process holds what says so.
  const context = await openContext({ actor: 'keeper' }, 'keeper');
  try {
    // On its way from one server to the other it comes back; until then nothing is ended by what a standby knows.
    if (!(await context.store.mayWrite()))
      throw new ReeveError('store_unavailable', 'The store takes no writes.');
    const run = await context.store.run(runId);
    if (run === null) {
      // Forgotten, it is told of again once that can be done.
      if (context.isInDoubt === true) await requireOwnersKnown(context);
      return true;
    }
    if (run.state === 'ended') {
      // Ended by somebody's word: what it left since then is late, and put aside.
      await takeReports(context, run);
      return true;
    }
    // Never recorded as this run's keeper: its launcher, or a reader after the launcher's death, ends the claim.
    if (run.state === 'claimed') return (await reconcileRun(context, run)).run.state === 'ended';
    const onDisk = readExit(runDirectory(context, runId), runId);
    const exit = isOnRecord(onDisk) ? onDisk : parseExit(record, runId, Date.now());
    // Nothing was handed on, and what is on disk may say anything: the next reader tries again.
    if (onDisk.kind === 'failed' && exit.kind === 'none') return false;
    const result = await finaliseRun(context, run, {
      exit,
      actor: 'keeper',
      evidence: ['its keeper saw it exit', ...leftBehind(exit)],
      graceMs: SWEEP_GRACE_MS,
    });
    if (result.is === 'ended') letGoOfAll(process.env);
    return result.is === 'ended';
  } finally {
    await context.store.close();
  }
}

/** Not where the database alone is gone: this process is the last that knows of the run, and a new one learns of it here. */
function isAway({ database, runs }: Home, runId: string): boolean {
  const isShared = (process.env['REEVE_STORE'] ?? '') !== '';
  return !isShared && !isThere(database) && !isThere(join(runs, runId));
}

function leftBehind(exit: ExitEvidence): string[] {
  if (exit.kind !== 'exited' || exit.leftBehind === undefined) return [];
  // Its keeper told them to end, and may not have been allowed to. How their end is known, the proof beside this says.
  return [`left behind, and gone since: ${exit.leftBehind.join(', ')}`];
}
