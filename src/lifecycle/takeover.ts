/**
 * What a start does about the run that already owns the session: attach, refuse or retire.
 * Resuming never ends a working run by itself, and nothing is claimed while the old owner's end is not proven.
 */
import type { Liveness } from './process-identity.ts';

export type OnLive = 'refuse' | 'attach' | 'retire';

export type StartPlan =
  | { readonly do: 'claim' }
  | { readonly do: 'attach' }
  | { readonly do: 'retire' }
  | { readonly do: 'reconcile' }
  | {
      readonly do: 'refuse';
      readonly code: 'live_owner' | 'unproven' | 'inside_own_run';
      readonly because: string;
    };

export interface OwnerFacts {
  readonly liveness: Liveness;
  /** Where nothing of it can be seen from here. What its record says is then all there is. */
  readonly isOnOtherHost: boolean;
  /** The caller is itself part of the owner's tree, and would end before it could start the successor. */
  readonly callerIsInside: boolean;
}

export function planStart(owner: OwnerFacts | null, onLive: OnLive): StartPlan {
  if (owner === null) return { do: 'claim' };
  switch (owner.liveness.is) {
    case 'dead':
      return { do: 'reconcile' };
    case 'unknown':
      return {
        do: 'refuse',
        code: owner.isOnOtherHost ? 'live_owner' : 'unproven',
        because: owner.liveness.because,
      };
    case 'alive':
      return planAgainstLiving(owner, onLive);
  }
}

function planAgainstLiving(owner: OwnerFacts, onLive: OnLive): StartPlan {
  if (onLive === 'attach') return { do: 'attach' };
  if (onLive === 'refuse') return { do: 'refuse', code: 'live_owner', because: 'it is alive' };
  if (owner.callerIsInside) {
    return { do: 'refuse', code: 'inside_own_run', because: 'this command runs inside the run it would end' };
  }
  return { do: 'retire' };
}
