/** Brings what the record says of living runs in line with what is so. Its cost grows with live runs, not with history. */
import { statSync } from 'node:fs';
import { decideReconcile, explainStuck, isMassDeath } from '../lifecycle/reconcile.ts';
import type { ReconcileDecision } from '../lifecycle/reconcile.ts';
import type { ExitEvidence } from '../lifecycle/exit.ts';
import type { Liveness } from '../lifecycle/process-identity.ts';
import type { LiveRun, Run } from '../lifecycle/run.ts';
import { checkpoint } from '../process/checkpoint.ts';
import { probe } from '../process/liveness.ts';
import { readExit } from '../process/run-directory.ts';
import type { SessionWithRun } from '../store/store.ts';
import type { Context } from './context.ts';
import { describeSurvivors } from './describe-members.ts';
import { finaliseRun, SWEEP_GRACE_MS } from './finalise.ts';
import { probeRun, recordedHarness, runDirectory } from './liveness.ts';
import { takeReports } from './reports.ts';

export interface Reconciled {
  readonly run: Run;
  readonly liveness: 'alive' | 'dead' | 'unknown';
  /** Why it could not be proven either way, when it could not. */
  readonly because: string | null;
}

export async function reconcileRun(context: Context, run: Run): Promise<Reconciled> {
  if (run.state === 'ended') return ended(run);
  await checkpoint('reconcile.begun');
  return carryOut(context, run, decide(context, run));
}

/** All runs that claim to live. In a mass death nobody is touched: the probe is taken to be broken. */
export async function reconcileAll(
  context: Context,
  live: readonly SessionWithRun[],
): Promise<readonly Reconciled[]> {
  const decided = live.map(({ run }) => ({
    run,
    decision: run.state === 'ended' ? ({ do: 'nothing' } as const) : decide(context, run),
  }));
  if (live.some(({ run }) => isOverdue(run))) {
    await (await import('./children.ts')).endOverdueChildren(context);
  }
  const isInconclusive = isMassDeath(decided.map(({ decision }) => decision));
  const results: Reconciled[] = [];
  for (const { run, decision } of decided) {
    if (run.state === 'ended') results.push(ended(run));
    else if (isInconclusive && decision.do === 'finalise') results.push(await holdInMassDeath(context, run));
    else results.push(await carryOut(context, run, decision));
  }
  return results;
}

/** By this host's clock, to save asking; the store's decides. */
function isOverdue({ parent }: Run): boolean {
  return parent !== null && parent.waitsUntilMs !== null && parent.waitsUntilMs <= Date.now();
}

function decide(context: Context, run: LiveRun): ReconcileDecision {
  const liveness = probeRun(context, run);
  if (liveness.is === 'dead' && isAnothers(context, run)) {
    return {
      do: 'hold',
      because: 'it belongs to another user, who alone (or root) can see and end what is left of it',
    };
  }
  return decideReconcile(run, liveness, exitOf(context, run, liveness));
}

/** Another user's processes can neither be seen whole nor be signalled, so nothing about their end can be proven. */
function isAnothers(context: Context, run: LiveRun): boolean {
  const user = process.getuid?.() ?? 0;
  const owner = statSync(runDirectory(context, run.id), { throwIfNoEntry: false })?.uid ?? user;
  return user !== 0 && owner !== user;
}

function exitOf(context: Context, run: LiveRun, liveness: Liveness): ExitEvidence {
  if (liveness.is !== 'dead') return { kind: 'none' };
  const exit = readExit(runDirectory(context, run.id), run.id);
  // What the kernel has counted since a restart says nothing of a run before it.
  return exit.kind === 'none' && liveness.proof === 'rebooted' ? { kind: 'none' } : exit;
}

async function carryOut(context: Context, run: LiveRun, decision: ReconcileDecision): Promise<Reconciled> {
  switch (decision.do) {
    case 'nothing':
      return seenAlive(context, await takeReports(context, await withHarness(context, run)));
    case 'hold':
      return { run, liveness: 'unknown', because: decision.because };
    case 'finalise': {
      // Read before its launcher was found dead, a claim may have become a running run in between, whose launcher is
      // gone because its work is done. Now that it is dead nobody makes that move any more: one more read settles it.
      const latest = run.state === 'claimed' ? await context.store.run(run.id) : run;
      if (latest !== null && latest.state !== run.state) return reconcileRun(context, latest);
      const result = await finaliseRun(context, run, {
        exit: decision.exit,
        actor: 'reconcile',
        evidence: [decision.because],
        known: decision.proof === 'rebooted' ? 'kernel' : undefined,
        graceMs: SWEEP_GRACE_MS,
      });
      if (result.is === 'ended') return ended(result.run);
      if (result.is === 'children') return { run, liveness: 'unknown', because: result.because };
      return { run, liveness: 'unknown', because: describeSurvivors(result) };
    }
  }
}

function seenAlive(context: Context, run: Run): Reconciled {
  if (run.state === 'ended') return ended(run);
  const harness = run.harness === null ? null : probe(context.table, run.harness);
  // A keeper is only stuck when its harness is gone; of all others it was just seen to be alive.
  const because = harness?.is === 'dead' ? explainStuck(probeRun(context, run), harness) : null;
  return { run, liveness: 'alive', because };
}

const MASS_DEATH =
  'most runs looked dead at once, which more likely means a broken look at the process table; ask for this one by name';

async function holdInMassDeath(context: Context, run: LiveRun): Promise<Reconciled> {
  const event = { sessionId: run.sessionId, runId: run.id, kind: 'run.doubted', actor: 'reconcile' };
  await context.store.note({ ...event, data: { because: MASS_DEATH } }, 'once');
  return { run, liveness: 'unknown', because: MASS_DEATH };
}

/** A launcher that died right after letting go left the harness's identity only on disk. */
async function withHarness(context: Context, run: LiveRun): Promise<Run> {
  if (run.state === 'claimed' || run.harness !== null) return run;
  const harness = recordedHarness(context, run.id);
  if (harness === null) return run;
  const result = await context.store.step(run.id, { kind: 'executing', harness });
  return result.taken ? result.run : run;
}

function ended(run: Run): Reconciled {
  return { run, liveness: 'dead', because: null };
}
