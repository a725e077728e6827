/**
 * A run and its life.
 *
 *   (nothing) --claim--> claimed --start--> running --end--> ended
 *                           |                                  ^
 *                           +--------------end-----------------+
 *
 * - `claimed`: the session is taken; nothing of the run executes yet. The launcher speaks for it.
 * - `running`: a keeper with a proven identity speaks for it. The harness may be about to start, executing, or
 *   gone with its leftovers being swept. `executing` adds the harness's identity and changes no state.
 * - `ended`: terminal. Nothing leads out of it; the outcome is written once.
 *
 * `intend` puts on record who wants the run to end and how, before anything is signalled. The first intent stays as long
 * as its intender is at it; who else wants the end meanwhile stands behind it. One whose intender is over gives way to the
 * next. An intended run that is still `claimed` can no longer start. `survive` adds that it could not be ended: it is
 * alive, but nobody knows for how long, nor what it still does.
 *
 * `withdraw` takes exactly one intent back: its intender was interrupted, or gave up before it had signalled anybody, and
 * the run has not ended. Whoever stood behind it comes next. Only what a person asked for is taken back, or gives way: what an automatic part wants, another one
 * carries on.
 *
 * A run that was started by another one has a `parent`: child.ts tells what `await` and `detach` do to it. A run that
 * has children which were not dealt with cannot end; only the store knows, and refuses.
 *
 * Every step is decided here, and carried out by the store as one conditional write together with its event.
 */
import type { Parentage } from './child.ts';
import type { Activity, Native } from './harness-fact.ts';
import type { ProcessIdentity } from './process-identity.ts';
import type { Proof } from './proof.ts';
import type { BudgetFigures } from './session-budget.ts';

/** Outcomes a person, a successor or an automatic part can ask for. */
export const INTENDED_OUTCOMES = ['stopped', 'superseded', 'cancelled', 'reaped', 'over_budget'] as const;
export type IntendedOutcome = (typeof INTENDED_OUTCOMES)[number];

export const OUTCOMES = ['completed', 'failed', ...INTENDED_OUTCOMES, 'lost', 'never_started'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** The strongest way in which this run's tree is held together, best first. */
export type Containment =
  | { readonly by: 'cgroup'; readonly path: string }
  | { readonly by: 'subreaper' }
  | { readonly by: 'marks' };

/** Where it runs: in the caller's terminal, on its own with a log, in a pane of tmux; or it was running already. */
export const RUN_MODES = ['foreground', 'detached', 'tmux', 'adopted'] as const;
export type RunMode = (typeof RUN_MODES)[number];

export interface Intent {
  readonly outcome: IntendedOutcome;
  readonly actor: string;
  readonly reason: string;
  readonly atMs: number;
  /** The host's time since boot, which unlike the wall clock never jumps: it orders an intent and an exit. */
  readonly uptimeMs: number;
  /** Missing, with `by`, in what was recorded before it was kept: such an intent is neither taken back nor replaced. */
  readonly id?: string;
  /** The process that ends the run for it. */
  readonly by?: ProcessIdentity;
  /** Who else wants the run to end, each by a process of its own, in the order in which they asked. */
  readonly others?: readonly Intent[];
  /** Why the run was not over when that was last tried, as the end of a sentence. */
  readonly failed?: string;
  /** Of one that is over a budget: which limit, and how much was spent then. */
  readonly budget?: BudgetFigures;
}

export interface Ending {
  readonly outcome: Outcome;
  readonly reason: string;
  readonly actor: string;
  readonly evidence: readonly string[];
  /** Missing only in what was recorded before it was kept. */
  readonly proof?: Proof;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly endedAtMs: number;
}

/** By the clock of its host that stands still while the machine sleeps. */
export interface Awake {
  /** What the clock said when it started. */
  readonly fromMs: number;
  /** For how long it had been live and the machine awake when that was recorded last; null when it never was. */
  readonly ms: number | null;
}

interface RunFacts {
  readonly id: string;
  readonly sessionId: string;
  readonly epoch: number;
  readonly mode: RunMode;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly actor: string;
  readonly launcher: ProcessIdentity;
  readonly tokenHash: string;
  readonly logPath: string | null;
  readonly claimedAtMs: number;
  readonly intent: Intent | null;
  readonly harness: ProcessIdentity | null;
  /** The conversation it serves; null for a plain command, and until the harness has said which. */
  readonly native: Native | null;
  /** What the harness said last of what it does; null when it says nothing. */
  readonly activity: Activity | null;
  /** Null for a run that was not started inside another one. */
  readonly parent: Parentage | null;
  /** Null until it has started, and where no clock tells. */
  readonly awake: Awake | null;
  /** What it is over, where a person is asked instead of its being ended for it; null while there is nothing to ask. */
  readonly overBudget: { readonly what: string; readonly sinceMs: number } | null;
}

export interface ClaimedRun extends RunFacts {
  readonly state: 'claimed';
  readonly keeper: null;
  readonly containment: null;
  readonly startedAtMs: null;
  readonly ending: null;
}

export interface RunningRun extends RunFacts {
  readonly state: 'running';
  readonly keeper: ProcessIdentity;
  readonly containment: Containment;
  readonly startedAtMs: number;
  readonly ending: null;
}

export interface EndedRun extends RunFacts {
  readonly state: 'ended';
  readonly keeper: ProcessIdentity | null;
  readonly containment: Containment | null;
  readonly startedAtMs: number | null;
  readonly ending: Ending;
}

export type LiveRun = ClaimedRun | RunningRun;
export type Run = LiveRun | EndedRun;

export type Step =
  | {
      readonly kind: 'start';
      readonly keeper: ProcessIdentity;
      readonly containment: Containment;
      readonly atMs: number;
      /** Null where no clock tells. */
      readonly awakeFromMs: number | null;
    }
  | { readonly kind: 'executing'; readonly harness: ProcessIdentity }
  /** `over` is the intent on record, where its intender was found to be over. */
  | { readonly kind: 'intend'; readonly intent: Intent; readonly over?: Intent }
  /** `because` is why its intender gave up, as the end of a sentence; left out where it was interrupted. */
  | { readonly kind: 'withdraw'; readonly intent: Intent; readonly because?: string }
  /** Told to end, and killed, something of it is alive. `survivors` are for people. */
  | {
      readonly kind: 'survive';
      readonly because: string;
      readonly survivors: readonly unknown[];
      readonly actor: string;
    }
  /** Its owner is over: it waits for the owner's successor, or goes on by itself. `atMs` is the store's time. */
  | { readonly kind: 'await'; readonly ownerId: string; readonly withinMs: number; readonly atMs: number }
  | { readonly kind: 'detach'; readonly ownerId: string }
  /** Without `awakeMs`, what was recorded last stays. `decidedOn` is the intent that the outcome was decided on. */
  | {
      readonly kind: 'end';
      readonly ending: Ending;
      readonly awakeMs?: number;
      readonly decidedOn?: Intent | null;
    };

export interface StepEvent {
  readonly kind:
    | 'run.started'
    | 'run.executing'
    | 'run.intended'
    | 'run.withdrawn'
    | 'run.survivors'
    | 'run.ended'
    | 'child.waiting'
    | 'child.detached';
  readonly actor: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export type StepResult =
  | { readonly taken: true; readonly run: Run; readonly event: StepEvent }
  | {
      readonly taken: false;
      readonly because:
        | 'ended'
        | 'already_started'
        | 'already_intended'
        | 'not_intended'
        | 'intent_changed'
        | 'already_survived'
        | 'not_started'
        | 'not_its_child'
        | 'has_children';
    };

export function takeStep(run: Run, step: Step): StepResult {
  if (run.state === 'ended') return { taken: false, because: 'ended' };
  switch (step.kind) {
    case 'start':
      return start(run, step);
    case 'executing':
      return executing(run, step.harness);
    case 'intend':
      return intend(run, step);
    case 'withdraw':
      return withdraw(run, step);
    case 'survive':
      return survive(run, step);
    case 'await':
    case 'detach':
      return leaveOwner(run, step);
    case 'end':
      return end(run, step);
  }
}

/** Whoever ends a run decides its outcome outside of the store, where an intent may come or go meanwhile. */
function end(run: LiveRun, step: Extract<Step, { kind: 'end' }>): StepResult {
  const { ending, decidedOn } = step;
  if (decidedOn !== undefined && !isSameIntent(run.intent, decidedOn)) {
    return { taken: false, because: 'intent_changed' };
  }
  return {
    taken: true,
    run: { ...run, state: 'ended', ending, awake: awakeAtEnd(run, step) },
    event: { kind: 'run.ended', actor: ending.actor, data: { ...ending } },
  };
}

function start(run: LiveRun, step: Extract<Step, { kind: 'start' }>): StepResult {
  if (run.state === 'running') return { taken: false, because: 'already_started' };
  if (run.intent !== null) return { taken: false, because: 'already_intended' };
  const { keeper, containment, atMs, awakeFromMs } = step;
  const awake = awakeFromMs === null ? null : { fromMs: awakeFromMs, ms: null };
  return {
    taken: true,
    run: { ...run, state: 'running', keeper, containment, startedAtMs: atMs, awake },
    event: { kind: 'run.started', actor: run.actor, data: { keeper, containment } },
  };
}

function awakeAtEnd({ awake }: LiveRun, { awakeMs }: Extract<Step, { kind: 'end' }>): Awake | null {
  return awake === null || awakeMs === undefined ? awake : { ...awake, ms: awakeMs };
}

function executing(run: LiveRun, harness: ProcessIdentity): StepResult {
  if (run.state === 'claimed') return { taken: false, because: 'not_started' };
  if (run.harness !== null) return { taken: false, because: 'already_started' };
  return {
    taken: true,
    run: { ...run, harness },
    event: { kind: 'run.executing', actor: 'keeper', data: { harness, argv: run.argv } },
  };
}

/** More than one person and an automatic part or two are never at it at once; what asks more often is a loop. */
const MAX_OTHERS = 8;

function intend(run: LiveRun, { intent, over }: Extract<Step, { kind: 'intend' }>): StepResult {
  const next = intentAfter(run.intent, intent, over);
  if (next === null) return { taken: false, because: 'already_intended' };
  return {
    taken: true,
    run: { ...run, intent: next },
    event: { kind: 'run.intended', actor: intent.actor, data: { ...intent } },
  };
}

/** Null when nothing changes. */
function intentAfter(current: Intent | null, intent: Intent, over: Intent | undefined): Intent | null {
  if (current === null) return intent;
  if (!mayBeTakenBack(current)) return null;
  const { others = [], failed, uptimeMs } = current;
  if (over !== undefined && isSameIntent(current, over)) {
    return {
      ...intent,
      // An exit that follows the first demand may be on its way to the record: it was not the run's own.
      uptimeMs: Math.min(uptimeMs, intent.uptimeMs),
      ...(failed === undefined ? {} : { failed }),
      ...(others.length === 0 ? {} : { others }),
    };
  }
  const isKnown = [current, ...others].some(({ by }) => isSameProcess(by, intent.by));
  if (intent.id === undefined || isKnown || others.length >= MAX_OTHERS) return null;
  return { ...current, others: [...others, intent] };
}

function withdraw(run: LiveRun, { intent, because }: Extract<Step, { kind: 'withdraw' }>): StepResult {
  // Its launcher was told already that it cannot start it.
  if (run.state === 'claimed') return { taken: false, because: 'not_started' };
  const current = run.intent;
  if (current === null || !mayBeTakenBack(intent)) return { taken: false, because: 'not_intended' };
  const { others = [], ...first } = current;
  const wanted = [first, ...others];
  const left = wanted.filter((each) => !isSameIntent(each, intent));
  if (left.length === wanted.length) return { taken: false, because: 'not_intended' };
  const isFirst = isSameIntent(first, intent);
  // Killed as far as it could be, it does not go on as it was.
  if (isFirst && first.failed !== undefined) return { taken: false, because: 'already_survived' };
  const [next, ...behind] = left;
  return {
    taken: true,
    run: {
      ...run,
      intent: next === undefined ? null : behind.length === 0 ? next : { ...next, others: behind },
    },
    event: {
      kind: 'run.withdrawn',
      actor: intent.actor,
      data: { outcome: intent.outcome, next: next ?? null, ...(because === undefined ? {} : { because }) },
    },
  };
}

function mayBeTakenBack({ id, outcome }: Intent): boolean {
  return id !== undefined && isPersonal(outcome);
}

/** Whether it is a person, or a command of theirs, that asks for it. */
export function isPersonal(outcome: IntendedOutcome): boolean {
  return outcome === 'stopped' || outcome === 'superseded';
}

function isSameIntent(one: Intent | null, other: Intent | null): boolean {
  return one === null || other === null ? one === other : one.id === other.id;
}

function isSameProcess(one: ProcessIdentity | undefined, other: ProcessIdentity | undefined): boolean {
  if (one === undefined || other === undefined) return false;
  return (
    one.pid === other.pid &&
    one.startTime === other.startTime &&
    one.boot === other.boot &&
    one.pidNamespace === other.pidNamespace
  );
}

function survive(run: LiveRun, step: Extract<Step, { kind: 'survive' }>): StepResult {
  if (run.intent === null) return { taken: false, because: 'not_intended' };
  if (run.intent.failed === step.because) return { taken: false, because: 'already_survived' };
  return {
    taken: true,
    run: { ...run, intent: { ...run.intent, failed: step.because } },
    event: {
      kind: 'run.survivors',
      actor: step.actor,
      data: { survivors: step.survivors, because: step.because },
    },
  };
}

function leaveOwner(run: LiveRun, step: Extract<Step, { kind: 'await' | 'detach' }>): StepResult {
  const { parent } = run;
  if (parent === null || parent.ownerId !== step.ownerId || parent.waitsUntilMs !== null) {
    return { taken: false, because: 'not_its_child' };
  }
  const actor = `run ${step.ownerId}`;
  if (step.kind === 'detach') {
    return {
      taken: true,
      run: { ...run, parent: { ...parent, ownerId: null } },
      event: { kind: 'child.detached', actor, data: { owner: step.ownerId } },
    };
  }
  const waitsUntilMs = step.atMs + step.withinMs;
  return {
    taken: true,
    run: { ...run, parent: { ...parent, waitsUntilMs } },
    event: { kind: 'child.waiting', actor, data: { owner: step.ownerId, waitsUntilMs } },
  };
}
