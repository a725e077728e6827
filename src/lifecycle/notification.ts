/**
 * Which events a person is told about: a run that waits for them, is close to a budget or ended by it, failed, or was lost. Once a change, not once a report.
 *
 * Read in the order of their numbers, events move each run between three conditions, which are all that is remembered:
 *
 *   (nothing) --input.needed--> waiting --turn, work, session began--> (nothing)      told when it begins to wait
 *   (any) --intended--> the same, and intended                                         its failure was asked for
 *   (any) --ended--> forgotten                                                         told when failed or lost
 *
 * What is told is made of outcome, exit code, signal and the name of a tool. Never of what a harness or a person wrote:
 * a question may quote a prompt, and a notification leaves the machine.
 */

import { amount, limitOf } from './budget-words.ts';
import type { BudgetFigures } from './budget-words.ts';
import { BUDGET_KINDS } from './session-budget.ts';

export const NOTABLE_STATUSES = ['needs-input', 'budget', 'failed', 'lost'] as const;
export type NotableStatus = (typeof NOTABLE_STATUSES)[number];

/** What this needs of an event in the log. */
export interface NotableEvent {
  readonly seq: number;
  readonly atMs: number;
  readonly sessionId: string;
  readonly runId: string | null;
  readonly kind: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface Notification {
  /** The number of the event. The same change has the same key, however often it is told. */
  readonly key: number;
  readonly status: NotableStatus;
  readonly sessionId: string;
  readonly runId: string;
  readonly atMs: number;
  readonly what: string;
}

/** What is remembered of a live run: nothing, unless it waits or somebody wants it to end. */
export interface WatchedRun {
  readonly waitingSinceMs: number | null;
  readonly isIntended: boolean;
}

/** By run id. As large as there are live runs that wait or are being ended. */
export type Watch = Readonly<Record<string, WatchedRun>>;

export interface Noticed {
  /** The same object when the event changed nothing. */
  readonly watch: Watch;
  readonly notification: Notification | null;
}

const UNWATCHED: WatchedRun = { waitingSinceMs: null, isIntended: false };

/** What a harness only reports when it does not wait, or no longer. */
const GOES_ON = new Set([
  'harness.session.began',
  'harness.turn.started',
  'harness.work.continued',
  'harness.turn.ended',
]);

export function notice(watch: Watch, event: NotableEvent): Noticed {
  const { runId, kind } = event;
  if (runId === null) return { watch, notification: null };
  const before = Object.hasOwn(watch, runId) ? (watch[runId] ?? UNWATCHED) : UNWATCHED;
  if (kind === 'run.ended')
    return { watch: without(watch, runId), notification: ended(event, runId, before) };
  if (kind === 'run.intended') return remember(watch, runId, { ...before, isIntended: true });
  if (kind === 'harness.input.needed' && before.waitingSinceMs === null) {
    const waitingSinceMs = happenedAtMs(event);
    return {
      ...remember(watch, runId, { ...before, waitingSinceMs }),
      notification: notification(
        event,
        runId,
        'needs-input',
        waitingSinceMs,
        waits(event.data['waitingFor']),
      ),
    };
  }
  // Told once a limit, as it is on record once a limit.
  if (kind === 'budget.warned' || kind === 'budget.exceeded') {
    const status = kind === 'budget.warned' ? 'budget' : 'needs-input';
    return { watch, notification: notification(event, runId, status, event.atMs, budgetWords(event.data)) };
  }
  // What happened before the question but was read after it, by another reader, answers nothing.
  const goesOn = GOES_ON.has(kind) && happenedAtMs(event) >= (before.waitingSinceMs ?? Infinity);
  return goesOn ? remember(watch, runId, { ...before, waitingSinceMs: null }) : { watch, notification: null };
}

function ended(event: NotableEvent, runId: string, { isIntended }: WatchedRun): Notification | null {
  const { outcome, endedAtMs } = event.data;
  const atMs = timeOr(endedAtMs, event.atMs);
  if (outcome === 'lost') {
    return notification(event, runId, 'lost', atMs, 'How it ended is not known.');
  }
  if (outcome === 'over_budget')
    return notification(event, runId, 'budget', atMs, 'It was ended at its limit.');
  // Somebody asked for its end, and so knows of it.
  if (isIntended || (outcome !== 'failed' && outcome !== 'never_started')) return null;
  return notification(event, runId, 'failed', atMs, failure(event.data));
}

function notification(
  { seq, sessionId }: NotableEvent,
  runId: string,
  status: NotableStatus,
  atMs: number,
  what: string,
): Notification {
  return { key: seq, status, sessionId, runId, atMs, what };
}

function failure({ outcome, signal, exitCode, reason }: NotableEvent['data']): string {
  if (outcome === 'never_started') return 'It could not be started.';
  if (typeof signal === 'string') {
    // The one cause of a kill that the record knows, and that a person can do something about.
    const isOutOfMemory = typeof reason === 'string' && reason.includes('out of memory');
    return `It was killed by ${signal}${isOutOfMemory ? ', out of memory' : ''}.`;
  }
  if (exitCode === 0) return 'It did not do what it was asked for, and called that a success.';
  return typeof exitCode === 'number' ? `It exited with code ${exitCode}.` : 'It failed.';
}

/** Figures alone, made into words by Reeve. */
function budgetWords({ scope, kind, spent, limit, currency }: NotableEvent['data']): string {
  const figures = { scope, kind, spent, limit, ...(typeof currency === 'string' ? { currency } : {}) };
  return isFigures(figures)
    ? `It has used ${amount(figures.kind, figures.spent, figures.currency)} of ${limitOf(figures)}.`
    : 'It is close to a budget, or over it.';
}

function isFigures(
  figures: Readonly<Record<Exclude<keyof BudgetFigures, 'currency'>, unknown>> & {
    readonly currency?: string;
  },
): figures is BudgetFigures {
  const { scope, kind, spent, limit } = figures;
  const isKnown = SCOPES.some((each) => each === scope) && BUDGET_KINDS.some((each) => each === kind);
  return isKnown && typeof spent === 'number' && typeof limit === 'number';
}

const SCOPES = ['run', 'session', 'tree', 'day'] as const satisfies readonly BudgetFigures['scope'][];

/** Only the name of a tool is taken from what the harness said. */
const TOOL = /permission to use ([\w.:-]{1,80})$/;

function waits(waitingFor: unknown): string {
  const tool = typeof waitingFor === 'string' ? TOOL.exec(waitingFor)?.[1] : undefined;
  return tool === undefined ? 'It waits for an answer.' : `It waits for permission to use ${tool}.`;
}

/** A report is read later than it was made. */
function happenedAtMs({ atMs, data }: NotableEvent): number {
  return timeOr(data['atMs'], atMs);
}

/** Beyond this there are no dates, and what a harness reports is not checked before. */
const LAST_DATE_MS = 8.64e15;

function timeOr(value: unknown, otherwise: number): number {
  return typeof value === 'number' && Math.abs(value) <= LAST_DATE_MS ? value : otherwise;
}

function remember(watch: Watch, runId: string, run: WatchedRun): Noticed {
  const isNothing = run.waitingSinceMs === null && !run.isIntended;
  return {
    watch: isNothing ? without(watch, runId) : { ...watch, [runId]: run },
    notification: null,
  };
}

function without(watch: Watch, runId: string): Watch {
  if (!Object.hasOwn(watch, runId)) return watch;
  const { [runId]: _forgotten, ...rest } = watch;
  return rest;
}
