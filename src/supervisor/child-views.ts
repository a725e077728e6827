/** What runs started, and what those started in turn: the tree, flat, each with the run that it hangs from. */
import type { ChildView } from '../api/session-view.ts';
import type { Liveness } from '../lifecycle/process-identity.ts';
import type { Run } from '../lifecycle/run.ts';
import { deriveLiveness } from '../lifecycle/status.ts';
import { totalOf } from '../lifecycle/usage.ts';
import { probe } from '../process/liveness.ts';
import { RUN_MARK } from '../process/tree.ts';
import type { SessionWithRun } from '../store/store.ts';
import type { Context } from './context.ts';
import { probeRun } from './liveness.ts';
import { resolveSession } from './resolve.ts';
import { isoTime, viewRun } from './view.ts';

/** Of a session; or of the run inside which this is asked; or else every live run that has a parent. */
export async function listChildren(context: Context, reference?: string): Promise<readonly ChildView[]> {
  await (await import('./children.ts')).endOverdueChildren(context);
  if (reference !== undefined) {
    const { session } = await resolveSession(context, reference);
    return childrenOf(
      context,
      (await context.store.runsOf(session.id)).map(({ id }) => id),
    );
  }
  const own = context.environment[RUN_MARK] ?? '';
  if (own !== '') return childrenOf(context, [own]);
  return viewChildren(
    context,
    (await context.store.live()).filter(({ run }) => run.parent !== null),
  );
}

export async function childrenOf(context: Context, runIds: readonly string[]): Promise<readonly ChildView[]> {
  return viewChildren(context, await context.store.below(runIds, 'all'));
}

/** Seen alive or not as the process table has it now; nothing is done about them here. */
async function viewChildren(
  context: Context,
  children: readonly SessionWithRun[],
): Promise<readonly ChildView[]> {
  const spent = await context.store.usageOfRuns(children.map(({ run }) => run));
  return children.flatMap(({ session, run }): ChildView[] => {
    if (run.parent === null) return [];
    const { startedBy, ownerId, onParentEnd, subject, revision, waitsUntilMs } = run.parent;
    const tokens = spent.get(run.id);
    return [
      {
        session: session.name,
        sessionId: session.id,
        parent: startedBy,
        owner: ownerId,
        onParentEnd,
        subject,
        revision,
        waitsUntil: waitsUntilMs === null ? null : isoTime(waitsUntilMs),
        argv: run.argv,
        tokens: tokens === undefined ? null : totalOf(tokens),
        run: viewRun(run, livenessOf(context, run)),
      },
    ];
  });
}

function livenessOf(context: Context, run: Run): Liveness['is'] {
  if (run.state === 'ended') return 'dead';
  const isGone = run.harness !== null && probe(context.table, run.harness).is === 'dead';
  return deriveLiveness(probeRun(context, run).is, isGone ? 'gone' : undefined);
}
