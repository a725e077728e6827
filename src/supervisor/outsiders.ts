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
import { RUN_MARK } from '../process/tree.ts';
import { lookAt } from './activity.ts';
import type { Context } from './context.ts';
import { findServing } from './discovery.ts';
import type { LiveHarness } from './discovery.ts';
import { describeSurvivors } from './describe-members.ts';
import type { HarnessLaunch } from './harness-launch.ts';
import { ownerElsewhere } from './ownership/elsewhere.ts';
import type { OwnerElsewhere } from './ownership/elsewhere.ts';
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
  | ({ readonly is: 'elsewhere' } & OwnerElsewhere);

export async function dealWithOutsiders(context: Context, wanted: Wanted): Promise<OutsiderStep> {
  const { adapter, nativeId, mayExist } = wanted.launch;
  if (nativeId === null || !mayExist) return { is: 'none', ended: [] };
  await checkpoint('outsiders.sought');
  const serving = await findServing(context, adapter.name, nativeId);
  const managed = new Set<LiveHarness>();
  for (const owner of serving) if (await isManaged(context, owner)) managed.add(owner);
  // Claimed since the session was looked for, or only now known to serve it: its session's affair, as the claim will say.
  const bound = serving.length === 0 ? null : await context.store.sessionByNative(adapter.name, nativeId);
  if (bound !== null && bound.run.state !== 'ended') return { is: 'none', ended: [] };
  const mayEnd = wanted.onLive === 'retire' && wanted.unmanaged === true;
  for (const owner of serving) {
    const elsewhere = ownerElsewhere(context, owner.identity.pid);
    if (elsewhere !== null) return { is: 'elsewhere', ...elsewhere };
    if (!mayEnd || managed.has(owner)) return { is: 'unmanaged', owner, because: null };
    await wanted.checkFirst();
    const because = await endOutsider(context, wanted, owner);
    if (because !== null) return { is: 'unmanaged', owner, because };
    wanted.onUnmanagedEnded?.(owner);
  }
  return { is: 'none', ended: serving };
}

/** Whether it is a run of Reeve's; which conversation that serves may not have been read yet, and is then. */
async function isManaged(context: Context, { identity }: LiveHarness): Promise<boolean> {
  const mark = context.table.details(identity.pid)?.environment()[RUN_MARK];
  const live = await context.store.live();
  // By its mark when its launcher died before it could put it on record; an adopted one has none, or that of another run.
  const owner =
    live.find(({ run }) => isSame(run.harness, identity)) ?? live.find(({ run }) => run.id === mark);
  if (owner === undefined) return false;
  const seen = await reconcileRun(context, owner.run);
  if (!isSame(seen.run.harness, identity)) return false;
  await lookAt(context, owner.session, seen);
  return true;
}

function isSame(one: ProcessIdentity | null, other: ProcessIdentity): boolean {
  return one?.pid === other.pid && one.startTime === other.startTime;
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
