/** Statuses as the terminal shows them: the same groups, words and marks. */
import type { SessionView } from '../../../src/api/session-view.ts';
import type { Outcome } from '../../../src/lifecycle/run.ts';
import type { Status } from '../../../src/lifecycle/status.ts';

export const MARKS: Readonly<Record<Status, string>> = {
  working: '●',
  idle: '○',
  'needs-input': '▲',
  unknown: '?',
  done: '✓',
  failed: '✗',
  superseded: '↷',
  stopped: '■',
  lost: '!',
};

type GroupName = 'needs-you' | 'working' | 'idle' | 'ended';

export interface GroupKind {
  readonly name: GroupName;
  readonly title: string;
  readonly statuses: readonly Status[];
}

/** In the order in which a person wants to know of them. */
export const GROUPS: readonly GroupKind[] = [
  { name: 'needs-you', title: 'Needs you', statuses: ['needs-input', 'unknown'] },
  { name: 'working', title: 'Working', statuses: ['working'] },
  { name: 'idle', title: 'Idle', statuses: ['idle'] },
  { name: 'ended', title: 'Ended', statuses: ['done', 'failed', 'lost', 'stopped', 'superseded'] },
];

export const STATUS_OF_OUTCOME: Readonly<Record<Outcome, Status>> = {
  completed: 'done',
  failed: 'failed',
  never_started: 'failed',
  over_budget: 'stopped',
  stopped: 'stopped',
  cancelled: 'stopped',
  reaped: 'stopped',
  superseded: 'superseded',
  lost: 'lost',
};

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
  if (status === 'unknown') return `it could not be proven ${run.liveness === 'dead' ? 'ended' : 'alive'}`;
  // An intent is on record before anything is signalled.
  return run.reason ?? activity?.evidence ?? 'its process is alive';
}

export function isLive({ run }: SessionView): boolean {
  return run.state !== 'ended';
}
