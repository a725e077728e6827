import type { Activity } from './harness-fact.ts';
import type { Liveness } from './process-identity.ts';
import type { Outcome, Run } from './run.ts';

export const STATUSES = [
  'working',
  'idle',
  'needs-input',
  'done',
  'failed',
  'superseded',
  'stopped',
  'cancelled',
  'over-budget',
  'reaped',
  'lost',
  'unknown',
] as const;
export type Status = (typeof STATUSES)[number];

export const STATUS_OF_OUTCOME: Readonly<Record<Outcome, Status>> = {
  completed: 'done',
  failed: 'failed',
  never_started: 'failed',
  over_budget: 'over-budget',
  stopped: 'stopped',
  cancelled: 'cancelled',
  reaped: 'reaped',
  superseded: 'superseded',
  lost: 'lost',
};

/**
 * Whether a run is alive, for whoever is told. Its owner, the keeper, outlives its command to put the end on record;
 * until that is done nothing is proven of the run as a whole.
 */
export function deriveLiveness(owner: Liveness['is'], command?: 'gone'): Liveness['is'] {
  return owner === 'alive' && command === 'gone' ? 'unknown' : owner;
}

/** Status is derived, never stored. A live run that was not proven alive is `unknown`: a dead one is not yet ended. */
export function deriveStatus(
  run: Run,
  liveness: Liveness['is'],
  doubt: string | null,
  activity: Activity | null = run.activity,
): Status {
  if (run.state === 'ended') return STATUS_OF_OUTCOME[run.ending.outcome];
  if (liveness !== 'alive' || doubt !== null) return 'unknown';
  // It may work on, but whether it may go on spending is a person's to say.
  if (run.overBudget !== null) return 'needs-input';
  // A command that says nothing of what it does works for as long as it lives.
  return activity?.is ?? 'working';
}
