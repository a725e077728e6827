/** A person ends a session's run. The outcome is `stopped`, and it stays stopped. */
import { ReeveError } from '../api/errors.ts';
import { PROOF_WORDS } from '../lifecycle/proof.ts';
import type { Run } from '../lifecycle/run.ts';
import type { Session } from '../lifecycle/session.ts';
import type { SessionWithRun } from '../store/store.ts';
import type { Context } from './context.ts';
import { describeMembers, describeSurvivors } from './describe-members.ts';
import { isHolding } from './ownership/hold.ts';
import { notEnded, refuseWord } from './reach.ts';
import { endingWays } from './owner-words.ts';
import { reconcileRun } from './reconcile.ts';
import { resolveCurrent } from './resolve.ts';
import { intentNow, retireRun } from './retire.ts';
import { takeLastWrites } from './take-writes.ts';
import { treeOf } from './tree-of.ts';

export interface StopResult extends SessionWithRun {
  /** False when there was nothing to stop any more. */
  readonly wasLive: boolean;
}

export async function stop(context: Context, reference: string, graceMs: number): Promise<StopResult> {
  const { session, run } = await resolveCurrent(context, reference);
  if (run.state === 'ended') return { session, run, wasLive: false };
  const reason = `${context.actor} stopped it`;
  const result = await retireRun(
    context,
    run,
    intentNow({ outcome: 'stopped', actor: context.actor, reason }),
    graceMs,
  );
  switch (result.is) {
    case 'ended':
      return { session, run: result.run, wasLive: result.run.intent !== null };
    case 'survivors':
      throw new ReeveError(
        'survivors',
        `Run ${run.id} of ${session.name} could not be ended: ${describeSurvivors(result)}.`,
        {
          hint: 'It stays the owner of the session. Look at these processes, then run `reeve kill` again.',
          details: { survivors: result.survivors },
        },
      );
    case 'out_of_reach':
      throw new ReeveError(
        'out_of_reach',
        `Run ${run.id} of ${session.name} was not ended, and nothing was changed: ${result.because}.`,
        { hint: endingWays(result, session.name), details: result.details },
      );
    case 'unproven':
      if (result.isGone === true) throw unrecorded(session, run, result.because);
      throw new ReeveError(
        'unproven',
        `Run ${run.id} of ${session.name} could not be ended: ${result.because}.`,
        {
          hint: 'Run this where the run lives; or, if you know that it is gone, add --assume-gone.',
        },
      );
  }
}

/** There is nothing left to end, so that is not what a person goes on with. */
function unrecorded({ name }: Session, { id }: Run, because: string): ReeveError {
  return new ReeveError(
    'unproven',
    `Nothing of run ${id} of ${name} is alive any more, but its end is not on record: ${because}.`,
    {
      hint: `Make that readable, and record it: reeve settle ${name}    Or give up how it ended: reeve kill ${name} --assume-gone`,
    },
  );
}

/**
 * A person answers for what cannot be proven from here: the run is recorded as lost, on their word. Refused while
 * the run is provably alive or can be ended properly.
 */
export async function assumeGone(context: Context, reference: string): Promise<StopResult> {
  const { session, run } = await resolveCurrent(context, reference);
  const seen = await reconcileRun(context, run);
  if (seen.run.state === 'ended') return { session, run: seen.run, wasLive: false };
  if (seen.liveness === 'alive') {
    const away = notEnded(context, run);
    throw new ReeveError(
      'live_owner',
      seen.command === 'gone'
        ? `The keeper of run ${run.id} of ${session.name} is alive, so the run cannot be assumed gone.`
        : `Run ${run.id} of ${session.name} is alive, so it cannot be assumed gone.`,
      {
        hint: away === null ? `End it with \`reeve kill ${session.name}\`.` : endingWays(away, session.name),
        details: away?.details ?? {},
      },
    );
  }
  refuseWord(context, { session, run });
  if (isHolding(context, session, run)) {
    throw new ReeveError(
      'live_owner',
      `The keeper of run ${run.id} of ${session.name} cannot be seen from here, but it holds the session, so it is alive.`,
      {
        hint: `End it where it can be seen, outside of this container or as its user: reeve kill ${session.name}`,
      },
    );
  }
  const visible = (await treeOf(context, seen.run)).find();
  if (visible.length > 0) {
    throw new ReeveError(
      'survivors',
      `${session.name} cannot be assumed gone: ${describeMembers(visible)} can be seen.`,
      {
        hint: 'Look at these processes first.',
        details: { survivors: visible },
      },
    );
  }
  // Where its directory is here. What cannot be read is nothing to a person's word.
  await takeLastWrites(context, seen.run);
  await context.store.step(run.id, { kind: 'end', ending: assumedEnding(context, seen.because) });
  const ended: Run | null = await context.store.run(run.id);
  return { session, run: ended ?? run, wasLive: true };
}

function assumedEnding(context: Context, because: string | null) {
  return {
    outcome: 'lost',
    reason: `${context.actor} declared it gone; it could not be proven`,
    actor: context.actor,
    evidence: [...(because === null ? [] : [because]), PROOF_WORDS.word],
    proof: 'word',
    exitCode: null,
    signal: null,
    endedAtMs: Date.now(),
  } as const;
}
