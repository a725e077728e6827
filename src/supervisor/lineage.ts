/** Who descends from whom, as far as the end of a run must know it. */
import type { LiveRun, Run } from '../lifecycle/run.ts';
import { forgetSpared, sparedIn } from '../process/spared.ts';
import type { Spared } from '../process/spared.ts';
import { RUN_MARK } from '../process/tree.ts';
import type { Context } from './context.ts';
import { runDirectory } from './liveness.ts';

/** What a child gets between being asked to end and being killed, where its parent ended by itself. */
export const CHILD_GRACE_MS = 5_000;

/** Null when every child of it was dealt with; otherwise why one could not be. */
export async function settleChildren(
  context: Context,
  owner: LiveRun,
  graceMs: number,
): Promise<string | null> {
  const children = await context.store.undealtChildren(owner.id);
  if (children.length === 0) return null;
  return (await import('./children.ts')).dealWithChildren(context, owner, children, graceMs);
}

/**
 * Forgets the notes that spare whom the store does not know as a live child: a child that is over, or a process that
 * wants to be taken for one.
 */
export async function proveSpared(context: Context, run: Run): Promise<void> {
  const directory = runDirectory(context, run.id);
  const notes = sparedIn(directory);
  if (notes.length === 0) return;
  const children = new Map(
    (await context.store.below([run.id], 'live')).map((each) => [each.run.id, each.run]),
  );
  for (const note of notes)
    if (!isKeeperOf(children.get(note.runId ?? ''), note)) forgetSpared(directory, note);
}

function isKeeperOf(child: Run | undefined, { pid, startTime }: Spared): boolean {
  if (child === undefined) return false;
  // Noted before it is on record.
  if (child.keeper === null) return child.state === 'claimed';
  return child.keeper.pid === pid && child.keeper.startTime === startTime;
}

/** Whether this process belongs to something that ends together with the run, as its child or a child's child. */
export async function isInsideChild(context: Context, run: Run): Promise<boolean> {
  let own = await context.store.run(context.environment[RUN_MARK] ?? '');
  while (own?.parent?.onParentEnd === 'cancel' && own.parent.ownerId !== null) {
    if (own.parent.ownerId === run.id) return true;
    own = await context.store.run(own.parent.ownerId);
  }
  return false;
}
