/** Brings what the record says of living runs in line with what is so. Its cost grows with live runs, not with history. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { ReeveError } from '../api/errors.ts';
import {
  decideReconcile,
  explainGone,
  explainUndead,
  isMassDeath,
  isUnexplainedDeath,
  planDoubt,
} from '../lifecycle/reconcile.ts';
import type { ReconcileDecision } from '../lifecycle/reconcile.ts';
import type { ExitReading } from '../lifecycle/exit.ts';
import type { Liveness } from '../lifecycle/process-identity.ts';
import { directoryOf } from '../lifecycle/reach.ts';
import type { LiveRun, Run } from '../lifecycle/run.ts';
import { checkpoint } from '../process/checkpoint.ts';
import { probe } from '../process/liveness.ts';
import type { ProcessTable } from '../process/process-table.ts';
import { readExit } from '../process/run-directory.ts';
import type { SessionWithRun } from '../store/store.ts';
import { isWriteRefused } from '../store/write-refused.ts';
import type { Context } from './context.ts';
import { continueKeeper, isForsaken } from './continue-keeper.ts';
import { describeSurvivors } from './describe-members.ts';
import { finaliseRun, SWEEP_GRACE_MS } from './finalise.ts';
import { homeAt } from './home.ts';
import { probeRun, recordedHarnessSoFar, runDirectory } from './liveness.ts';
import { obstacleTo } from './obstacle.ts';
import { notJudged } from './reach.ts';
import { takeReports } from './reports.ts';

export interface Reconciled {
  readonly run: Run;
  /** Of the process that speaks for it: its keeper, once it has one. What people are told is `deriveLiveness`. */
  readonly liveness: 'alive' | 'dead' | 'unknown';
  /** Its command was proven gone, and its end is not on record. */
  readonly command?: 'gone';
  /** Why it could not be proven either way, when it could not. */
  readonly because: string | null;
}

export async function reconcileRun(context: Context, run: Run): Promise<Reconciled> {
  if (run.state === 'ended') return ended(run);
  await checkpoint('reconcile.begun');
  return carryOut(context, run, decide(context, run));
}

/** The same, for whoever tells of a run: what was reported after its end is fenced, and part of its story. */
export async function reconcileAndHear(context: Context, run: Run): Promise<Reconciled> {
  if (run.state !== 'ended') return reconcileRun(context, run);
  try {
    return ended(await takeReports(context, run));
  } catch (error) {
    troubleOf(error);
    return ended(run); // It changes nothing about the end, and is there for the next one who looks.
  }
}

/**
 * All runs that claim to live. In a mass death nobody is touched until a second look, a while later, sees the same. Whoever
 * goes on for long says when they were read, so that only those are read again of which something was reported since.
 */
export async function reconcileAll(
  context: Context,
  live: readonly SessionWithRun[],
  readAtMs?: number,
): Promise<readonly Reconciled[]> {
  const decided = live.map(({ run }) => ({
    run,
    decision: run.state === 'ended' ? ({ do: 'nothing' } as const) : decide(context, run),
  }));
  const isOneOverdue = live.some(({ run }) => isOverdue(run));
  if (isOneOverdue && (await context.store.mayWrite()))
    await (await import('./children.ts')).endOverdueChildren(context);
  const isInconclusive = isMassDeath(decided.map(({ decision }) => decision));
  const results: Reconciled[] = [];
  for (const { run, decision } of decided) {
    if (run.state === 'ended') results.push(ended(run));
    else if (isInconclusive && isUnexplainedDeath(decision))
      results.push(await doubt(context, run, decision));
    else results.push(await carryOut(context, run, decision, readAtMs));
  }
  const hasEndedOne = results.some(
    ({ run }, index) => run.state === 'ended' && live[index]?.run.state !== 'ended',
  );
  return isOneOverdue || hasEndedOne
    ? Promise.all(results.map((each) => afterItsOwner(context, each)))
    : results;
}

/** A child that was found alive may have been ended since, together with its owner, by this very look. */
async function afterItsOwner(context: Context, seen: Reconciled): Promise<Reconciled> {
  if (seen.run.state === 'ended' || seen.run.parent === null) return seen;
  const latest = await context.store.run(seen.run.id);
  return latest?.state === 'ended' ? ended(latest) : seen;
}

/** By this host's clock, to save asking; the store's decides. */
function isOverdue({ parent }: Run): boolean {
  return parent !== null && parent.waitsUntilMs !== null && parent.waitsUntilMs <= Date.now();
}

/** One that cannot be looked at is unknown, and keeps nobody from looking at the others. */
function decide(context: Context, run: LiveRun): ReconcileDecision {
  try {
    const liveness = probeRun(context, run);
    if (liveness.is === 'dead') {
      const away = notJudged(context, run);
      if (away !== null) return { do: 'hold', because: `${liveness.because}, and ${away.because}` };
    }
    if (liveness.is === 'dead' && isAnothers(context, run)) {
      return {
        do: 'hold',
        because: 'it belongs to another user, who alone (or root) can see and end what is left of it',
      };
    }
    return decideReconcile(run, liveness, exitOf(context, run, liveness));
  } catch (error) {
    return { do: 'hold', because: troubleOf(error) };
  }
}

/** Another user's processes can neither be seen whole nor be signalled, so nothing about their end can be proven. */
function isAnothers(context: Context, run: LiveRun): boolean {
  const user = process.getuid?.() ?? 0;
  const owner = statSync(runDirectory(context, run.id), { throwIfNoEntry: false })?.uid ?? user;
  return user !== 0 && owner !== user;
}

function exitOf(context: Context, run: LiveRun, liveness: Liveness): ExitReading {
  if (liveness.is !== 'dead') return { kind: 'none' };
  const exit = recordedExit(context, run);
  // What the kernel has counted since a restart says nothing of a run before it.
  return exit.kind === 'none' && liveness.proof === 'rebooted' ? { kind: 'none' } : exit;
}

/** The keeper wrote it where its run was begun, which a copy of the state directory is not. */
function recordedExit(context: Context, run: LiveRun): ExitReading {
  const own = readExit(runDirectory(context, run.id), run.id);
  const home = directoryOf(run);
  if (own.kind !== 'none' || home === null) return own;
  const there = readExit(join(homeAt(home).runs, run.id), run.id);
  return there.kind === 'none' ? own : there;
}

async function carryOut(
  context: Context,
  run: LiveRun,
  decision: ReconcileDecision,
  readAtMs?: number,
): Promise<Reconciled> {
  switch (decision.do) {
    case 'nothing':
      return seenAlive(context, run, readAtMs);
    case 'hold':
      return { run, liveness: 'unknown', because: decision.because };
    case 'finalise':
      try {
        return await finalise(context, run, decision);
      } catch (error) {
        return { run, liveness: 'unknown', because: troubleOf(error) };
      }
  }
}

async function finalise(
  context: Context,
  run: LiveRun,
  decision: Extract<ReconcileDecision, { do: 'finalise' }>,
): Promise<Reconciled> {
  // Read before its launcher was found dead, a claim may have become a running run in between, whose launcher is
  // gone because its work is done. Now that it is dead nobody makes that move any more: one more read settles it.
  const latest = run.state === 'claimed' ? await context.store.run(run.id) : run;
  if (latest !== null && latest.state !== run.state) return reconcileRun(context, latest);
  // Nothing is ended that cannot be put on record; and a standby may not know yet which of it is another run's.
  if (!(await context.store.mayWrite()))
    return { run, liveness: 'unknown', because: `${decision.because}, but ${NO_WRITES}` };
  const result = await finaliseRun(context, run, {
    exit: decision.exit,
    actor: 'reconcile',
    evidence: [decision.because],
    // With either, the kernel ended everything that was in it.
    known: decision.proof === 'rebooted' || decision.proof === 'namespace' ? 'kernel' : undefined,
    graceMs: SWEEP_GRACE_MS,
  });
  if (result.is === 'ended') return ended(result.run);
  if (result.is === 'children') return { run, liveness: 'unknown', because: result.because };
  return { run, liveness: 'unknown', because: describeSurvivors(result) };
}

export const NO_WRITES = 'the store takes no writes from here, so nothing was put on record';

/**
 * The trouble of one run, as the end of a sentence. A store that fails does so for all, and is thrown on; one that can only
 * be read is looked at.
 */
export function troubleOf(error: unknown): string {
  if (isWriteRefused(error)) return NO_WRITES;
  if (error instanceof ReeveError && error.code.startsWith('store_')) throw error;
  return (error instanceof Error ? error.message : String(error)).replace(/\.$/, '');
}

async function seenAlive(context: Context, live: LiveRun, readAtMs?: number): Promise<Reconciled> {
  let run: Run = live;
  let trouble: string | null = null;
  try {
    run = await takeReports(context, await withHarness(context, live), readAtMs);
  } catch (error) {
    const because = troubleOf(error);
    // That it lives was seen; what it does is not known, unless it is not this user's to know.
    trouble = isAnothers(context, live) ? null : because;
  }
  if (run.state === 'ended') return ended(run);
  const command = run.harness === null ? null : probe(context.table, run.harness);
  if (command?.is === 'dead') return withoutCommand(context, run, command);
  return { run, liveness: 'alive', because: trouble ?? explainUndead(run) };
}

/** Between the end of a command and its outcome, which is mostly a moment; or for as long as something keeps them apart. */
async function withoutCommand(
  context: Context,
  run: LiveRun,
  command: Extract<Liveness, { is: 'dead' }>,
): Promise<Reconciled> {
  // Stopped by a person it stays so, and that is said; by somebody who was about to end it, and died, it goes on.
  if (run.intent !== null && isForsaken(context, run.intent)) continueKeeper(context, run);
  const keeper = probeRun(context, run);
  // The run was read before its command was looked at: it may be over by now, or its keeper gone.
  const latest = await context.store.run(run.id);
  if (latest?.state === 'ended') return ended(latest);
  if (keeper.is === 'dead') return reconcileRun(context, run);
  const because = explainGone(keeper, command, obstacleTo(context, run));
  return { run, liveness: keeper.is, command: 'gone', because };
}

const MASS_DEATH =
  'most runs looked dead at once, which more likely means a broken look at the process table; a look a minute later, or `reeve settle` now, decides';

async function doubt(
  context: Context,
  run: LiveRun,
  decision: Extract<ReconcileDecision, { do: 'finalise' }>,
): Promise<Reconciled> {
  const events = await context.store.eventsOf(run.sessionId);
  const doubted = events.findLast(({ kind, runId }) => kind === 'run.doubted' && runId === run.id);
  const plan = planDoubt({
    doubtedAtMs: doubted?.atMs ?? null,
    nowMs: await context.store.nowMs(),
    isTableSane: isTableSane(context.table),
  });
  if (plan === 'conclude') return carryOut(context, run, decision);
  if (plan === 'doubt' && (await context.store.mayWrite())) {
    const event = { sessionId: run.sessionId, runId: run.id, kind: 'run.doubted', actor: 'reconcile' };
    await context.store.note({ ...event, data: { because: MASS_DEATH } }, 'always');
  }
  return { run, liveness: 'unknown', because: MASS_DEATH };
}

/** It shows this very process, and others; whoever is the first of a pid namespace may be alone there. */
export function isTableSane(table: ProcessTable): boolean {
  const living = table.all().filter(({ isZombie }) => !isZombie);
  return (living.length > 1 || process.pid === 1) && living.some(({ pid }) => pid === process.pid);
}

/** A launcher that died right after letting go left the harness's identity only on disk. */
async function withHarness(context: Context, run: LiveRun): Promise<Run> {
  if (run.state === 'claimed' || run.harness !== null) return run;
  const harness = recordedHarnessSoFar(context, run.id);
  if (harness === null) return run;
  const result = await context.store.step(run.id, { kind: 'executing', harness });
  return result.taken ? result.run : run;
}

function ended(run: Run): Reconciled {
  return { run, liveness: 'dead', because: null };
}
