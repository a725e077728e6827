/**
 * What a run's end means for what it started: each child is dealt with by its policy before the run is terminal. The
 * store refuses the end of a run that has a child left, so none is forgotten, whoever ends the run and however.
 * Loaded where there is a child: to end a run may take ending another, which is a ring, and most runs have none.
 */
import { planForChild } from '../lifecycle/child.ts';
import type { LiveRun } from '../lifecycle/run.ts';
import { LOOK_NOW, tellKeeper } from '../process/keeper.ts';
import { forgetOwner } from '../process/owner-note.ts';
import type { SessionWithRun } from '../store/store.ts';
import type { Context } from './context.ts';
import { describeSurvivors } from './describe-members.ts';
import { CHILD_GRACE_MS } from './lineage.ts';
import { isHere } from './reach.ts';
import { troubleOf } from './reconcile.ts';
import { runDirectory } from './liveness.ts';
import { intentNow, retireRun } from './retire.ts';

/** Null when each was dealt with; otherwise a sentence without its full stop, which is on record with the owner too. */
export async function dealWithChildren(
  context: Context,
  owner: LiveRun,
  children: readonly SessionWithRun[],
  graceMs: number,
): Promise<string | null> {
  const problems = await Promise.all(children.map((child) => dealWith(context, child, owner, graceMs)));
  const problem = problems.find((each) => each !== null) ?? null;
  if (problem !== null) {
    const event = {
      sessionId: owner.sessionId,
      runId: owner.id,
      kind: 'child.undealt',
      actor: context.actor,
    };
    await context.store.note({ ...event, data: { because: problem } }, 'once');
  }
  return problem;
}

async function dealWith(
  context: Context,
  { session, run }: SessionWithRun,
  owner: LiveRun,
  graceMs: number,
): Promise<string | null> {
  if (run.state === 'ended') return null;
  const plan = planForChild(run, { id: owner.id, outcome: owner.intent?.outcome ?? null });
  if (plan.do === 'await') {
    await context.store.step(run.id, { kind: 'await', ownerId: owner.id, withinMs: plan.withinMs, atMs: 0 });
    forgetOwner(runDirectory(context, run.id));
    // So that it is ended in time although nobody may look: its own keeper sees to it.
    if (run.keeper !== null) tellKeeper(context.table, run.keeper, LOOK_NOW);
    return null;
  }
  if (plan.do === 'detach') {
    await context.store.step(run.id, { kind: 'detach', ownerId: owner.id });
    forgetOwner(runDirectory(context, run.id));
    return null;
  }
  const because = await cancel(context, run, plan.because, graceMs, owner.intent?.actor);
  return because === null
    ? null
    : `its child ${session.name} (run ${run.id}) could not be cancelled: ${because}`;
}

async function cancel(
  context: Context,
  run: LiveRun,
  reason: string,
  graceMs: number,
  actor = context.actor,
): Promise<string | null> {
  const intent = intentNow({ outcome: 'cancelled', actor, reason });
  // Its trouble is on record with its owner; the owner's other children are dealt with all the same.
  const result = await retireRun(context, run, intent, graceMs).catch((error: unknown) => troubleOf(error));
  if (typeof result === 'string') return result;
  switch (result.is) {
    case 'ended':
      return null;
    case 'out_of_reach':
    case 'unproven':
      return result.because;
    case 'survivors':
      return describeSurvivors(result);
  }
}

/** Ends those that have waited in vain for a successor of their owner. */
export async function endOverdueChildren(context: Context): Promise<readonly SessionWithRun[]> {
  const overdue = (await context.store.overdueChildren()).filter(({ run }) => isHere(context, run));
  await Promise.all(
    overdue.map(async ({ run }) => {
      if (run.state === 'ended') return;
      const seconds = Math.round((run.parent?.adoptWithinMs ?? 0) / 1000);
      const reason = `its parent, run ${run.parent?.ownerId}, was over, and no successor took it over within ${seconds} s`;
      await cancel(context, run, reason, CHILD_GRACE_MS);
    }),
  );
  return overdue;
}
