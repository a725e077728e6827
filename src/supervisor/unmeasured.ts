/** What is spent where this host cannot look, and nothing is on record of: it is not known, which is not the same as nought. */
import { clockOf } from '../lifecycle/awake.ts';
import type { AwakeNow } from '../lifecycle/awake.ts';
import type { Unmeasured } from '../lifecycle/budget.ts';
import { hostName } from '../lifecycle/reach.ts';
import type { Run } from '../lifecycle/run.ts';
import type { Context } from './context.ts';
import { isHere } from './reach.ts';

/** By which host each kind is measured, where that has said nothing yet of one of these runs. */
export async function unmeasured(
  context: Context,
  runs: readonly Run[],
  here: AwakeNow,
): Promise<Unmeasured | undefined> {
  const away = runs.filter((run) => run.state === 'running' && !isHere(context, run));
  if (away.length === 0) return undefined;
  const timed = away.find(
    ({ keeper, awake }) =>
      keeper !== null && clockOf(keeper) !== here.clock && (awake === null || awake.ms === null),
  );
  const silent = await withoutLedger(context, away);
  return {
    ...(timed === undefined ? {} : { minutes: hostOf(timed) }),
    ...(silent === undefined ? {} : { tokens: hostOf(silent), cost: hostOf(silent) }),
  };
}

/** Plain commands have no conversations, so nobody keeps a ledger of theirs. */
async function withoutLedger(context: Context, runs: readonly Run[]): Promise<Run | undefined> {
  const found = await context.store.runsWithSession(runs.map(({ id }) => id));
  for (const { session, run } of found) {
    if (session.harness !== 'command' && (await context.store.spentByRuns([run.id])).length === 0) return run;
  }
  return undefined;
}

function hostOf({ keeper, launcher }: Run): string {
  return hostName((keeper ?? launcher).host);
}
