/** One run in words: the same for the eye, for a screen reader and for the list. */
import type { RunView } from '../../../src/api/session-view.ts';
import type { Status } from '../../../src/lifecycle/status.ts';
import { hostName } from '../words/short.ts';
import { STATUS_OF_OUTCOME } from '../../../src/lifecycle/status.ts';
import { outcomeWord } from '../words/status.ts';
import { clock, longLength, timeOfDay } from '../words/time.ts';
import { lengthMs } from './strip-layout.ts';

/** Only the latest run can be alive, and then its status is the session's. */
export function runStatus({ outcome }: RunView, sessionStatus: Status): Status {
  return outcome === null ? sessionStatus : STATUS_OF_OUTCOME[outcome];
}

/** `superseded: bob asked to take the session over (SIGTERM)`. */
export function endWords(run: RunView): string {
  if (run.outcome === null) return run.liveness === 'alive' ? 'the owner now' : 'the owner, not proven alive';
  const exit = run.signal ?? (run.exitCode === null ? null : `exit ${run.exitCode}`);
  const reason = run.reason === null ? '' : `: ${run.reason}`;
  return `${outcomeWord(run.outcome)}${reason}${exit === null ? '' : ` (${exit})`}`;
}

export function spanWords(run: RunView, nowMs: number): string {
  const fromMs = Date.parse(run.startedAt);
  const to = run.endedAt === null ? 'now' : endClock(fromMs, Date.parse(run.endedAt));
  return `${clock(fromMs)} to ${to}, ${longLength(lengthMs(run, nowMs))}`;
}

export function ownerWords({ actor, host, pid, mode }: RunView): string {
  return `${actor}, ${mode}${pid === null ? '' : `, pid ${pid}`} on ${hostName(host)}`;
}

/** Begins with what is seen of it in the strip, for those who call a button by what they see. */
export function runLabel(run: RunView, nowMs: number): string {
  return `${run.epoch} ${run.actor}: ${spanWords(run, nowMs)}; ${endWords(run)}`;
}

export function runSentence(run: RunView, nowMs: number): string {
  return `Run ${run.epoch} by ${run.actor}: ${spanWords(run, nowMs)}; ${endWords(run)}`;
}

function endClock(fromMs: number, toMs: number): string {
  return new Date(fromMs).toDateString() === new Date(toMs).toDateString() ? timeOfDay(toMs) : clock(toMs);
}
