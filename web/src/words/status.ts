/** What a status rests on, in words; its mark and its group are the terminal's too (api/status-words.ts). */
import type { SessionView } from '../../../src/api/session-view.ts';
import type { Outcome } from '../../../src/lifecycle/run.ts';

/** `never_started` is a word of the record; people read `never started`. */
export function outcomeWord(outcome: Outcome): string {
  return outcome.replaceAll('_', ' ');
}

/** Since when the status is what it is. */
export function sinceMs({ activity, run }: SessionView): number {
  return Date.parse(activity?.since ?? run.endedAt ?? run.startedAt);
}

/** What the status rests on, or what it waits for; empty when nothing was said. */
export function whyOf({ status, activity, run }: SessionView): string {
  if (run.state === 'ended') return run.reason ?? '';
  if (status === 'needs-input') return activity?.waitingFor ?? activity?.evidence ?? 'an answer';
  if (status === 'unknown' && run.liveness === 'alive' && activity !== null)
    return `it has said ${activity.evidence}`;
  if (status === 'unknown') return `it could not be proven ${run.liveness === 'dead' ? 'ended' : 'alive'}`;
  // An intent is on record before anything is signalled.
  return run.reason ?? activity?.evidence ?? 'its process is alive';
}

export function isLive({ run }: SessionView): boolean {
  return run.state !== 'ended';
}
