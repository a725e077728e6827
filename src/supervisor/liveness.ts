import { join } from 'node:path';
import type { Liveness, ProcessIdentity } from '../lifecycle/process-identity.ts';
import type { LiveRun, Run } from '../lifecycle/run.ts';
import { probe } from '../process/liveness.ts';
import { readStarted } from '../process/run-directory.ts';
import { runTree } from '../process/run-tree.ts';
import { RUN_MARK } from '../process/tree.ts';
import type { Context } from './context.ts';

/** The process that speaks for a run: its launcher until a keeper is on record, then the keeper. */
function ownerOf(run: LiveRun): ProcessIdentity {
  return run.state === 'claimed' ? run.launcher : run.keeper;
}

export function probeRun(context: Context, run: LiveRun): Liveness {
  const owner = probe(context.table, ownerOf(run));
  // An adopted harness does not end with the one that watches it, and while it works nothing ends it but a person.
  if (run.mode !== 'adopted' || owner.is !== 'dead') return owner;
  const harness = run.harness ?? recordedHarness(context, run.id);
  return harness === null ? owner : probe(context.table, harness);
}

/** The harness as it recorded itself on disk, before anybody could put it into the store. */
export function recordedHarness(context: Context, runId: string): ProcessIdentity | null {
  return readStarted(runDirectory(context, runId), runId, context.table);
}

export function runDirectory(context: Context, runId: string): string {
  return join(context.home.runs, runId);
}

/** Whether this process is part of the run's tree: by the mark, or by being found in its tree, for a caller whose environment was wiped. */
export function isInside(context: Context, run: Run): boolean {
  if (context.environment[RUN_MARK] === run.id) return true;
  const parent = process.ppid;
  return runTree(context.table, run)
    .find()
    .some((member) => member.pid === parent);
}
