/**
 * What the keeper left behind about the end of its harness, and what outcome follows from it.
 */
import type { Native } from './harness-fact.ts';
import type { Intent, Outcome } from './run.ts';

export type ExitEvidence =
  /** Nothing was recorded. `oomKills`, where known, as below. */
  | { readonly kind: 'none'; readonly oomKills?: number }
  /** The harness could not be executed, or was never let go. */
  | { readonly kind: 'not_started'; readonly reason: string; readonly atMs: number }
  | {
      readonly kind: 'exited';
      readonly code: number | null;
      readonly signal: string | null;
      readonly atMs: number;
      /** The host's time since boot when it exited; null where the keeper could not read it. */
      readonly uptimeMs: number | null;
      /** How many processes the kernel killed for want of memory while the harness ran; null where it does not say. */
      readonly oomKills: number | null;
      /** What of its tree was alive when it exited, for people. */
      readonly leftBehind?: readonly string[];
      /** Its terminal had been closed before. */
      readonly hungUp?: boolean;
    }
  /** A harness that was adopted has ended; only its own parent could have learned how. */
  | {
      readonly kind: 'unseen';
      readonly atMs: number;
      /** The host's time since boot when it was seen alive last; null where the keeper could not read it. */
      readonly uptimeMs: number | null;
    }
  /** There is a record, and it makes no sense. */
  | { readonly kind: 'malformed'; readonly because: string };

/**
 * What looking for that evidence gives. Of a record that could not be read nothing follows, so `failed` is no evidence
 * and leads to no outcome: whoever meets it leaves the run as it is and looks again later.
 */
export type ExitReading = ExitEvidence | FailedRead;

export interface FailedRead {
  readonly kind: 'failed';
  /** The end of a sentence. */
  readonly because: string;
}

/** Whether something about the end is known to be on record: what could not be read may say anything. */
export function isOnRecord(exit: ExitReading): exit is Exclude<ExitEvidence, { kind: 'none' }> {
  return exit.kind !== 'none' && exit.kind !== 'failed';
}

export interface OutcomeDecision {
  readonly outcome: Outcome;
  readonly reason: string;
  readonly exitCode: number | null;
  readonly signal: string | null;
}

export interface OutcomeFacts {
  readonly native?: Native | null;
  /** Whoever wanted the end was dead when it came. */
  readonly isForsaken?: boolean;
}

/**
 * Precedence: what never executed never started; an intent decides the exit that follows it, but not one that was
 * there before it; then the exit itself; and where the exit is not known, the run is lost, which is not a failure.
 */
export function decideOutcome(
  intent: Intent | null,
  exit: ExitEvidence,
  { native = null, isForsaken = false }: OutcomeFacts = {},
): OutcomeDecision {
  switch (exit.kind) {
    case 'not_started':
      return { outcome: 'never_started', reason: exit.reason, exitCode: null, signal: null };
    case 'exited':
      return intent !== null && !wasBefore(exit, intent)
        ? {
            outcome: intent.outcome,
            reason: isForsaken && !isBySignal(exit) ? unseenReason(intent, exit.code) : intent.reason,
            exitCode: exit.code,
            signal: exit.signal,
          }
        : { ...ownOutcome(exit, native), exitCode: exit.code, signal: exit.signal };
    case 'none':
    case 'unseen':
    case 'malformed':
      return {
        ...(intent === null
          ? { outcome: 'lost' as const, reason: lostReason(exit) }
          : { outcome: intent.outcome, reason: intent.reason }),
        exitCode: null,
        signal: null,
      };
  }
}

/** Killed by a signal, or by a handler that says so: what a shell calls 128 and the signal's number. */
function isBySignal({ code, signal }: Extract<ExitEvidence, { kind: 'exited' }>): boolean {
  return signal !== null || (code !== null && code > 128);
}

/** It may have obeyed, or never have been told: only who asked would know, and did not live to say so, or failed. */
function unseenReason({ actor, outcome, failed }: Intent, code: number | null): string {
  if (failed !== undefined)
    return `${actor} wanted it ${outcome}, by a command that failed (${failed}); it exited with code ${code}`;
  return `${actor} wanted it ${outcome}, by a command that was over before it; it exited with code ${code}, and whether it had been told to end is not known`;
}

/** The keeper reads the time since boot from a file that has steps of 10 ms. Not orderable: the intent decides. */
const UPTIME_STEP_MS = 10;

function wasBefore(exit: Extract<ExitEvidence, { kind: 'exited' }>, intent: Intent): boolean {
  return exit.uptimeMs !== null && exit.uptimeMs + UPTIME_STEP_MS < intent.uptimeMs;
}

function ownOutcome(
  exit: Extract<ExitEvidence, { kind: 'exited' }>,
  native: Native | null,
): { outcome: Outcome; reason: string } {
  if (exit.hungUp === true) {
    const how = exit.signal === null ? `with code ${exit.code}` : `by ${exit.signal}`;
    return { outcome: 'stopped', reason: `its terminal was closed, and it ended ${how}` };
  }
  if (exit.signal !== null) return { outcome: 'failed', reason: signalReason(exit.signal, exit.oomKills) };
  // Asked to go on with one conversation it began another, and called that a success: what was asked for did not happen.
  if (exit.code === 0 && native?.is === 'mismatch') {
    return {
      outcome: 'failed',
      reason: `it was asked for conversation ${native.id} and began ${native.got} instead`,
    };
  }
  if (exit.code === 0) return { outcome: 'completed', reason: 'it exited with code 0' };
  return { outcome: 'failed', reason: `it exited with code ${exit.code}` };
}

function signalReason(signal: string, oomKills: number | null): string {
  if (signal === 'SIGKILL' && oomKills !== null && oomKills > 0) {
    return 'it was killed by SIGKILL while the kernel was killing processes for want of memory (out of memory)';
  }
  return `it was killed by ${signal}`;
}

/** All that is known of the end of a harness that Reeve did not start. */
export const ENDED_UNSEEN = 'it was adopted while it was running, so how it ended cannot be known';

function lostReason(exit: Extract<ExitEvidence, { kind: 'none' | 'unseen' | 'malformed' }>): string {
  if (exit.kind === 'unseen') return ENDED_UNSEEN;
  if (exit.kind === 'none' && (exit.oomKills ?? 0) > 0) {
    return 'its keeper died without recording an exit, while the kernel was killing processes for want of memory (out of memory)';
  }
  return exit.kind === 'none'
    ? 'its keeper died without recording an exit, so how it ended is not known'
    : `its exit record makes no sense (${exit.because}), so how it ended is not known`;
}
