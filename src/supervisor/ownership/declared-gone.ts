/**
 * A run that a person declared gone, from where it could not be seen: its record is over, but here it may live, and then its
 * session has an owner. Nothing is started beside it, and `settle` ends it; also when another host has long begun the next
 * run of the session.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ReeveError } from '../../api/errors.ts';
import { mayBeOneBoot } from '../../lifecycle/process-identity.ts';
import type { EndedRun } from '../../lifecycle/run.ts';
import type { Session } from '../../lifecycle/session.ts';
import { endTree } from '../../process/end-tree.ts';
import { probe } from '../../process/liveness.ts';
import { announcementsHeld, announcementsIn } from '../../process/owner-files.ts';
import type { Member } from '../../process/tree.ts';
import type { Context } from '../context.ts';
import { describeMembers } from '../describe-members.ts';
import { SWEEP_GRACE_MS } from '../finalise.ts';
import { treeOf } from '../tree-of.ts';
import { groundOf, isOf } from './ground.ts';

export async function refuseLiving(context: Context, session: Session, run: EndedRun): Promise<void> {
  const members = await livingOf(context, run);
  if (members.length === 0 && !isKept(context, run)) return;
  throw new ReeveError(
    'live_owner',
    `Run ${run.id} of ${session.name} was declared gone, but it lives: ${named(members)}.`,
    {
      hint: `End it first: reeve settle ${session.name}`,
      details: { run: run.id, survivors: members },
    },
  );
}

export interface Declared {
  readonly session: Session;
  readonly run: EndedRun;
  /** Empty where only its keeper is left. */
  readonly members: readonly Member[];
}

/** Those of this state directory that live, from what their keepers hold, and from the files of those that were killed. */
export async function declaredLiving(context: Context): Promise<readonly Declared[]> {
  const ground = groundOf(context);
  const { announcements } = announcementsHeld(context.table, ground.owners);
  const ids = [...announcementsIn(ground.owners), ...announcements]
    .filter((each) => isOf(ground, each))
    .map(({ run }) => run.id);
  const found: Declared[] = [];
  for (const id of new Set(ids)) {
    const run = await context.store.run(id);
    if (run?.state !== 'ended' || run.ending.proof !== 'word') continue;
    const members = await livingOf(context, run);
    const [owner] = await context.store.sessionsOf([run.sessionId]);
    if (owner !== undefined && (members.length > 0 || isKept(context, run)))
      found.push({ session: owner.session, run, members });
  }
  return found;
}

/** What was ended, as the end of a sentence; null where nothing of it lives. */
export async function endDeclared(context: Context, run: EndedRun): Promise<string | null> {
  if (run.ending.proof !== 'word') return null;
  const members = await livingOf(context, run);
  if (members.length === 0 && !isKept(context, run)) return null;
  const { end } = await endTree(await treeOf(context, run), SWEEP_GRACE_MS);
  if (end === 'survived' || !(await isLetGo(context, run))) {
    throw new ReeveError(
      'survivors',
      `What is left of run ${run.id} could not be ended: ${named(members)}.`,
      {
        hint: 'Look at these processes, then try again.',
        details: { survivors: members },
      },
    );
  }
  return `it was declared gone, but lived, and was ended: ${named(members)}`;
}

export function named(members: readonly Member[]): string {
  return members.length === 0 ? 'its keeper' : describeMembers(members);
}

async function livingOf(context: Context, run: EndedRun): Promise<readonly Member[]> {
  if (run.keeper === null || !mayBeOneBoot(run.keeper, context.table.host)) return [];
  return (await treeOf(context, run)).find();
}

function isKept({ table }: Context, { keeper }: EndedRun): boolean {
  return keeper !== null && probe(table, keeper).is === 'alive';
}

const GONE_WAIT_MS = 15_000;
const POLL_MS = 50;

/** Its keeper has nothing left to wait for, finds the outcome on record, and goes. */
async function isLetGo(context: Context, run: EndedRun): Promise<boolean> {
  const deadline = performance.now() + GONE_WAIT_MS;
  while (isKept(context, run) && performance.now() < deadline) await sleep(POLL_MS);
  return !isKept(context, run);
}
