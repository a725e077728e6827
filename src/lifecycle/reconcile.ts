/**
 * What a reader does with a run that claims to live.
 *
 * The owner is the launcher while the run is claimed, and the keeper once it runs.
 * alive: nothing. Dead: sweep what is left and finalise from the exit record, or as lost without one. Unknown, or dead
 * with a record that could not be read: hold.
 */
import type { DeathProof, Liveness } from './process-identity.ts';
import type { ExitEvidence, ExitReading, FailedRead } from './exit.ts';
import type { ClaimedRun, LiveRun } from './run.ts';

export type ReconcileDecision =
  | { readonly do: 'nothing' }
  | { readonly do: 'hold'; readonly because: string }
  | {
      readonly do: 'finalise';
      readonly exit: ExitEvidence;
      readonly proof: DeathProof;
      readonly because: string;
    };

export function decideReconcile(run: LiveRun, owner: Liveness, exit: ExitReading): ReconcileDecision {
  switch (owner.is) {
    case 'alive':
      return { do: 'nothing' };
    case 'unknown':
      return { do: 'hold', because: owner.because };
    case 'dead': {
      const evidence = run.state === 'running' ? exit : exitOfClaimed(run);
      if (evidence.kind === 'failed') return { do: 'hold', because: notRead(evidence) };
      return { do: 'finalise', exit: evidence, proof: owner.proof, because: owner.because };
    }
  }
}

/** Why a run whose keeper is gone is not over for the record; the end of a sentence. */
export function notRead({ because }: FailedRead): string {
  return `it has ended, but how could not be read (${because})`;
}

/** Only the launcher moves a run from claimed to running, so with it dead nothing of the run can start any more. */
function exitOfClaimed(run: ClaimedRun): ExitEvidence {
  return {
    kind: 'not_started',
    reason: 'its launcher died before the keeper was recorded',
    atMs: run.claimedAtMs,
  };
}

/** What keeps a keeper from putting an end on record, and what a person can do about it; each the end of a sentence. */
export interface Obstacle {
  readonly because: string;
  readonly remedy: string;
}

/**
 * What is doubtful about a run whose command was proven gone while its keeper lives. Mostly it is about to write the
 * outcome; it may also be stopped, or kept from it. Alive is the keeper alone, and nothing of it works.
 */
export function explainGone(
  keeper: Liveness,
  command: Extract<Liveness, { is: 'dead' }>,
  obstacle: Obstacle | null,
): string {
  const gone = `its command is gone (${command.because})`;
  if (keeper.is === 'alive' && keeper.isStopped === true)
    return `${gone}, but its keeper is stopped and cannot record it; continue or retire it`;
  const late = `${gone}, and its keeper has not put the end on record yet`;
  return obstacle === null ? late : withObstacle(late, obstacle);
}

export function withObstacle(doubt: string, { because, remedy }: Obstacle): string {
  return `${doubt}: ${because}; ${remedy}`;
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
 * a record that makes no sense explains nothing.
 */
export function isMassDeath(decisions: readonly ReconcileDecision[]): boolean {
  const unexplained = decisions.filter(isUnexplainedDeath).length;
  return unexplained >= MASS_DEATH_MINIMUM && unexplained * 2 > decisions.length;
}

export function isUnexplainedDeath(
  decision: ReconcileDecision,
): decision is Extract<ReconcileDecision, { do: 'finalise' }> {
  if (decision.do !== 'finalise' || decision.proof === 'rebooted') return false;
  return decision.exit.kind === 'none' || decision.exit.kind === 'malformed';
}

/** Longer than any tool or disk that is merely slow; short enough for a person to wait for. */
export const SECOND_LOOK_MS = 60_000;
/** A doubt of long ago says nothing of now: the run may have been seen alive since, which leaves no trace. */
export const DOUBT_EXPIRES_MS = 60 * 60_000;

export interface DoubtFacts {
  /** When a mass death with this run in it was last doubted; null for never. Both times are the store's. */
  readonly doubtedAtMs: number | null;
  readonly nowMs: number;
  /** Whether the process table shows what is known to be there. */
  readonly isTableSane: boolean;
}

/**
 * What becomes of one death in a mass death. `doubt`: it is put on record and nothing is done. `wait`: the same without
 * another record. `conclude`: a look long enough after the first saw the same, by a table that works.
 */
export function planDoubt({ doubtedAtMs, nowMs, isTableSane }: DoubtFacts): 'doubt' | 'wait' | 'conclude' {
  const sinceMs = doubtedAtMs === null ? null : nowMs - doubtedAtMs;
  if (sinceMs === null || sinceMs < 0 || sinceMs > DOUBT_EXPIRES_MS) return 'doubt';
  return isTableSane && sinceMs >= SECOND_LOOK_MS ? 'conclude' : 'wait';
}
