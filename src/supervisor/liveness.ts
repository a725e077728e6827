import { join } from 'node:path';
import type { Liveness, ProcessIdentity } from '../lifecycle/process-identity.ts';
import type { LiveRun } from '../lifecycle/run.ts';
import { probe } from '../process/liveness.ts';
import type { Context } from './context.ts';

/** The process that speaks for a run: its launcher until a keeper is on record, then the keeper. */
export function ownerOf(run: LiveRun): ProcessIdentity {
  return run.state === 'claimed' ? run.launcher : run.keeper;
}

export function probeRun(context: Context, run: LiveRun): Liveness {
  return probe(context.table, ownerOf(run));
}

export function runDirectory(context: Context, runId: string): string {
  return join(context.home.runs, runId);
}
