/** From the claim to an executing harness. */
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import { ReeveError } from '../api/errors.ts';
import { SESSION_VARIABLES } from '../harness/session-variables.ts';
import { isOnRecord } from '../lifecycle/exit.ts';
import type { ExitReading } from '../lifecycle/exit.ts';
import type { ProcessIdentity } from '../lifecycle/process-identity.ts';
import type { Containment, EndedRun, Run, RunningRun } from '../lifecycle/run.ts';
import { checkpoint } from '../process/checkpoint.ts';
import { leaveCgroupOfRun, removeCgroup } from '../process/cgroup.ts';
import { chooseContainment } from '../process/containment.ts';
import { keeperEnvironment, scrubEnvironment } from '../process/environment.ts';
import { spawnKeeper } from '../process/keeper.ts';
import type { Keeper, KeeperOrder } from '../process/keeper.ts';
import { identify } from '../process/process-table.ts';
import { createRunDirectory, harnessSinceMs, readExit } from '../process/run-directory.ts';
import { signalProven } from '../process/run-tree.ts';
import { noteSpared } from '../process/spared.ts';
import { hasControllingTerminal, isInTerminalForeground } from '../process/terminal.ts';
import type { TerminalTie } from '../process/terminal.ts';
import type { SessionWithRun } from '../store/store.ts';
import { storeSecretsIn } from '../store/store-secrets.ts';
import { storeVariablesIn } from '../store/store-variables.ts';
import { containmentLimit } from './containment-limit.ts';
import type { Context } from './context.ts';
import type { Execution } from './harness-launch.ts';
import { recordedHarnessSoFar, runDirectory } from './liveness.ts';
import { noteSeen } from './ownership/continuity.ts';
import { toHold } from './ownership/hold.ts';

/** A keeper answers within milliseconds, unless it was stopped or the file system of the command hangs. */
const REPORT_LIMIT_MS = 10_000;
/** One that is told nothing ends within milliseconds, unless it was stopped or the store keeps its finaliser waiting. */
const ABANDON_LIMIT_MS = 5_000;

/** Named here: whoever uses the library need not have the types of Node. */
export type PassedSignal = 'SIGINT' | 'SIGQUIT' | 'SIGTERM' | 'SIGHUP' | 'SIGUSR1' | 'SIGUSR2';

export interface Started extends SessionWithRun {
  /** Given to the harness, and to nobody else. */
  readonly token: string;
  /** Waits until the run is over, as the caller of a foreground run does. */
  readonly over: () => Promise<EndedRun>;
  /** How the harness ended, as its keeper noted it: also where the store cannot be asked any more. */
  readonly notedExit: () => ExitReading;
  /** Passes a signal on to the harness, if that is still the same process and does not get it from the terminal. */
  readonly forward: (signal: PassedSignal) => void;
  /** The same for a signal from before this was known. Only a harness that was there by then may have got it from the terminal. */
  readonly forwardEarly: (signal: PassedSignal, atMs: number) => void;
  /** Lets this process exit while the run goes on. */
  readonly release: () => void;
}

export type StartResult =
  | ({ readonly is: 'started' } & Started)
  | ({ readonly is: 'never_started' } & SessionWithRun);

export interface StartOrder {
  readonly token: string;
  readonly foregroundOutput: 'inherit' | 'stderr';
  /** How the launcher was tied to a terminal when the start began. */
  readonly terminal: TerminalTie;
  /** What is executed, and what it finds in its environment; called once the run's directory is there. */
  readonly prepare: (runDirectory: string) => Execution | Promise<Execution>;
  /** When its keeper is to have it looked at; null when there is nothing to look for. */
  readonly firstLookMs: number | null;
}

export async function startClaimed(
  context: Context,
  claimed: SessionWithRun,
  { token, foregroundOutput, terminal, prepare, firstLookMs }: StartOrder,
): Promise<StartResult> {
  const { session, run } = claimed;
  // What was running already was not born into anything that holds it.
  const containment = chooseContainment(run.id, run.mode === 'adopted' ? 'marks' : containmentLimit(context));
  const group = groupOf(run.mode, terminal);
  // Asked once: the files that it depends on may be changed at any time.
  const withheld = storeSecretsIn(context.environment);
  let keeper: Keeper;
  let execution: Execution;
  try {
    createRunDirectory(runDirectory(context, run.id));
    execution = await prepare(runDirectory(context, run.id));
    keeper = await startKeeper(context, run, {
      runId: run.id,
      runDirectory: runDirectory(context, run.id),
      sessionName: session.name,
      mode: run.mode,
      group,
      terminal: run.mode === 'foreground' ? terminal : 'none',
      output: run.mode === 'adopted' ? { log: '/dev/null' } : outputOf(run, foregroundOutput),
      containment,
      environment: {
        ...keeperEnvironment(context.environment, context.home.path, withheld),
        ...storeVariables(context, withheld).open,
      },
      finaliser: [process.execPath, programPath('finaliser'), run.id],
      watcher: programPath('watcher'),
      firstLookMs,
    });
  } catch (error) {
    // No keeper has been told of it, so nobody else will give it back.
    if (containment.by === 'cgroup') removeCgroup(containment.path);
    return giveUp(context, claimed, messageOf(error));
  }
  await checkpoint('launch.keeper_spawned');
  let held: ReturnType<typeof toHold>;
  let running: RunningRun | null;
  try {
    const identity = identify(context.table, keeper.pid);
    if (run.parent !== null) await keepApart(context, run, identity, containment);
    running = await recordKeeper(context, run, identity, containment);
    if (running === null)
      return await abandon(context, claimed, keeper, 'it was told to end before it had started');
    held = toHold(context, session, running, run.mode === 'adopted' ? execution.argv : null);
  } catch (error) {
    // A keeper that is never let go nor given up would wait for this process, and this process for it.
    await abandon(context, claimed, keeper, messageOf(error)).catch(() => {});
    throw error;
  }
  await checkpoint('launch.started');
  const environment = {
    ...harnessEnvironment(context, claimed, token, withheld),
    ...execution.environment,
    ...keeper.terminal,
  };
  const { secrets } = storeVariables(context, withheld);
  keeper.letGo({ ...held, argv: execution.argv, cwd: run.cwd, environment, secrets });
  await checkpoint('launch.released');
  // While the keeper starts it. Nobody has been told of this claim before it is noted; and one whose launcher dies here is
  // known by what its keeper holds.
  const [result] = await Promise.all([
    afterRelease(context, { session, run: running }, keeper, { token, group, terminal }),
    // It executes by now, whatever becomes of the note; and while it lives, its keeper holds what a lost store forgot.
    noteSeen(context, run).catch(() => {}),
  ]);
  return result;
}

function outputOf({ logPath }: Run, foreground: 'inherit' | 'stderr'): KeeperOrder['output'] {
  return logPath === null ? foreground : { log: logPath };
}

type Group = KeeperOrder['group'];

function groupOf(mode: Run['mode'], terminal: TerminalTie): Group {
  if (mode === 'tmux') return 'pane';
  if (mode === 'adopted') return 'adopted';
  // The kernel tells the foreground group of the end of its terminal: who has no part in that must not be in it.
  return mode === 'foreground' && terminal !== 'kept' && isInTerminalForeground() ? 'shared' : 'own';
}

async function startKeeper(context: Context, run: Run, order: KeeperOrder): Promise<Keeper> {
  if (run.mode !== 'tmux') return spawnKeeper(order);
  // Loaded only here, for a start is mostly loading.
  const { spawnPaneKeeper } = await import('./pane-keeper.ts');
  return spawnPaneKeeper(context, order, run.logPath ?? '/dev/null', run.cwd);
}

async function recordKeeper(
  context: Context,
  run: Run,
  keeper: ProcessIdentity,
  containment: Containment,
): Promise<RunningRun | null> {
  const awakeFromMs = context.table.awakeMs();
  const step = { kind: 'start', keeper, containment, atMs: Date.now(), awakeFromMs } as const;
  const result = await context.store.step(run.id, step);
  return result.taken && result.run.state === 'running' ? result.run : null;
}

/** A child's keeper descends from the runs above it, and must not be ended as one of their processes. */
async function keepApart(
  context: Context,
  run: Run,
  { pid, startTime }: ProcessIdentity,
  containment: Containment,
): Promise<void> {
  if (!leaveCgroupOfRun(pid) && run.parent?.onParentEnd !== 'cancel') {
    throw new Error(
      'it cannot be taken out of the cgroup of the run that starts it, and so would end with it',
    );
  }
  const cgroup = containment.by === 'cgroup' ? containment.path : null;
  for (const ancestor of await context.store.ancestorsOf(run.id)) {
    noteSpared(runDirectory(context, ancestor), { pid, startTime: startTime ?? '', runId: run.id, cgroup });
  }
  await (await import('./follow-owner.ts')).noteOwnerOf(context, run);
}

async function abandon(
  context: Context,
  claimed: SessionWithRun,
  keeper: Keeper,
  reason: string,
): Promise<StartResult> {
  keeper.abandon();
  // It starts nothing any more, whatever it is doing: its finaliser may wait for the store that this process has open.
  await Promise.race([keeper.exited, sleep(ABANDON_LIMIT_MS, undefined, { ref: false })]);
  keeper.release();
  return giveUp(context, claimed, reason);
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\.$/, '');
}

async function afterRelease(
  context: Context,
  claimed: SessionWithRun,
  keeper: Keeper,
  { token, ...place }: { token: string; group: Group; terminal: TerminalTie },
): Promise<StartResult> {
  const report = await Promise.race([keeper.report, sleep(REPORT_LIMIT_MS, 'late' as const, { ref: false })]);
  if (report === 'late') {
    keeper.release();
    throw new ReeveError(
      'unproven',
      `The keeper of run ${claimed.run.id} (pid ${keeper.pid}) does not answer.`,
      {
        hint: `The run is on record and may be executing. Look: reeve show ${claimed.session.name}`,
      },
    );
  }
  await checkpoint('launch.executing');
  const { session, run } = claimed;
  if (report.is === 'executing') {
    const harness = recordedHarnessSoFar(context, run.id);
    const latest = await recordHarness(context, run, harness);
    const over = async () => {
      // Before the wait: by the end of a long run, an update may have replaced the program on disk.
      await import('./reconcile.ts');
      await keeper.exited;
      return endOf(context, run);
    };
    return {
      is: 'started',
      session,
      run: latest,
      token,
      over,
      notedExit: () => readExit(runDirectory(context, run.id), run.id),
      release: keeper.release,
      ...forwarding(context, latest, harness, place),
    };
  }
  await keeper.exited;
  return { is: 'never_started', session, run: await endOf(context, run) };
}

/**
 * Refused when the run has already ended: a quick end is never overwritten by a late "it runs". A store that fails now
 * changes nothing about the run, which executes; whoever looks next finds the harness's own record.
 */
async function recordHarness(context: Context, run: Run, harness: ProcessIdentity | null): Promise<Run> {
  try {
    if (harness !== null) await context.store.step(run.id, { kind: 'executing', harness });
    return (await context.store.run(run.id)) ?? run;
  } catch {
    return run;
  }
}

/** What shares the terminal's group gets Ctrl-C from the terminal; what leads a group of its own, only from here. */
function forwarding(
  context: Context,
  run: Run,
  harness: ProcessIdentity | null,
  { group, terminal }: { group: Group; terminal: TerminalTie },
): Pick<Started, 'forward' | 'forwardEarly'> {
  const send = (signal: PassedSignal) => {
    if (signal === 'SIGHUP') {
      if (terminal === 'kept' && !hasControllingTerminal()) return;
      // As the leader of its session this process alone is told that the terminal is gone.
      if (run.keeper !== null) signalProven(context.table, run.keeper, signal);
    }
    if (harness === null) return;
    if (run.parent === null) signalProven(context.table, harness, signal);
    // This process is swept together with its run, and what that means for the child is for its policy to say.
    else
      void isEnding(context, run.parent.startedBy).then(
        (isOver) => isOver || signalProven(context.table, harness, signal),
      );
  };
  const comesFromTerminal = (signal: PassedSignal) =>
    group === 'shared' && (signal === 'SIGINT' || signal === 'SIGQUIT') && isInTerminalForeground();
  return {
    forwardEarly: (signal, atMs) => {
      const isTold = comesFromTerminal(signal) && atMs >= harnessSinceMs(runDirectory(context, run.id));
      if (!isTold) send(signal);
    },
    forward: (signal) => {
      if (!comesFromTerminal(signal)) send(signal);
    },
  };
}

/** Not known is not over: a signal is passed on then. */
async function isEnding(context: Context, runId: string): Promise<boolean> {
  if (isOnRecord(readExit(runDirectory(context, runId), runId))) return true;
  const run = await context.store.run(runId).catch(() => null);
  return run !== null && (run.state === 'ended' || run.intent !== null);
}

/** After its keeper is gone, a run is ended from the record it left. */
async function endOf(context: Context, run: Run): Promise<EndedRun> {
  const stored = await context.store.run(run.id);
  const seen = stored === null ? null : await (await import('./reconcile.ts')).reconcileRun(context, stored);
  if (seen?.run.state === 'ended') return seen.run;
  throw new ReeveError(
    'unproven',
    `The end of run ${run.id} could not be proven: ${seen?.because ?? 'no record'}.`,
    {
      hint: 'It stays the owner of its session until it is. Look with `reeve why`.',
    },
  );
}

async function giveUp(context: Context, claimed: SessionWithRun, reason: string): Promise<StartResult> {
  const stored = await context.store.run(claimed.run.id);
  const run: Run = stored ?? claimed.run;
  if (run.state === 'ended') return { is: 'never_started', session: claimed.session, run };
  const exit = { kind: 'not_started', reason, atMs: Date.now() } as const;
  const { finaliseRun } = await import('./finalise.ts');
  const result = await finaliseRun(context, run, { exit, actor: context.actor, evidence: [], graceMs: 0 });
  return { is: 'never_started', session: claimed.session, run: result.is === 'ended' ? result.run : run };
}

function harnessEnvironment(
  context: Context,
  { session, run }: SessionWithRun,
  token: string,
  withheld: readonly string[],
) {
  const { TMUX: _tmux, TMUX_PANE: _pane, ...inherited } = context.environment;
  // A harness in a pane of ours must not take the caller's own tmux for its place.
  return scrubEnvironment(run.mode === 'tmux' ? inherited : context.environment, SESSION_VARIABLES, {
    runId: run.id,
    token,
    sessionName: session.name,
    home: context.home.path,
    withheld,
  });
}

/** What the finaliser and the watcher reach the store by, and of it what may be in an environment for all of a run. */
function storeVariables({ environment }: Context, withheld: readonly string[]) {
  const all = Object.entries(storeVariablesIn(environment));
  return {
    open: Object.fromEntries(all.filter(([name]) => !withheld.includes(name))),
    secrets: Object.fromEntries(all.filter(([name]) => withheld.includes(name))),
  };
}

/** Beside this file in the package; in the built package of this checkout when run from its sources. */
function programPath(name: 'finaliser' | 'watcher'): string {
  const candidates = [`${name}.cjs`, `../../dist/${name}.cjs`].map((path) => join(import.meta.dirname, path));
  const found = candidates.find((path) => existsSync(path));
  if (found === undefined) throw new Error(`The ${name} is not built.`);
  return found;
}
