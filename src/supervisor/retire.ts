/**
 * End a run and prove it. A saga, each step durable before its effect:
 *   intent on record → children dealt with by their policies, and tree asked, frozen, killed, proven gone
 *   → exit record awaited → keeper ended → outcome.
 * Whoever could not carry it out, because it is another host's, state directory's or user's run, leaves no intent.
 * A command that is interrupted before the run is being killed takes its intent back, and so does one that gives up before
 * it has signalled anybody (hearing.ts). One that fails later says so on record.
 * Whoever dies in the middle leaves a run that still owns its session, and a record from which anyone can go on. So does
 * an agent that stops its own session: it is part of the tree, and the keeper's last sweep ends it with the rest.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { uptime } from 'node:os';
import { Interrupted, ReeveError } from '../api/errors.ts';
import { isOnRecord } from '../lifecycle/exit.ts';
import type { OutOfReach } from '../lifecycle/reach.ts';
import { notRead } from '../lifecycle/reconcile.ts';
import type { EndedRun, Intent, LiveRun, RunningRun } from '../lifecycle/run.ts';
import { checkpoint } from '../process/checkpoint.ts';
import { endTree } from '../process/end-tree.ts';
import type { EndReport } from '../process/end-tree.ts';
import { isNoFinaliserYet } from '../process/keeper.ts';
import { probe } from '../process/liveness.ts';
import { identify } from '../process/process-table.ts';
import { readExit } from '../process/run-directory.ts';
import { signalProven } from '../process/run-tree.ts';
import type { RunTree } from '../process/run-tree.ts';
import { RUN_MARK } from '../process/tree.ts';
import type { Member } from '../process/tree.ts';
import { adapterOf } from './adapter-of.ts';
import type { Context } from './context.ts';
import { describeSurvivors, describeTold } from './describe-members.ts';
import type { Survivors } from './describe-members.ts';
import { finaliseRun } from './finalise.ts';
import { giveUp, hear, refuseMore, withdraw } from './hearing.ts';
import type { Hearing } from './hearing.ts';
import { isInsideChild, proveSpared, settleChildren } from './lineage.ts';
import { probeRun, runDirectory } from './liveness.ts';
import { removeHeld } from './ownership/hold.ts';
import { notEnded } from './reach.ts';
import { reconcileRun } from './reconcile.ts';
import { treeOf } from './tree-of.ts';

export type RetireResult =
  | { readonly is: 'ended'; readonly run: EndedRun }
  | ({ readonly is: 'survivors' } & Survivors)
  /** `isGone`: nothing of it is alive any more, and what is missing is its end on record. */
  | { readonly is: 'unproven'; readonly because: string; readonly isGone?: true }
  /** Nothing was put on record, and nobody signalled. */
  | ({ readonly is: 'out_of_reach' } & OutOfReach);

/** A keeper writes the exit within a millisecond of the end of its harness, unless it was stopped or the disk is full. */
const EXIT_RECORD_WAIT_MS = 2_000;
/** A launcher between its claim and its start takes milliseconds; one that was stopped there takes for ever. */
const LAUNCHER_WAIT_MS = 5_000;
const POLL_MS = 5;

export function intentNow(intent: Omit<Intent, 'atMs' | 'uptimeMs'>): Intent {
  return { ...intent, atMs: Date.now(), uptimeMs: Math.round(uptime() * 1000) };
}

export async function retireRun(
  context: Context,
  run: LiveRun,
  intent: Intent,
  graceMs: number,
): Promise<RetireResult> {
  const away = notEnded(context, run);
  if (away !== null) return { is: 'out_of_reach', ...away };
  const { run: seen, liveness, because } = await reconcileRun(context, run);
  if (seen.state === 'ended') return { is: 'ended', run: seen };
  if (liveness !== 'alive') return { is: 'unproven', because: because ?? 'its owner could not be found' };

  // Before there is anything to take back.
  const hearing = hear(context, intent);
  try {
    const result = await retireHearing(hearing, seen, intent, graceMs);
    if (result.is === 'ended') refuseMore(hearing, result.run);
    return result;
  } finally {
    hearing.close();
  }
}

async function retireHearing(
  hearing: Hearing,
  run: LiveRun,
  wanted: Intent,
  graceMs: number,
): Promise<RetireResult> {
  const { context } = hearing;
  const intent: Intent = { ...wanted, id: randomUUID(), by: identify(context.table, process.pid) };
  const over = abandoned(context, run);
  await context.store.step(run.id, { kind: 'intend', intent, ...(over === null ? {} : { over }) });
  // Whoever had the intent before may have signalled somebody.
  const reached = { isAny: over !== null };
  try {
    await checkpoint('retire.intended');
    const intended = await context.store.run(run.id);
    if (intended === null) return { is: 'unproven', because: 'its record was removed meanwhile' };
    if (intended.state === 'ended') return { is: 'ended', run: intended };
    return await (intended.state === 'claimed'
      ? retireClaimed(context, intended)
      : retireRunning(hearing, intended, intent, graceMs, reached));
  } catch (error) {
    if (error instanceof Interrupted) throw error;
    await giveUp(context, run, intent, { reached, error });
    throw reached.isAny ? afterSignals(run, error) : error;
  }
}

/** What failed says of itself that it did nothing. Of the run that is not so. */
function afterSignals({ id }: LiveRun, error: unknown): unknown {
  if (!(error instanceof ReeveError)) return error;
  const { code, message, hint, details } = error;
  const more = { details, cause: error, ...(hint === undefined ? {} : { hint }) };
  return new ReeveError(code, `${message} Run ${id} had been told to end by then, and may have ended.`, more);
}

/** Whether anything of the run was signalled, or may have been. */
interface Reached {
  isAny: boolean;
}

/**
 * The intent on record, if nobody is at it any more: it was tried in vain, or its intender is dead. What has exited since is
 * not for the next one to have ended.
 */
function abandoned(context: Context, { id, intent }: LiveRun): Intent | null {
  if (intent === null || isOnRecord(readExit(runDirectory(context, id), id))) return null;
  const isDead = intent.by !== undefined && probe(context.table, intent.by).is === 'dead';
  return intent.failed !== undefined || isDead ? intent : null;
}

async function retireRunning(
  hearing: Hearing,
  run: RunningRun,
  intent: Intent,
  graceMs: number,
  reached: Reached,
): Promise<RetireResult> {
  const { context } = hearing;
  const tree = noting(reached, await treeOf(context, run));
  await proveSpared(context, run);
  // Both at once: a child must not go on spending while its parent takes its time. What could not be done about a child
  // is told by the last step. Called from inside a child, the whole run is ended first, for this process ends with it.
  const isLast = await isInsideChild(context, run);
  // A command that is part of what it ends is swept with it, and must not take that for an interruption.
  if (isLast || context.environment[RUN_MARK] === run.id || process.ppid === run.keeper.pid) hearing.close();
  const children = isLast ? [] : await context.store.undealtChildren(run.id);
  const isCalledOff = () =>
    hearing.heard() !== null && children.length === 0 && !hasRecordedExit(context, run);
  const askWith = await askedWith(hearing, run);
  // A child is begun with whatever comes of it.
  if (children.length > 0) reached.isAny = true;
  const [ending, dealing] = await Promise.allSettled([
    endTree(tree, graceMs, askWith, isCalledOff),
    children.length === 0 ? null : settleChildren(context, run, graceMs),
  ]);
  // Thrown when neither goes on.
  if (ending.status === 'rejected') throw ending.reason;
  if (dealing.status === 'rejected') throw dealing.reason;
  const first = ending.value;
  const signal = hearing.heard();
  if (first.end === 'called_off' && signal !== null)
    return { is: 'ended', run: await withdraw(context, run, intent, signal) };
  if (first.end === 'survived') return reportSurvivors(context, run, first);
  await checkpoint('retire.tree_gone');
  await until(() => hasRecordedExit(context, run) || tree.find().length > 0, EXIT_RECORD_WAIT_MS);
  // A keeper that was only just let go may have started its harness meanwhile. Stopped, it can start nothing more;
  // and as long as it lives, whatever is orphaned comes to it and is found. One that is the finaliser by now starts nothing;
  // and if it has put the outcome on record, nobody would come back to it if this process died before the next step.
  if (isNoFinaliserYet(context.table, run.keeper)) signalProven(context.table, run.keeper, 'SIGSTOP');
  reached.isAny = true;
  const late = await endLate(context, run, tree).catch((error: unknown) => {
    // Left stopped, it would hold its session for ever.
    signalProven(context.table, run.keeper, 'SIGCONT');
    throw error;
  });
  if ('is' in late) return late;
  signalProven(context.table, run.keeper, 'SIGKILL');
  await until(() => probeRun(context, run).is !== 'alive', EXIT_RECORD_WAIT_MS);
  const killed = [...first.killed, ...late.killed];
  const exit = readExit(runDirectory(context, run.id), run.id);
  // It may have ended by itself before anybody wanted it to. Whoever looks next reads it again, and goes on from there.
  if (exit.kind === 'failed') return endedMeanwhile(context, run, notRead(exit));
  const result = await finaliseRun(context, run, {
    exit,
    actor: context.actor,
    evidence: describeTold({ ...first, killed }),
    graceMs: 0,
    known: late.end === 'proven' ? 'kernel' : undefined,
  });
  await checkpoint('retire.ended');
  return result.is === 'children' ? { is: 'unproven', because: result.because, isGone: true } : result;
}

/** What came to light after the tree was gone, while its keeper is stopped, or finalises. */
async function endLate(context: Context, run: RunningRun, tree: RunTree): Promise<EndReport | RetireResult> {
  await checkpoint('retire.keeper_stopped');
  // Or it was quicker, wrote the outcome on its own proof, and is gone: without it a look takes in the whole machine.
  const finalised = probe(context.table, run.keeper).is === 'dead' ? await context.store.run(run.id) : null;
  if (finalised?.state === 'ended') return { is: 'ended', run: finalised };
  const late = await endTree(tree, 0);
  if (late.end === 'survived') {
    signalProven(context.table, run.keeper, 'SIGCONT');
    return reportSurvivors(context, run, late);
  }
  await removeHeld(context, run);
  return late;
}

/** Its keeper may have come to write the outcome. */
async function endedMeanwhile(context: Context, run: RunningRun, because: string): Promise<RetireResult> {
  const stored = await context.store.run(run.id);
  if (stored?.state === 'ended') return { is: 'ended', run: stored };
  return { is: 'unproven', because, isGone: true };
}

/**
 * The harness is asked in the way it likes; all else of the tree in the usual one. A command below one of them is part of
 * the tree too, also when its environment was wiped.
 */
async function askedWith(
  { context, close }: Hearing,
  run: RunningRun,
): Promise<(member: Member) => NodeJS.Signals> {
  const signal = (await adapterOf(context, run)).stopSignal(run.argv);
  return ({ pid }) => {
    if (pid === process.ppid) close();
    return pid === run.harness?.pid ? signal : 'SIGTERM';
  };
}

function noting(reached: Reached, tree: RunTree): RunTree {
  return {
    ...tree,
    signal: (member, signal) => {
      const signalled = tree.signal(member, signal);
      if (signalled === 'sent') reached.isAny = true;
      return signalled;
    },
    killAtOnce: () => {
      // It may fail half-way.
      reached.isAny = true;
      return tree.killAtOnce();
    },
  };
}

async function reportSurvivors(
  context: Context,
  run: RunningRun,
  { survivors, because, unsignalled }: Survivors,
): Promise<RetireResult> {
  const left: Survivors = {
    survivors,
    ...(because === undefined ? {} : { because }),
    ...(unsignalled === undefined ? {} : { unsignalled }),
  };
  const words = describeSurvivors(left);
  await context.store.step(run.id, { kind: 'survive', because: words, survivors, actor: context.actor });
  return { is: 'survivors', ...left };
}

/** With the intent on record its launcher can no longer start it, and ends it as soon as it tries. */
async function retireClaimed(context: Context, run: LiveRun): Promise<RetireResult> {
  let latest = await reconcileRun(context, run);
  await until(async () => {
    const stored = await context.store.run(run.id);
    latest = stored === null ? latest : await reconcileRun(context, stored);
    return latest.run.state !== 'claimed';
  }, LAUNCHER_WAIT_MS);
  if (latest.run.state === 'ended') return { is: 'ended', run: latest.run };
  return {
    is: 'unproven',
    because: `its launcher (pid ${run.launcher.pid}) has neither started it nor given it up yet; try again, and end that process only if it is stuck`,
  };
}

function hasRecordedExit(context: Context, run: RunningRun): boolean {
  const isKeeperGone = probe(context.table, run.keeper).is === 'dead';
  return isKeeperGone || isOnRecord(readExit(runDirectory(context, run.id), run.id));
}

async function until(condition: () => boolean | Promise<boolean>, limitMs: number): Promise<void> {
  const deadline = performance.now() + limitMs;
  while (!(await condition()) && performance.now() < deadline) await sleep(POLL_MS);
}
