/**
 * Owners that Reeve did not start: somebody typed `claude --resume ID`. They count as live owners, and are signalled only
 * when a person asked for exactly that.
 */
import { ReeveError } from '../api/errors.ts';
import type { OnLive } from '../lifecycle/takeover.ts';
import type { ProcessIdentity } from '../lifecycle/process-identity.ts';
import type { Run } from '../lifecycle/run.ts';
import { checkpoint } from '../process/checkpoint.ts';
import { endTree } from '../process/end-tree.ts';
import { outsiderTree } from '../process/outsider-tree.ts';
import { lookAt } from './activity.ts';
import type { Context } from './context.ts';
import { findServing } from './discovery.ts';
import type { LiveHarness } from './discovery.ts';
import { describeSurvivors } from './describe-members.ts';
import type { HarnessLaunch } from './harness-launch.ts';
import type { LaunchResult } from './launch.ts';
import { managerOf } from './ownership/manager.ts';
import type { Manager } from './ownership/manager.ts';
import { reconcileRun } from './reconcile.ts';

interface Wanted {
  readonly launch: HarnessLaunch;
  readonly onLive: OnLive;
  readonly unmanaged?: boolean | undefined;
  readonly onUnmanagedEnded?: ((owner: LiveHarness) => void) | undefined;
  readonly graceMs: number;
  /** Throws where the start is refused anyway. */
  readonly checkFirst: () => Promise<void>;
}

export type OutsiderStep =
  | { readonly is: 'none'; readonly ended: readonly LiveHarness[] }
  | { readonly is: 'unmanaged'; readonly owner: LiveHarness; readonly because: string | null }
  | Extract<LaunchResult, { is: 'refused' | 'elsewhere' }>;

export async function dealWithOutsiders(context: Context, wanted: Wanted): Promise<OutsiderStep> {
  const { adapter, nativeId, mayExist } = wanted.launch;
  if (nativeId === null || !mayExist) return { is: 'none', ended: [] };
  await checkpoint('outsiders.sought');
  const serving = await findServing(context, adapter.name, nativeId);
  const managers: Manager[] = [];
  for (const { identity } of serving) managers.push(...(await livingManagerOf(context, identity)));
  // Claimed since the session was looked for, or only now known to serve it: its session's affair, as the claim will say.
  const bound = serving.length === 0 ? null : await context.store.sessionByNative(adapter.name, nativeId);
  if (bound !== null && bound.run.state !== 'ended') return { is: 'none', ended: [] };
  // Before anybody is ended: what a run does is ended with that run, and nobody is ended for a start that is refused.
  const [manager] = managers;
  if (manager?.is === 'here') return { ...manager, is: 'refused', code: 'live_owner', away: null, nativeId };
  if (manager !== undefined) return manager;
  const mayEnd = wanted.onLive === 'retire' && wanted.unmanaged === true;
  for (const owner of serving) {
    if (!mayEnd) return { is: 'unmanaged', owner, because: null };
    await wanted.checkFirst();
    const because = await endOutsider(context, wanted, owner);
    if (because !== null) return { is: 'unmanaged', owner, because };
    wanted.onUnmanagedEnded?.(owner);
  }
  return { is: 'none', ended: serving };
}

/** The run that it belongs to; which conversation that serves may not have been read yet, and is then. */
async function livingManagerOf(context: Context, identity: ProcessIdentity): Promise<readonly Manager[]> {
  const manager = await managerOf(context, identity);
  if (manager?.is !== 'here') return manager === null ? [] : [manager];
  const seen = await reconcileRun(context, manager.run);
  if (seen.run.state === 'ended') return [];
  await lookAt(context, manager.session, seen);
  return [{ ...manager, run: seen.run }];
}

/** Null when it and its tree are gone; otherwise why not. */
async function endOutsider(context: Context, wanted: Wanted, owner: LiveHarness): Promise<string | null> {
  const { identity, nativeId } = owner;
  const marks = wanted.launch.adapter.marks({ pid: identity.pid, nativeId });
  const tree = outsiderTree(context.table, identity, marks);
  // By descent, or by the mark alone: whoever left its parents behind would end them all the same.
  const isInside =
    tree.find().some(({ pid }) => pid === process.ppid) ||
    marks.some((mark) => isMarked(context.environment, mark));
  if (isInside) {
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
  return report.end === 'survived' ? `could not be ended: ${describeSurvivors(report)}` : null;
}

function isMarked(environment: Context['environment'], mark: string): boolean {
  const at = mark.indexOf('=');
  return environment[mark.slice(0, at)] === mark.slice(at + 1);
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
