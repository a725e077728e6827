import { join } from 'node:path';
import type { Liveness, ProcessIdentity } from '../lifecycle/process-identity.ts';
import type { LiveRun, Run } from '../lifecycle/run.ts';
import { probe } from '../process/liveness.ts';
import { unread } from '../process/reading.ts';
import type { Reading } from '../process/reading.ts';
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
  if (run.harness !== null) return probe(context.table, run.harness);
  const reading = startedIn(context, run.id);
  switch (reading.is) {
    case 'read':
      return probe(context.table, reading.value);
    case 'absent':
      return owner;
    case 'malformed':
    case 'failed':
      return { is: 'unknown', because: `what it adopted is not known: ${reading.because}` };
  }
}

/**
 * The harness as it recorded itself on disk, before anybody could put it into the store; null when it did not, or not
 * yet. Throws when that could not be read: whoever is without it takes what is alive for gone.
 */
export function recordedHarness(context: Context, runId: string): ProcessIdentity | null {
  const reading = startedIn(context, runId);
  if (reading.is === 'failed') throw unread(reading);
  return reading.is === 'read' ? reading.value : null;
}

/** The same for whoever concludes nothing from its absence, for somebody will look again. */
export function recordedHarnessSoFar(context: Context, runId: string): ProcessIdentity | null {
  const reading = startedIn(context, runId);
  return reading.is === 'read' ? reading.value : null;
}

function startedIn(context: Context, runId: string): Reading<ProcessIdentity> {
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
