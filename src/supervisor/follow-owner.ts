/**
 * A run that was started inside another one is dealt with when that one ends. Where the keeper above was killed nobody
 * ends it, so the keeper below looks for it, without a daemon, and has this done when it is gone.
 */
import type { ProcessIdentity } from '../lifecycle/process-identity.ts';
import type { Run } from '../lifecycle/run.ts';
import { probe } from '../process/liveness.ts';
import { forgetOwner, noteOwner } from '../process/owner-note.ts';
import type { Context } from './context.ts';
import { runDirectory } from './liveness.ts';
import { reconcileRun } from './reconcile.ts';

/** Before a child is let go: whom its keeper is to look for. */
export async function noteOwnerOf(context: Context, { id, parent }: Run): Promise<void> {
  const owner = parent?.ownerId == null ? null : await context.store.run(parent.ownerId);
  const speaker = owner === null ? null : speakerOf(context, owner);
  if (speaker !== null) noteOwner(runDirectory(context, id), speaker);
}

/** Accounts for the runs above, which deals with this one by its policy; and says whom to look for from now on. */
export async function followOwner(context: Context, runId: string): Promise<void> {
  const directory = runDirectory(context, runId);
  const ownerId = ownerIn(await context.store.run(runId));
  if (ownerId === null) return forgetOwner(directory);
  // Further up somebody may be gone too, of whose end nobody else would tell.
  for (const above of [ownerId, ...(await context.store.ancestorsOf(ownerId))]) {
    const run = await context.store.run(above);
    if (run !== null) await reconcileRun(context, run);
  }
  const latest = ownerIn(await context.store.run(runId));
  if (latest === null) return forgetOwner(directory);
  const owner = await context.store.run(latest);
  const speaker = owner === null ? null : speakerOf(context, owner);
  // Without one nothing could be proven, and the note stays: the keeper looks again after a while.
  if (speaker !== null) noteOwner(directory, speaker);
}

/** Null when there is nobody with whose end it would be dealt with. */
function ownerIn(run: Run | null): string | null {
  if (run === null || run.state === 'ended' || run.parent?.waitsUntilMs !== null) return null;
  return run.parent.ownerId;
}

/** Its keeper; or the harness that it adopted, which does not end with its keeper. Null when neither is seen alive. */
function speakerOf({ table }: Context, { keeper, harness, mode }: Run): ProcessIdentity | null {
  const speakers = mode === 'adopted' ? [keeper, harness] : [keeper];
  return speakers.find((each) => each !== null && probe(table, each).is === 'alive') ?? null;
}
