/**
 * Launch: no window in which two live, or one is forgotten.
 *   claim → keeper started blocked and identified → `running` with that identity → keeper let go → executing.
 * The claim decides; what is looked at before it only chooses how to ask.
 */
import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { ReeveError } from '../api/errors.ts';
import type { OutOfReach } from '../lifecycle/reach.ts';
import type { EndedRun, LiveRun, RunMode } from '../lifecycle/run.ts';
import { proposeSessionName, refuseSessionName } from '../lifecycle/session.ts';
import type { BudgetChange } from '../lifecycle/session-budget.ts';
import { planStart } from '../lifecycle/takeover.ts';
import type { OnLive } from '../lifecycle/takeover.ts';
import type { HarnessName } from '../harness/adapter.ts';
import { checkpoint } from '../process/checkpoint.ts';
import { HELD_BY_ANOTHER } from '../process/keeper.ts';
import { identify } from '../process/process-table.ts';
import { isReplaced, REPLACEMENT } from '../api/raw-bytes.ts';
import { refuseDirectory } from '../process/refuse-directory.ts';
import { logPathIn } from '../process/run-directory.ts';
import { requireSpareFiles } from '../process/spare-files.ts';
import { tieToTerminal } from '../process/terminal.ts';
import type { TerminalTie } from '../process/terminal.ts';
import { hashToken } from '../store/sql-store.ts';
import type { ClaimRequest, ClaimResult, SessionWithRun } from '../store/store.ts';
import { checkConfig } from './config-check.ts';
import { containmentLimit } from './containment-limit.ts';
import type { Context } from './context.ts';
import { describeSurvivors } from './describe-members.ts';
import type { LiveHarness } from './discovery.ts';
import { prepareExecution, readHarness } from './harness-launch.ts';
import type { Execution, HarnessLaunch } from './harness-launch.ts';
import { refuseIdAsName } from './id-as-name.ts';
import { isInside, probeRun, runDirectory } from './liveness.ts';
import { parentFor, refuseChild } from './parentage.ts';
import type { ChildRequest } from './parentage.ts';
import { isOnOtherHost, lastWay, notEnded } from './reach.ts';
import { newId } from './new-id.ts';
import { requireOwnersKnown } from './ownership/continuity.ts';
import type { OwnerElsewhere } from './ownership/elsewhere.ts';
import { holderOf } from './ownership/holder.ts';
import type { Holder } from './ownership/holder.ts';
import { requireSameProgram } from './own-program.ts';
import { requireProgram } from './require-program.ts';
import { startClaimed } from './start-claimed.ts';
import type { Started, StartResult } from './start-claimed.ts';

/** What a harness gets between being asked to end and being killed: a model call in flight may want saving. */
export const DEFAULT_GRACE_MS = 10_000;

export interface LaunchRequest {
  readonly argv: readonly string[];
  /** Recognised by the name of the program when it is not given. */
  readonly harness?: HarnessName | undefined;
  /** With `retire`: also end a process of the same conversation that Reeve did not start. */
  readonly unmanaged?: boolean | undefined;
  /** Told of each of those as soon as it was ended, whatever becomes of the start. */
  readonly onUnmanagedEnded?: ((owner: LiveHarness) => void) | undefined;
  /** A readable new name is chosen when none is given. */
  readonly session?: string | undefined;
  readonly cwd?: string | undefined;
  readonly mode?: RunMode | undefined;
  readonly onLive?: OnLive | undefined;
  readonly graceMs?: number | undefined;
  /** Where a foreground run's standard output goes; `stderr` keeps this process's own standard output clean. */
  readonly foregroundOutput?: 'inherit' | 'stderr' | undefined;
  /** How the caller was tied to a terminal before it began to catch SIGHUP; by default, how it is at the claim. */
  readonly terminal?: TerminalTie | undefined;
  /** Inside a run: what becomes of this one when that one ends (by default it is cancelled), and what it is about. */
  readonly child?: ChildRequest | undefined;
  /** What changes about what the session may spend. What was spent stays spent. */
  readonly budget?: BudgetChange | undefined;
  /**
   * Called once the session is claimed and before anything of the run executes; its answer is added to the environment.
   * When it throws, the run never starts.
   */
  readonly beforeStart?: ((claimed: Claimed) => Promise<Readonly<Record<string, string>>>) | undefined;
}

export interface Claimed {
  readonly runId: string;
  readonly runDirectory: string;
}

export interface Owner extends SessionWithRun {
  readonly run: LiveRun;
}

export type LaunchResult =
  | ({ readonly is: 'started'; readonly replaced: EndedRun | null } & Started)
  | ({ readonly is: 'attached' } & Owner)
  /**
   * `away` says why it could not be ended from here, when it could not. With `nativeId`, the owner is of another session,
   * whose run serves the conversation although it is not bound to it.
   */
  | ({
      readonly is: 'refused';
      readonly code: 'live_owner' | 'inside_own_run';
      readonly away: OutOfReach | null;
      readonly nativeId?: string;
    } & Owner)
  /** `lives`: it is known to, and only what it does is not. `wayOn`: where more can be proven than here. */
  | (Readonly<{ is: 'unproven'; because: string; lives?: true; wayOn?: string }> & Owner)
  /** A process that Reeve did not start serves the conversation. `because` says why it lives on although told to end. */
  | { readonly is: 'unmanaged'; readonly owner: LiveHarness; readonly because: string | null }
  /** A run of another state directory or store serves the conversation. */
  | ({ readonly is: 'elsewhere' } & OwnerElsewhere)
  | ({ readonly is: 'never_started'; readonly replaced: EndedRun | null } & SessionWithRun);

const REFUSALS: ReadonlySet<LaunchResult['is']> = new Set(['refused', 'unproven', 'unmanaged', 'elsewhere']);

/** Each round somebody else was faster; so many in a row mean a fight that this caller should not go on with. */
const MAX_ROUNDS = 100;

export async function launch(given: Context, request: LaunchRequest): Promise<LaunchResult> {
  const context = isReplaced(given.environment) ? await withBytes(given) : given;
  const result = await launchOnce(context, request);
  const isRefused = REFUSALS.has(result.is);
  // Only counted: that it cannot be changes nothing about the answer.
  if (isRefused) await context.store.count('claims_lost').catch(() => {});
  return result;
}

/** What is not UTF-8 arrives as it is, or nothing is started. */
async function withBytes(context: Context): Promise<Context> {
  const { ownEnvironment } = await import('../process/own-words.ts');
  const own = ownEnvironment(context.environment);
  if (own.is === 'known') return { ...context, environment: own.environment };
  throw new ReeveError(
    'usage',
    `The variable ${own.name} has bytes that are not UTF-8, and this system does not say which.`,
    { hint: 'Nothing was started. Unset it, or give it a value in UTF-8.' },
  );
}

/** All that can be known to be wrong with a start before anything is done for it. */
export async function checkLaunch(context: Context, request: LaunchRequest): Promise<void> {
  const order = await checkedRequest(context, request);
  await checkBeforeEnding(context, order, await sessionFor(context, order));
}

/** Nobody is ended for a start that is then refused. */
async function checkBeforeEnding(
  context: Context,
  order: Order,
  existing: SessionWithRun | null,
): Promise<void> {
  requireProgram(context, order.launch.execution[0] ?? '', order.cwd);
  requireSpareFiles();
  await checkBudget(context, order, existing);
  // Where it cannot be read who holds the session, the start would be refused once its owner is gone.
  await holderFor(context, existing, order);
}

async function launchOnce(context: Context, request: LaunchRequest): Promise<LaunchResult> {
  const order = await checkedRequest(context, request);
  await requireOwnersKnown(context);
  if (order.mode === 'tmux') await (await import('./pane-keeper.ts')).requirePane(context);
  let replaced: EndedRun | null = null;
  const ended: LiveHarness[] = [];
  if (order.launch.mayExist) await (await unsaid()).hearAll(context);
  for (let round = 1; round <= MAX_ROUNDS; round += 1) {
    const existing = await sessionFor(context, order);
    const step = await dealWithOwner(context, existing, order);
    if (step.is === 'retired') replaced = step.run;
    else if (step.is !== 'free') return step;
    const holder = await dealWithHolder(context, existing, order);
    if (holder === 'announced') continue;
    if (holder !== null) return holder;
    if (order.launch.mayExist) {
      const silent = await silentOwner(context, order);
      if (silent !== null) return silent;
      const outsider = await (
        await outsiders()
      ).dealWithOutsiders(context, {
        ...order,
        checkFirst: () => checkBeforeEnding(context, order, existing),
      });
      if (outsider.is !== 'none') return outsider;
      ended.push(...outsider.ended);
    }

    const firstLookMs = await checkBudget(context, order, existing);
    const claimed = await claim(context, order, existing?.session.name ?? order.session);
    if (claimed.result.won) {
      for (const each of ended) await (await outsiders()).noteOutsider(context, claimed.result.run, each);
      const started = await startClaimed(context, claimed.result, {
        token: claimed.token,
        foregroundOutput: order.foregroundOutput ?? 'inherit',
        terminal: order.terminal ?? tieToTerminal(),
        firstLookMs,
        prepare: (directory) => execution(context, order, claimed.runId, directory),
      });
      // Somebody else holds the session or the conversation, as the next look at the files will tell.
      if (isHeldByAnother(started) && round === 1) continue;
      return { ...started, replaced };
    }
    if (claimed.result.because === 'parent_over') return refuseChild(context, claimed.result);
  }
  throw new ReeveError('live_owner', 'Others keep claiming the session faster than this command can.', {
    hint: 'Look with `reeve ls` who they are, then try again.',
  });
}

function isHeldByAnother(started: StartResult): boolean {
  return started.is === 'never_started' && started.run.ending?.reason.startsWith(HELD_BY_ANOTHER) === true;
}

/** Loaded only where there may be a budget. */
async function checkBudget(
  context: Context,
  { parent, budget }: Order,
  existing: SessionWithRun | null,
): Promise<number | null> {
  const parentId = parent?.runId ?? null;
  const isBudgeted = budget !== undefined || parentId !== null || (existing?.session.budget ?? null) !== null;
  const isLimited = await checkConfig(context);
  if (!isBudgeted && !isLimited) return null;
  const { checkBudget: check } = await import('./start-budget.ts');
  return check(context, { existing, parentId, change: budget });
}

async function execution(
  context: Context,
  order: Order,
  runId: string,
  directory: string,
): Promise<Execution> {
  const own = (await order.beforeStart?.({ runId, runDirectory: directory })) ?? {};
  const prepared = prepareExecution(context, order.launch, { id: runId, cwd: order.cwd }, directory);
  return { ...prepared, environment: { ...own, ...prepared.environment } };
}

/** Throws where the answer cannot be read. */
function holderFor(
  context: Context,
  existing: SessionWithRun | null,
  { session: wanted, launch: { adapter, nativeId, mayExist } }: Order,
): Promise<Holder | null> {
  const session = { name: existing?.session.name ?? wanted, id: existing?.session.id };
  return holderOf(context, { session, harness: adapter.name, nativeId, mayExist });
}

/** Somebody owns it of whom this store knows nothing: put on record again, or named. */
async function dealWithHolder(
  context: Context,
  existing: SessionWithRun | null,
  order: Order,
): Promise<'announced' | Extract<LaunchResult, { is: 'elsewhere' }> | null> {
  const holder = await holderFor(context, existing, order);
  if (holder === null) return null;
  const { home, session: its, run } = holder.announcement;
  if (!holder.isForgotten)
    return { is: 'elsewhere', home, run: run.id, session: its.name, pid: null, keeperPid: run.keeper.pid };
  const { announce } = await import('./ownership/announce-living.ts');
  const because = 'the store did not know of it when its session was asked for';
  await announce(context, holder.announcement, { because, isSeen: true });
  return 'announced';
}

/** A run of the same harness that has not said which conversation it serves, where this one cannot be excluded. */
async function silentOwner(
  context: Context,
  { launch: { adapter, nativeId } }: Order,
): Promise<Extract<LaunchResult, { is: 'unproven' }> | null> {
  const owner = nativeId === null ? null : await (await unsaid()).whoMayServe(context, adapter, nativeId);
  if (owner === null) return null;
  const because = 'it has not said yet which conversation it serves, and this one changed since it started';
  const lives = probeRun(context, owner.run).is === 'alive' ? ({ lives: true } as const) : {};
  return { is: 'unproven', because, ...lives, ...owner };
}

const unsaid = () => import('./unsaid.ts');
/** Rare, so loaded late. */
const declared = () => import('./ownership/declared-gone.ts');
/** Loaded only where a conversation may have another owner. */
const outsiders = () => import('./outsiders.ts');

interface Order extends LaunchRequest {
  readonly cwd: string;
  readonly mode: RunMode;
  readonly onLive: OnLive;
  readonly graceMs: number;
  readonly launch: HarnessLaunch;
  readonly parent: ClaimRequest['parent'];
}

/** The session that was asked for; or else the one that the conversation belongs to. */
async function sessionFor(context: Context, order: Order): Promise<SessionWithRun | null> {
  const { adapter, nativeId, mayExist } = order.launch;
  const named = order.session === undefined ? null : await context.store.sessionByName(order.session);
  const bound =
    nativeId === null || !mayExist ? null : await context.store.sessionByNative(adapter.name, nativeId);
  if (bound === null || order.session === undefined || bound.session.name === order.session)
    return bound ?? named;
  throw new ReeveError(
    'bound_elsewhere',
    `Conversation ${nativeId} belongs to session ${bound.session.name}, not to ${order.session}.`,
    {
      hint: `Go on with it there: reeve resume ${bound.session.name}`,
      details: { nativeId, session: bound.session.name },
    },
  );
}

async function checkedRequest(context: Context, request: LaunchRequest): Promise<Order> {
  const [program] = request.argv;
  if (program === undefined || program === '') {
    throw new ReeveError('usage', 'No command was given.', {
      hint: 'Put it behind --, as in: reeve run -- claude',
    });
  }
  if ([...request.argv, request.cwd ?? ''].some((word) => word.includes('\0'))) {
    throw new ReeveError('usage', 'A command or directory cannot contain a NUL character.');
  }
  if (request.cwd === '') throw new ReeveError('usage', 'The directory to run in cannot be an empty text.');
  containmentLimit(context);
  requireSameProgram();
  if (request.graceMs !== undefined && !(request.graceMs >= 0)) {
    throw new ReeveError('usage', 'The grace must be a number of milliseconds that is not negative.');
  }
  if (request.unmanaged === true && request.onLive !== 'retire') {
    throw new ReeveError('usage', 'Ending a process that Reeve did not start goes with taking over only.', {
      hint: 'Nothing was started. Add --on-live retire, or leave --unmanaged out.',
    });
  }
  const refusal =
    request.session === undefined
      ? null
      : (refuseSessionName(request.session) ?? (await refuseIdAsName(context, request.session)));
  if (refusal !== null) {
    throw new ReeveError(
      'bad_name',
      `${quoted(request.session ?? '')} cannot be a session's name: ${refusal}.`,
      {
        hint: 'Choose another one with --session.',
      },
    );
  }
  const cwd = directoryOf(request.cwd);
  const closed = refuseDirectory(cwd);
  if (closed !== null) {
    throw new ReeveError('bad_directory', `${cwd} is not a directory that can be entered: ${closed}.`, {
      hint: 'Nothing was changed. Give another one with --cwd.',
    });
  }
  return {
    ...request,
    parent: await parentFor(context, request.child),
    launch: await readHarness(context, { argv: request.argv, harness: request.harness, cwd }),
    cwd,
    mode: request.mode ?? 'detached',
    onLive: request.onLive ?? 'refuse',
    graceMs: request.graceMs ?? DEFAULT_GRACE_MS,
  };
}

type OwnerStep =
  | { readonly is: 'free' }
  | { readonly is: 'retired'; readonly run: EndedRun }
  | Exclude<LaunchResult, { is: 'started' | 'never_started' | 'unmanaged' | 'elsewhere' }>;

async function dealWithOwner(
  context: Context,
  existing: SessionWithRun | null,
  order: Order,
): Promise<OwnerStep> {
  const run = existing?.run;
  if (existing === null || run === undefined) return { is: 'free' };
  if (run.state === 'ended') {
    if (run.ending.proof === 'word') await (await declared()).refuseLiving(context, existing.session, run);
    return { is: 'free' };
  }
  const owner: Owner = { session: existing.session, run };
  const liveness = probeRun(context, run);
  if (order.onLive !== 'retire' && liveness.is === 'alive' && liveness.isStopped === true) {
    const seen = await (await import('./settle.ts')).lookAgain(context, run);
    if (seen.run.state === 'ended') return { is: 'free' };
  }
  const callerIsInside =
    order.onLive === 'retire' &&
    (isInside(context, run) || (await (await import('./lineage.ts')).isInsideChild(context, run)));
  const isElsewhere = isOnOtherHost(context, run);
  const plan = planStart({ liveness, isOnOtherHost: isElsewhere, callerIsInside }, order.onLive);
  switch (plan.do) {
    case 'claim':
      return { is: 'free' };
    case 'attach':
      return { is: 'attached', ...owner };
    case 'refuse':
      return plan.code === 'unproven'
        ? { is: 'unproven', because: plan.because, ...owner }
        : { is: 'refused', code: plan.code, away: notEnded(context, run), ...owner };
    case 'reconcile': {
      const seen = await (await import('./reconcile.ts')).reconcileRun(context, run);
      if (seen.run.state === 'ended') return { is: 'free' };
      const because = seen.because ?? 'its end could not be proven';
      return { is: 'unproven', because, wayOn: lastWay(context, owner), ...owner };
    }
    case 'retire':
      await checkBeforeEnding(context, order, existing);
      return retireOwner(context, owner, order);
  }
}

async function retireOwner(context: Context, owner: Owner, order: Order): Promise<OwnerStep> {
  const { intentNow, retireRun } = await import('./retire.ts');
  const intent = intentNow({
    outcome: 'superseded',
    actor: context.actor,
    // Until the new claim nobody has taken anything over.
    reason: `${context.actor} asked to take the session over`,
  });
  const result = await retireRun(context, owner.run, intent, order.graceMs);
  switch (result.is) {
    case 'ended':
      return { is: 'retired', run: result.run };
    case 'out_of_reach':
      return { is: 'refused', code: 'live_owner', away: result, ...owner };
    case 'unproven':
      return { is: 'unproven', because: result.because, ...owner };
    case 'survivors':
      return { is: 'unproven', because: describeSurvivors(result), ...owner };
  }
}

async function claim(
  context: Context,
  order: Order,
  name: string | undefined,
): Promise<{ result: ClaimResult; runId: string; token: string }> {
  const runId = newId('r');
  const token = randomBytes(24).toString('base64url');
  const result = await context.store.claim({
    runId,
    sessionId: newId('s'),
    sessionName: name ?? (await freeName(context, order)),
    mustBeNew: name === undefined,
    harness: order.launch.adapter.name,
    cwd: order.cwd,
    argv: order.launch.argv,
    mode: order.mode,
    actor: context.actor,
    launcher: identify(context.table, process.pid),
    tokenHash: hashToken(token),
    nativeId: order.launch.nativeId,
    parent: order.parent,
    budget: order.budget,
    logPath: order.mode !== 'foreground' ? logPathIn(runDirectory(context, runId)) : null,
  });
  if (result.won) await checkpoint('launch.claimed');
  return { result, runId, token };
}

/** Free now; whether it still is when it is claimed, the claim decides. */
async function freeName(context: Context, order: Order): Promise<string> {
  for (let number = 1; ; number += 1) {
    const { adapter, argv } = order.launch;
    const program = adapter.name === 'command' ? (argv[0] ?? '') : adapter.name;
    const name = proposeSessionName(order.cwd, program, number);
    if ((await context.store.sessionByName(name)) === null) return name;
  }
}

function directoryOf(path: string | undefined): string {
  if (path !== undefined && isAbsolute(path)) return path;
  try {
    return resolve(path ?? ownDirectory());
  } catch (error) {
    if (error instanceof ReeveError) throw error;
    throw new ReeveError('bad_directory', 'The directory that this command was called in is gone.', {
      hint: 'Go to one that exists, or give one with --cwd.',
      cause: error,
    });
  }
}

/** A name that is not UTF-8 may read like that of another directory. */
function ownDirectory(): string {
  const path = process.cwd();
  if (!path.includes(REPLACEMENT)) return path;
  const [named, own] = [statSync(path, { throwIfNoEntry: false }), statSync('.')];
  if (named?.dev === own.dev && named.ino === own.ino) return path;
  throw new ReeveError(
    'bad_directory',
    'The path of this directory is not UTF-8, so nothing is started in it.',
    {
      hint: 'Go to another one, or give one with --cwd.',
    },
  );
}

/** Control characters of a bad name must not reach a terminal. */
function quoted(name: string): string {
  return JSON.stringify(name.length > 60 ? `${name.slice(0, 60)}…` : name);
}
