/**
 * What a reader does with a run that claims to live.
 *
 * The owner is the launcher while the run is claimed, and the keeper once it runs.
 * alive: nothing. Dead: sweep what is left and finalise from the exit record, or as lost without one. Unknown: hold.
 */
import type { DeathProof, Liveness } from './process-identity.ts';
import type { ExitEvidence } from './exit.ts';
import type { LiveRun } from './run.ts';

export type ReconcileDecision =
  | { readonly do: 'nothing' }
  | { readonly do: 'hold'; readonly because: string }
  | {
      readonly do: 'finalise';
      readonly exit: ExitEvidence;
      readonly proof: DeathProof;
      readonly because: string;
    };

export function decideReconcile(run: LiveRun, owner: Liveness, exit: ExitEvidence): ReconcileDecision {
  switch (owner.is) {
    case 'alive':
      return { do: 'nothing' };
    case 'unknown':
      return { do: 'hold', because: owner.because };
    case 'dead':
      return { do: 'finalise', exit: exitOfDead(run, exit), proof: owner.proof, because: owner.because };
  }
}

/** Only the launcher moves a run from claimed to running, so with it dead nothing of the run can start any more. */
function exitOfDead(run: LiveRun, exit: ExitEvidence): ExitEvidence {
  if (run.state === 'running') return exit;
  return {
    kind: 'not_started',
    reason: 'its launcher died before the keeper was recorded',
    atMs: run.claimedAtMs,
  };
}

/** A keeper that was stopped cannot say that its harness is gone: alive, but not what it seems. */
export function explainStuck(keeper: Liveness, harness: Liveness | null): string | null {
  if (keeper.is !== 'alive' || keeper.isStopped !== true || harness?.is !== 'dead') return null;
  return `its command is gone (${harness.because}), but its keeper is stopped and cannot record it; continue or retire it`;
}

/** It was told to end, and could not be ended: alive, but nothing more is known of it. */
export function explainUndead({ intent }: LiveRun): string | null {
  if (intent?.failed === undefined) return null;
  return `${intent.actor} told it to end (${intent.outcome}), and it could not be ended: ${intent.failed}`;
}

/** Below this many, deaths at once are ordinary. */
export const MASS_DEATH_MINIMUM = 5;

/**
 * Many unexplained deaths in one sweep mean that the probe broke, not that everything died: nine of nine live
 * sessions were once purged because one tool was slow. A death with an exit record, or by a reboot, is explained;
 * a record that cannot be read explains nothing.
 */
export function isMassDeath(decisions: readonly ReconcileDecision[]): boolean {
  const unexplained = decisions.filter(isUnexplainedDeath).length;
  return unexplained >= MASS_DEATH_MINIMUM && unexplained * 2 > decisions.length;
}

function isUnexplainedDeath(decision: ReconcileDecision): boolean {
  if (decision.do !== 'finalise' || decision.proof === 'rebooted') return false;
  return decision.exit.kind === 'none' || decision.exit.kind === 'unreadable';
}
