/** What is spent where this host cannot look, and nothing is on record of: it is not known, which is not the same as nought. */
import { clockOf } from '../lifecycle/awake.ts';
import type { AwakeNow } from '../lifecycle/awake.ts';
import type { Unmeasured } from '../lifecycle/budget.ts';
import { hostName } from '../lifecycle/reach.ts';
import type { Run } from '../lifecycle/run.ts';
import type { SessionWithRun } from '../store/store.ts';
import type { Context } from './context.ts';
import { isHere } from './reach.ts';

/** By which host each kind is measured, where that has said nothing yet of one of these runs. */
export function unmeasured(
  context: Context,
  runs: readonly SessionWithRun[],
  spentByRun: ReadonlyMap<string, unknown>,
  here: AwakeNow,
): Unmeasured | undefined {
  const away = runs.filter(({ run }) => run.state === 'running' && !isHere(context, run));
  if (away.length === 0) return undefined;
  const timed = away.find(
    ({ run: { keeper, awake } }) =>
      keeper !== null && clockOf(keeper) !== here.clock && (awake === null || awake.ms === null),
  );
  // Plain commands have no conversations, so nobody keeps a ledger of theirs.
  const silent = away.find(({ session, run }) => session.harness !== 'command' && !spentByRun.has(run.id));
  return {
    ...(timed === undefined ? {} : { minutes: hostOf(timed.run) }),
    ...(silent === undefined ? {} : { tokens: hostOf(silent.run), cost: hostOf(silent.run) }),
  };
}

function hostOf({ keeper, launcher }: Run): string {
  return hostName((keeper ?? launcher).host);
}
