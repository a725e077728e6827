import { rmSync } from 'node:fs';
import { ReeveError } from '../api/errors.ts';
import type { Session } from '../lifecycle/session.ts';
import type { Context } from './context.ts';
import { runDirectory } from './liveness.ts';
import { lastWay } from './reach.ts';
import { reconcileRun } from './reconcile.ts';
import { resolveCurrent } from './resolve.ts';

/** Forgets an ended session: its record, its events, its logs. Refused while a run of it may be alive. */
export async function remove(context: Context, reference: string): Promise<Session> {
  const { session, run } = await resolveCurrent(context, reference);
  const seen = await reconcileRun(context, run);
  if (seen.liveness === 'unknown' || seen.command === 'gone') {
    const wayOn =
      seen.liveness === 'unknown'
        ? lastWay(context, { session, run })
        : `Or end its keeper: reeve stop ${session.name}`;
    throw new ReeveError(
      'unproven',
      `${session.name} was not removed: ${seen.because ?? 'its run may be alive'}.`,
      { hint: `Look once more: reeve settle ${session.name}    ${wayOn}` },
    );
  }
  const runs = await context.store.runsOf(session.id);
  if (seen.run.state !== 'ended' || !(await context.store.removeSession(session.id, context.actor))) {
    throw new ReeveError(
      'live_owner',
      `${session.name} was not removed: run ${seen.run.id} of it is alive.`,
      {
        hint: `Stop it first: reeve stop ${session.name}`,
      },
    );
  }
  for (const { id } of runs) rmSync(runDirectory(context, id), { recursive: true, force: true });
  return session;
}
