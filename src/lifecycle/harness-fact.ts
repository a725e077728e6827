/**
 * What a harness says of itself, through its hooks, its plugin or its files, and what becomes of it.
 *
 * A fact counts only for the run that it is about: the session's current, living run, and the conversation (native
 * session) that this run serves. A harness started by a tool of the first one inherits its environment and so reports to
 * the same place, but it names another conversation: that is fenced.
 *
 *   native id:  null --session.began--> bound            the harness chose it
 *               asked --session.began, the same--> bound  Reeve chose it, or a resume named it
 *               asked --session.began, another--> mismatch an error, never silently bound
 *               bound --session.began, another, of the harness's own process--> bound to that (`/clear`)
 */
import { isAnotherQuestion, questionOf } from './question.ts';
import type { Run } from './run.ts';

/** The conversation that a run serves, as the harness names it. */
export type Native =
  | { readonly is: 'asked'; readonly id: string }
  | { readonly is: 'bound'; readonly id: string }
  /** The harness was asked for `id` and began `got` instead. */
  | { readonly is: 'mismatch'; readonly id: string; readonly got: string };

export interface Activity {
  /** `unknown`: it was known, and the record of it is lost. */
  readonly is: 'working' | 'idle' | 'needs-input' | 'unknown';
  readonly sinceMs: number;
  /** What told it, for people. */
  readonly evidence: string;
  /** What the harness asks a person for; null unless it needs input. */
  readonly waitingFor: string | null;
  /** Stands for what exactly is asked, which is not kept; missing where only a reminder of it is known. */
  readonly questionDigest?: string;
}

export type FactKind =
  | { readonly kind: 'session.began' }
  /** The same, told by something that says nothing of what it does: its files, or what it holds open. */
  | { readonly kind: 'session.identified' }
  | { readonly kind: 'turn.started'; readonly promptDigest: string | null }
  | {
      readonly kind: 'input.needed';
      readonly waitingFor: string;
      /** Missing in what only reminds of a question. */
      readonly questionDigest?: string;
    }
  /** Something that a harness only does while it works: it used a tool. */
  | { readonly kind: 'work.continued' }
  | { readonly kind: 'turn.ended' }
  | { readonly kind: 'session.ended'; readonly reason: string };

export type HarnessFact = FactKind & {
  /** The conversation it is about; a fact that names none is about nobody. */
  readonly nativeId: string | null;
  readonly atMs: number;
  readonly evidence: string;
  /** Whether the process that reported it was started by the run's own harness, and not by one further down. */
  readonly isFromHarness: boolean;
};

interface FactEvent {
  readonly kind: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export type FactResult =
  | { readonly take: 'fence'; readonly because: string }
  | {
      readonly take: 'accept';
      readonly native: Native | null;
      readonly activity: Activity | null;
      /** Null when nothing changed that is worth a line in the log. */
      readonly event: FactEvent | null;
    };

export function takeFact(run: Run, currentRunId: string, fact: HarnessFact): FactResult {
  if (run.state === 'ended') return { take: 'fence', because: `it has ended (${run.ending.outcome})` };
  if (run.id !== currentRunId) return { take: 'fence', because: 'another run owns the session' };
  if (fact.nativeId === null || fact.nativeId === '') {
    return { take: 'fence', because: 'it names no conversation' };
  }
  const native = nativeAfter(run.native, fact, fact.nativeId);
  if (native === 'foreign') {
    return { take: 'fence', because: `it is of conversation ${fact.nativeId}, which is not the run's` };
  }
  const activity = activityAfter(run.activity, fact);
  return { take: 'accept', native, activity, event: eventOf(run, fact, native, activity) };
}

function nativeAfter(native: Native | null, fact: HarnessFact, nativeId: string): Native | 'foreign' {
  if (native !== null && native.is !== 'mismatch' && native.id === nativeId) {
    return { is: 'bound', id: nativeId };
  }
  if (native?.is === 'mismatch') return native.got === nativeId ? native : 'foreign';
  if (fact.kind !== 'session.began' && fact.kind !== 'session.identified') return 'foreign';
  if (!fact.isFromHarness) return 'foreign';
  if (native === null) return { is: 'bound', id: nativeId };
  return native.is === 'asked'
    ? { is: 'mismatch', id: native.id, got: nativeId }
    : { is: 'bound', id: nativeId };
}

function activityAfter(before: Activity | null, fact: HarnessFact): Activity | null {
  const is = ACTIVITY_OF[fact.kind];
  if (is === null) return before;
  // Two readers may bring two reports in the wrong order. Whatever is said is more than nothing.
  if (before !== null && before.is !== 'unknown' && fact.atMs < before.sinceMs) return before;
  if (before?.is === is && !(fact.kind === 'input.needed' && asksAnother(before, fact))) return before;
  const seen = { is, sinceMs: fact.atMs, evidence: fact.evidence };
  if (fact.kind !== 'input.needed') return { ...seen, waitingFor: null };
  const { waitingFor, questionDigest } = fact;
  return { ...seen, waitingFor, ...(questionDigest === undefined ? {} : { questionDigest }) };
}

function asksAnother(before: Activity, fact: Extract<FactKind, { kind: 'input.needed' }>): boolean {
  return isAnotherQuestion(
    questionOf(before.waitingFor, before.questionDigest),
    questionOf(fact.waitingFor, fact.questionDigest),
  );
}

const ACTIVITY_OF: Readonly<Record<FactKind['kind'], Activity['is'] | null>> = {
  'session.began': 'idle',
  'session.identified': null,
  'turn.started': 'working',
  'input.needed': 'needs-input',
  'work.continued': 'working',
  'turn.ended': 'idle',
  'session.ended': null,
};

function eventOf(run: Run, fact: HarnessFact, native: Native, activity: Activity | null): FactEvent | null {
  const { evidence, nativeId } = fact;
  if (native.is === 'mismatch') {
    if (run.native?.is === 'mismatch') return null;
    return { kind: 'native.mismatch', data: { asked: native.id, got: native.got, evidence } };
  }
  const isNoted = fact.kind === 'work.continued' || fact.kind === 'input.needed';
  if (isNoted && activity === run.activity) return null;
  const { isFromHarness: _from, ...said } = fact;
  return { kind: `harness.${fact.kind}`, data: { ...said, nativeId } };
}
