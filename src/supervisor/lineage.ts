/** Who descends from whom, as far as the end of a run must know it. */
import { ReeveError } from '../api/errors.ts';
import type { LiveRun, Run } from '../lifecycle/run.ts';
import { unread } from '../process/reading.ts';
import { forgetSpared, notesIn } from '../process/spared.ts';
import type { Spared, UnreadNote } from '../process/spared.ts';
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
  const notes = notesIn(directory).spared;
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

/**
 * Whom the end of this run must not touch, to be asked at every look: a child may be started at any time. Notes that cannot
 * be read are answered for by the store, which has every child on record before it executes; and none can be started
 * whose note could not be read. What becomes unreadable only later is an error, for that answer may be an old one.
 */
export async function sparedOf(context: Context, run: Run): Promise<() => readonly Spared[]> {
  const directory = runDirectory(context, run.id);
  const known = notesIn(directory).unread;
  const [first] = known;
  const recorded = first === undefined ? [] : await keepersBelow(context, run, first);
  return () => {
    const { spared, unread: now } = notesIn(directory);
    const fresh = now.find(({ pid }) => !known.some((each) => each.pid === pid));
    if (fresh !== undefined) throw unread(fresh);
    return [...spared, ...recorded];
  };
}

/** As evidence: why it was the store that said who its children are; null where their notes did. */
export function notesUnread(context: Context, run: Run): string | null {
  const [failed] = notesIn(runDirectory(context, run.id)).unread;
  return failed === undefined
    ? null
    : `which of its children were to be left alone was known from the record only (${failed.because})`;
}

async function keepersBelow(context: Context, run: Run, { because }: UnreadNote): Promise<readonly Spared[]> {
  const below = await context.store.below([run.id], 'live');
  return below.flatMap(({ session, run: child }) => {
    const { id, keeper, containment } = child;
    if (keeper === null) {
      throw new ReeveError(
        'unproven',
        `Run ${run.id} has a child that is about to start, ${session.name} (run ${id}), and its processes cannot be told from those of the run: ${because}.`,
        { hint: `Try again. If it stays like this, end the child first: reeve kill ${session.name}` },
      );
    }
    if (keeper.boot !== context.table.host.boot) return [];
    const cgroup = containment?.by === 'cgroup' ? containment.path : null;
    return [{ pid: keeper.pid, startTime: keeper.startTime ?? '', runId: id, cgroup }];
  });
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
