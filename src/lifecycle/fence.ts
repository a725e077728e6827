/**
 * The fence: what a run writes (a heartbeat, a submission, what it spent, a run that it starts) counts only while it is
 * its session's current run and not over. A run that is being ended, but has not ended, is still current.
 */
import type { Run } from './run.ts';

export interface WriteFacts {
  readonly run: Run;
  /** The session's latest run. */
  readonly currentId: string;
  /** Whether the writer holds the run's token. */
  readonly isHolder: boolean;
}

export interface Refusal {
  /** `stranger`: anybody could have written it. `over`: it is of the run itself, which may not write any more. */
  readonly is: 'stranger' | 'over';
  readonly because: string;
}

export const UNKNOWN_RUN: Refusal = { is: 'stranger', because: 'no such run is known' };

/** Null for a write that counts. */
export function refuseWrite({ run, currentId, isHolder }: WriteFacts): Refusal | null {
  if (!isHolder) return { is: 'stranger', because: 'the token is not its own' };
  if (run.state === 'ended') return { is: 'over', because: `it has ended (${run.ending.outcome})` };
  if (run.id !== currentId) return { is: 'over', because: 'another run owns the session' };
  return null;
}
