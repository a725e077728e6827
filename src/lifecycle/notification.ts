/**
 * Which events a person is told about, once a change, not once a report: a run that waits for them, is close to a budget
 * or ended by it, failed, was lost, or ended unseen; and where they ask for it, a turn or a run that is done, and reviews.
 *
 * Read in the order of their numbers, events move each run between conditions, which are all that is remembered:
 *
 *   (nothing) --input.needed--> waiting --turn, work, session began--> (nothing)      told when it begins to wait
 *   waiting --input.needed, another question--> waiting                                told once a question
 *   (any) --turn started, work, input.needed--> in a turn --turn ended--> (nothing)     told when the turn ends
 *   (any) --intended--> the same, and intended                                         its end was asked for
 *   intended --withdrawn, by the last who asked--> no longer intended
 *   (any) --ended--> forgotten                                                         told unless it was asked for
 *
 * What is told is made of outcome, exit code, signal, figures, the name of a tool and that of a pull request. Never of
 * what a harness or a person wrote: a question may quote a prompt, and a notification leaves the machine.
 */

import { ENDED_UNSEEN } from './exit.ts';
import { isAnotherQuestion, questionOf } from './question.ts';
import type { Question } from './question.ts';
import { figuresOf } from './session-budget.ts';
import type { BudgetFigures } from './session-budget.ts';

/** `ended`: an adopted run is over, and how cannot be known. `idle`: a turn is over. `review`: there is a result of one. */
export const NOTABLE_STATUSES = [
  'needs-input',
  'budget',
  'failed',
  'lost',
  'ended',
  'done',
  'idle',
  'review',
] as const;
export type NotableStatus = (typeof NOTABLE_STATUSES)[number];

/** What wants a person, or what nobody can account for. That something went well is told to those who ask for it. */
export const TOLD_UNASKED: readonly NotableStatus[] = ['needs-input', 'budget', 'failed', 'lost', 'ended'];

/** Events of any other kind are never told, only remembered at most. */
export const TOLD_KINDS: ReadonlySet<string> = new Set([
  'run.ended',
  'harness.input.needed',
  'harness.turn.ended',
  'budget.warned',
  'budget.exceeded',
  'review.submitted',
  'review.failed',
]);

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
  /** Of a review the run that had it, if any. */
  readonly runId: string | null;
  readonly atMs: number;
  readonly what: string;
  /** Of which limit it is about. */
  readonly budget?: BudgetFigures;
  /** The id of the review it is about. */
  readonly review?: string;
}

/** What is remembered of a live run: nothing, unless it waits, is in a turn, or somebody wants it to end. */
export interface WatchedRun {
  readonly waitingSinceMs: number | null;
  readonly isIntended: boolean;
  /** What it waits for; missing while it does not, and in what an earlier Reeve remembered. */
  readonly question?: Question;
  /** Missing outside of a turn. */
  readonly turnSinceMs?: number;
  /** The limit for which it was told to end. */
  readonly budget?: BudgetFigures;
}

/** By run id. As large as there are live runs that wait, work or are being ended. */
export type Watch = Readonly<Record<string, WatchedRun>>;

export interface Noticed {
  /** The same object when the event changed nothing. */
  readonly watch: Watch;
  readonly notification: Notification | null;
}

const UNWATCHED: WatchedRun = { waitingSinceMs: null, isIntended: false };
const UNKNOWN_QUESTION: Question = { tool: null, digest: null };

export function notice(watch: Watch, event: NotableEvent): Noticed {
  const { runId, kind } = event;
  if (runId === null) return { watch, notification: reviewed(event) };
  const before = Object.hasOwn(watch, runId) ? (watch[runId] ?? UNWATCHED) : UNWATCHED;
  switch (kind) {
    case 'run.ended':
      return { watch: without(watch, runId), notification: ended(event, before) };
    case 'run.intended':
      return { watch: remember(watch, runId, intended(before, event)), notification: null };
    case 'run.withdrawn':
      return { watch: remember(watch, runId, withdrawn(before, event)), notification: null };
    case 'harness.input.needed':
      return asked(watch, event, runId, before);
    // Told once a limit, as it is on record once a limit.
    case 'budget.warned':
      return { watch, notification: overspent(event, 'budget', 'It is close to its limit.') };
    case 'budget.exceeded':
      return { watch, notification: overspent(event, 'needs-input', 'It is over its limit, and goes on.') };
    case 'harness.session.began':
    case 'harness.turn.started':
    case 'harness.work.continued':
    case 'harness.turn.ended':
      return reported(watch, event, runId, before);
    default:
      return { watch, notification: null };
  }
}

function intended(before: WatchedRun, { data }: NotableEvent): WatchedRun {
  const budget = figuresOf(data['budget']);
  return { ...before, isIntended: true, ...(budget === null ? {} : { budget }) };
}

/** Whoever stood behind the one who took it back wants its end all the same. */
function withdrawn(before: WatchedRun, { data }: NotableEvent): WatchedRun {
  return { ...before, isIntended: data['next'] !== null };
}

function asked(watch: Watch, event: NotableEvent, runId: string, before: WatchedRun): Noticed {
  const question = questionOf(event.data['waitingFor'], event.data['questionDigest']);
  const isNew =
    before.waitingSinceMs === null || isAnotherQuestion(before.question ?? UNKNOWN_QUESTION, question);
  if (!isNew) return { watch, notification: null };
  const waitingSinceMs = happenedAtMs(event);
  const turnSinceMs = before.turnSinceMs ?? waitingSinceMs;
  return {
    watch: remember(watch, runId, { ...before, waitingSinceMs, question, turnSinceMs }),
    notification: { ...notification(event, 'needs-input', waits(question)), atMs: waitingSinceMs },
  };
}

/** What a harness only reports when it does not wait, or no longer. */
function reported(watch: Watch, event: NotableEvent, runId: string, before: WatchedRun): Noticed {
  const atMs = happenedAtMs(event);
  // What happened before the question, or before the turn began, but was read after it by another reader, says nothing.
  const isLate = atMs < (before.waitingSinceMs ?? -Infinity) || atMs < (before.turnSinceMs ?? -Infinity);
  if (isLate) return { watch, notification: null };
  const { question: _answered, turnSinceMs, ...rest } = before;
  const going = { ...rest, waitingSinceMs: null };
  if (event.kind === 'harness.turn.started' || event.kind === 'harness.work.continued') {
    if (turnSinceMs !== undefined && before.waitingSinceMs === null) return { watch, notification: null };
    return { watch: remember(watch, runId, { ...going, turnSinceMs: atMs }), notification: null };
  }
  const isTurnOver = event.kind === 'harness.turn.ended' && turnSinceMs !== undefined && !before.isIntended;
  return {
    watch: remember(watch, runId, going),
    notification: isTurnOver ? { ...notification(event, 'idle', 'Its turn has ended.'), atMs } : null,
  };
}

function ended(event: NotableEvent, { isIntended, budget }: WatchedRun): Notification | null {
  const { outcome, reason, endedAtMs } = event.data;
  const tell = (status: NotableStatus, what: string): Notification => ({
    ...notification(event, status, what),
    atMs: timeOr(endedAtMs, event.atMs),
  });
  if (outcome === 'lost') {
    // It ended before the eyes of the one that watched it, which is all that is known.
    return reason === ENDED_UNSEEN
      ? tell('ended', 'How is not known, for it was adopted while it was running.')
      : tell('lost', 'How it ended is not known.');
  }
  if (outcome === 'over_budget') {
    const told = tell('budget', 'It was ended at its limit.');
    return budget === undefined ? told : { ...told, budget };
  }
  // Somebody asked for its end, and so knows of it.
  if (isIntended) return null;
  if (outcome === 'completed') return tell('done', 'It exited with code 0.');
  return outcome === 'failed' || outcome === 'never_started' ? tell('failed', failure(event.data)) : null;
}

function overspent(event: NotableEvent, status: NotableStatus, what: string): Notification {
  const budget = figuresOf(event.data);
  const told = notification(event, status, what);
  return budget === null ? told : { ...told, budget };
}

const RESULTS: Readonly<Record<string, string>> = {
  approve: 'approved',
  changes: 'changes are requested',
  comment: 'commented, neither approved nor refused',
};
/** Longer is no name of a pull request, and shorter no commit that can be told from others. */
const MAX_NAME = 100;
const HEAD_LENGTH = 10;

/** It is the worker's, and of no run of it. */
function reviewed(event: NotableEvent): Notification | null {
  if (event.kind !== 'review.submitted' && event.kind !== 'review.failed') return null;
  const { review, pr, head, verdict, run } = event.data;
  const result = event.kind === 'review.failed' ? 'there is no result' : RESULTS[String(verdict)];
  if (typeof review !== 'string' || result === undefined) return null;
  const subject = `${String(pr).slice(0, MAX_NAME)} at ${String(head).slice(0, HEAD_LENGTH)}`;
  const told = notification(event, 'review', `${subject}: ${result}.`);
  return { ...told, runId: typeof run === 'string' ? run : null, review };
}

function notification(
  { seq, sessionId, runId, atMs }: NotableEvent,
  status: NotableStatus,
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

function waits({ tool }: Question): string {
  return tool === null ? 'It waits for an answer.' : `It waits for permission to use ${tool}.`;
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

function remember(watch: Watch, runId: string, run: WatchedRun): Watch {
  const isNothing = run.waitingSinceMs === null && !run.isIntended && run.turnSinceMs === undefined;
  return isNothing ? without(watch, runId) : { ...watch, [runId]: run };
}

function without(watch: Watch, runId: string): Watch {
  if (!Object.hasOwn(watch, runId)) return watch;
  const { [runId]: _forgotten, ...rest } = watch;
  return rest;
}
