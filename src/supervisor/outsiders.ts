/**
 * Owners that Reeve did not start: somebody typed `claude --resume ID`. They count as live owners, and are signalled only
 * when a person asked for exactly that.
 */
import { ReeveError } from '../api/errors.ts';
import type { OnLive } from '../lifecycle/takeover.ts';
import type { Run } from '../lifecycle/run.ts';
import { endTree } from '../process/end-tree.ts';
import { outsiderTree } from '../process/outsider-tree.ts';
import type { Context } from './context.ts';
import { findServing } from './discovery.ts';
import type { LiveHarness } from './discovery.ts';
import { describeMembers } from './finalise.ts';
import type { HarnessLaunch } from './harness-launch.ts';

interface Wanted {
  readonly launch: HarnessLaunch;
  readonly onLive: OnLive;
  readonly unmanaged?: boolean | undefined;
  readonly graceMs: number;
}

export type OutsiderStep =
  | { readonly is: 'none'; readonly ended: readonly LiveHarness[] }
  | { readonly is: 'unmanaged'; readonly owner: LiveHarness; readonly because: string | null };

export async function dealWithOutsiders(context: Context, wanted: Wanted): Promise<OutsiderStep> {
  const { adapter, nativeId, mayExist } = wanted.launch;
  if (nativeId === null || !mayExist) return { is: 'none', ended: [] };
  const serving = await findServing(context, adapter.name, nativeId);
  const mayEnd = wanted.onLive === 'retire' && wanted.unmanaged === true;
  for (const owner of serving) {
    if (!mayEnd) return { is: 'unmanaged', owner, because: null };
    const because = await endOutsider(context, wanted, owner);
    if (because !== null) return { is: 'unmanaged', owner, because };
  }
  return { is: 'none', ended: serving };
}

/** Null when it and its tree are gone; otherwise why not. */
async function endOutsider(context: Context, wanted: Wanted, owner: LiveHarness): Promise<string | null> {
  const { identity, nativeId } = owner;
  const marks = wanted.launch.adapter.marks({ pid: identity.pid, nativeId });
  const tree = outsiderTree(context.table, identity, marks);
  if (tree.find().some(({ pid }) => pid === process.ppid)) {
    throw new ReeveError(
      'inside_own_run',
      `This command runs inside pid ${identity.pid}, which it would have to end.`,
      {
        hint: 'Take the conversation over from a terminal outside of it.',
        details: { pid: identity.pid, nativeId },
      },
    );
  }
  const report = await endTree(tree, wanted.graceMs);
  return report.end === 'survived' ? `could not be ended: ${describeMembers(report.survivors)}` : null;
}

export async function noteOutsider(context: Context, run: Run, owner: LiveHarness): Promise<void> {
  const { identity, argv, harness, nativeId, evidence } = owner;
  await context.store.note(
    {
      sessionId: run.sessionId,
      runId: run.id,
      kind: 'outsider.ended',
      actor: context.actor,
      data: { pid: identity.pid, argv, harness, nativeId, evidence },
    },
    'always',
  );
}
