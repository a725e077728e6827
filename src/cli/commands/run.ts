/** `run`, `child run` and `resume`: the same start, of a given command or of the session's own. */
import { constants } from 'node:os';
import type { HarnessName } from '../../supervisor/reeve.ts';
import type { OnParentEnd } from '../../lifecycle/child.ts';
import type { EndedRun, Ending } from '../../lifecycle/run.ts';
import type { OnLive } from '../../lifecycle/takeover.ts';
import type { BudgetChange, OnExceeded } from '../../lifecycle/session-budget.ts';
import { tieToTerminal } from '../../supervisor/reeve.ts';
import type { Reeve } from '../../supervisor/reeve.ts';
import type { LaunchRequest, LaunchResult } from '../../supervisor/launch.ts';
import { followLog } from '../follow.ts';
import { joinPane } from '../pane.ts';
import { printLines, printError, say } from '../output.ts';
import { isAdministration } from '../../supervisor/harness-launch.ts';
import { accepted, describeUnmanaged, ownerDetails } from '../../supervisor/owner-words.ts';
import type { PassedSignal } from '../../supervisor/start-claimed.ts';
import { ERRORS, ReeveError } from '../../api/errors.ts';
import { clock } from '../../api/time-words.ts';
import { openPatiently } from '../with-reeve.ts';

export interface StartOptions {
  readonly session?: string;
  readonly cwd?: string;
  readonly detach?: boolean;
  readonly tmux?: boolean;
  readonly onLive?: OnLive;
  readonly force?: boolean;
  readonly unmanaged?: boolean;
  readonly harness?: HarnessName;
  readonly prompt?: string;
  readonly grace?: number;
  readonly maxTokens?: number;
  readonly maxCost?: number;
  readonly maxMinutes?: number;
  readonly onBudget?: OnExceeded;
  readonly json?: boolean;
}

export interface ChildOptions extends StartOptions {
  readonly onParentEnd?: OnParentEnd;
  readonly adoptWithin?: number;
  readonly subject?: string;
  readonly revision?: string;
}

type BudgetOptions = Pick<StartOptions, 'maxTokens' | 'maxCost' | 'maxMinutes' | 'onBudget'>;

/** Undefined when nothing was given. */
export function budgetFrom(options: BudgetOptions): BudgetChange | undefined {
  const given = {
    tokens: options.maxTokens,
    cost: options.maxCost,
    minutes: options.maxMinutes,
    onExceeded: options.onBudget,
  };
  const change = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return Object.keys(change).length === 0 ? undefined : change;
}

type StartedResult = Extract<LaunchResult, { is: 'started' }>;

export async function run(command: readonly string[], options: StartOptions): Promise<number> {
  const code = await passedBy(command, options);
  if (code !== null) return code;
  return start(options, (reeve, request) =>
    reeve.launch({ ...request, session: options.session, argv: command }),
  );
}

/** Whoever asks for anything of a session gets one. Null where there is one to be made. */
async function passedBy(command: readonly string[], options: StartOptions): Promise<number | null> {
  if (Object.keys(options).length > 0 || !(await isAdministration(command))) return null;
  return (await import('../../supervisor/pass-by.ts')).passBy(command);
}

export async function childRun(command: readonly string[], options: ChildOptions): Promise<number> {
  const { onParentEnd, adoptWithin, subject, revision } = options;
  const child = {
    isRequired: true,
    ...(onParentEnd === undefined ? {} : { onParentEnd }),
    ...(adoptWithin === undefined ? {} : { adoptWithinMs: adoptWithin * 1000 }),
    ...(subject === undefined ? {} : { subject }),
    ...(revision === undefined ? {} : { revision }),
  };
  return start(options, (reeve, request) =>
    reeve.launch({ ...request, session: options.session, argv: command, child }),
  );
}

export async function resume(
  reference: string,
  command: readonly string[],
  options: StartOptions,
): Promise<number> {
  const argv = command.length === 0 ? undefined : command;
  const { prompt } = options;
  return start(options, (reeve, request) => reeve.resume(reference, { ...request, argv, prompt }));
}

async function start(
  options: StartOptions,
  launch: (reeve: Reeve, request: Omit<LaunchRequest, 'argv' | 'session'>) => Promise<LaunchResult>,
): Promise<number> {
  const reeve = await openPatiently();
  // Before signals are held: a hang-up until then ends this process, and nothing has been started.
  const terminal = tieToTerminal();
  const signals = options.detach === true || options.tmux === true ? null : new HeldSignals();
  try {
    const result = await launch(reeve, {
      cwd: options.cwd,
      mode: options.tmux === true ? 'tmux' : options.detach === true ? 'detached' : 'foreground',
      onLive: options.force === true ? 'retire' : options.onLive,
      harness: options.harness,
      unmanaged: options.unmanaged,
      onUnmanagedEnded: (owner) =>
        say(
          `ended ${describeUnmanaged(owner, Date.now())}, which Reeve did not start: it served conversation ${owner.nativeId}.`,
        ),
      graceMs: options.grace === undefined ? undefined : options.grace * 1000,
      budget: budgetFrom(options),
      foregroundOutput: options.json === true ? 'stderr' : 'inherit',
      terminal,
    });
    return await conclude(reeve, result, options, signals);
  } finally {
    signals?.release();
    await reeve.close();
  }
}

async function conclude(
  reeve: Reeve,
  result: LaunchResult,
  options: StartOptions,
  signals: HeldSignals | null,
): Promise<number> {
  if (result.is === 'started' || result.is === 'never_started') sayReplaced(result.replaced);
  const started = accepted(result, Date.now());
  if (started.is === 'attached') return attachTo(reeve, started.session.name, options, ownerDetails(started));
  if (signals !== null) return foreground(reeve, started, options, signals);
  return options.tmux === true && options.detach !== true && options.json !== true
    ? inPane(reeve, started)
    : detached(reeve, started, options);
}

async function detached(reeve: Reeve, result: StartedResult, options: StartOptions): Promise<number> {
  result.release();
  const { session, run: started } = result;
  const replaced = result.replaced?.id ?? null;
  const text = `${session.name}: run ${started.id} (epoch ${started.epoch}) is executing${pidOf(started.harness?.pid)}. ${options.tmux === true ? `Join it: reeve attach ${session.name}` : `Log: reeve logs -f ${session.name}`}`;
  if (options.json === true) printLines(options, { ...(await shownStarted(reeve, result)), replaced }, []);
  else printLines(options, null, [text]);
  return 0;
}

/** Whoever is told of a failure starts it once more, so it is said that it was started. */
async function shownStarted(
  reeve: Reeve,
  { session, run: started }: StartedResult,
): ReturnType<Reeve['show']> {
  try {
    return await reeve.show(session.id);
  } catch (error) {
    if (!(error instanceof ReeveError)) throw error;
    throw new ReeveError(
      error.code,
      `Run ${started.id} of ${session.name} is executing, but cannot be shown. ${error.message}`,
      {
        hint: `Do not start it once more. Look later: reeve show ${session.name}`,
        details: { ...error.details, run: started.id },
        cause: error,
      },
    );
  }
}

/** A session in tmux is joined at once; leaving it leaves it running. */
async function inPane(reeve: Reeve, result: StartedResult): Promise<number> {
  result.release();
  return joinPane(reeve, result.session.name);
}

async function foreground(
  reeve: Reeve,
  result: StartedResult,
  options: StartOptions,
  signals: HeldSignals,
): Promise<number> {
  signals.passTo(result);
  let ended: EndedRun;
  try {
    ended = await result.over();
  } catch (error) {
    return codeWithoutStore(result, options, error);
  }
  if (options.json === true) printLines(options, await reeve.show(result.session.id), []);
  return concludedCode(ended);
}

/** The store has gone for good, or for longer than was waited: the command ended nevertheless, and its keeper saw how. */
function codeWithoutStore({ notedExit }: StartedResult, options: StartOptions, error: unknown): number {
  const exit = notedExit();
  const isUnproven = error instanceof ReeveError && error.code === 'unproven';
  if (exit.kind !== 'exited' || isUnproven) throw error;
  if (options.json === true) printError(options, error);
  const how = exit.signal === null ? `exited with code ${exit.code}` : `was killed by ${exit.signal}`;
  const because = error instanceof Error ? error.message : String(error);
  say(`the command ${how}, which could not be put on record yet: ${because}`);
  return exitCodeOf({ exitCode: exit.code, signal: exit.signal });
}

function concludedCode(ended: EndedRun): number {
  const { outcome, reason } = ended.ending;
  // A success of the command that is none: it did something else than it was asked for.
  const isFalseSuccess = outcome === 'failed' && ended.ending.exitCode === 0;
  if ((outcome !== 'completed' && outcome !== 'failed') || isFalseSuccess) {
    say(`run ${ended.id} ended as ${outcome}: ${reason}.`);
  }
  if (outcome === 'over_budget') return OVER_BUDGET;
  return isFalseSuccess ? 1 : exitCodeOf(ended.ending);
}

/** What it exited with after it was told to end says nothing of why. */
const OVER_BUDGET = ERRORS.over_budget.exitCode;

/** The harness's own code; 128 and the number for a signal, as shells have it; 7 when nobody knows. */
function exitCodeOf({ exitCode, signal }: Pick<Ending, 'exitCode' | 'signal'>): number {
  if (exitCode !== null) return exitCode;
  if (signal === null) return 7;
  const number = Object.entries(constants.signals).find(([name]) => name === signal)?.[1];
  return 128 + (number ?? 0);
}

async function attachTo(
  reeve: Reeve,
  name: string,
  options: StartOptions,
  details: Readonly<Record<string, unknown>>,
): Promise<number> {
  if (options.json === true) {
    printLines(options, { attached: true, ...details }, []);
    return 0;
  }
  if ((await reeve.show(name)).run.mode === 'tmux') return joinPane(reeve, name);
  say(`${name} is alive; following its output. Ctrl-C leaves it running.`);
  await followLog(reeve, name, { follow: true, lines: 20 });
  return 0;
}

function sayReplaced(replaced: EndedRun | null): void {
  if (replaced === null) return;
  const pid = replaced.harness?.pid ?? replaced.keeper?.pid;
  const since = clock(replaced.startedAtMs ?? replaced.claimedAtMs);
  say(
    `replaced run ${replaced.id}${pidOf(pid)}, which had owned the session since ${since}; ${replaced.ending.evidence.at(-1) ?? 'nothing more is known'}.`,
  );
}

function pidOf(pid: number | undefined): string {
  return pid === undefined ? '' : ` (pid ${pid})`;
}

const FORWARDED = [
  'SIGINT',
  'SIGQUIT',
  'SIGTERM',
  'SIGHUP',
  'SIGUSR1',
  'SIGUSR2',
] as const satisfies readonly PassedSignal[];

/** Keeps signals meant for the harness from ending this process, and passes them on as soon as there is a harness. */
class HeldSignals {
  readonly #early: { readonly signal: PassedSignal; readonly atMs: number }[] = [];
  #forward: ((signal: PassedSignal) => void) | null = null;
  // It is only called for those that it was given to.
  readonly #handler = (given: NodeJS.Signals) => {
    const signal = given as PassedSignal;
    if (this.#forward === null) this.#early.push({ signal, atMs: Date.now() });
    else this.#forward(signal);
  };

  constructor() {
    for (const signal of FORWARDED) process.on(signal, this.#handler);
  }

  passTo({ forward, forwardEarly }: Pick<StartedResult, 'forward' | 'forwardEarly'>): void {
    this.#forward = forward;
    for (const { signal, atMs } of this.#early.splice(0)) forwardEarly(signal, atMs);
  }

  release(): void {
    for (const signal of FORWARDED) process.off(signal, this.#handler);
  }
}
