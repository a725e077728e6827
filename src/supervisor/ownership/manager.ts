/**
 * The run that a live process belongs to, of whichever state directory. A process of a run may serve a conversation of
 * which no record tells: a shell started it, somebody changed over to it inside, or the record was lost.
 */
import { mayBeOneBoot } from '../../lifecycle/process-identity.ts';
import type { ProcessIdentity } from '../../lifecycle/process-identity.ts';
import type { LiveRun } from '../../lifecycle/run.ts';
import type { Announcement } from '../../lifecycle/announcement.ts';
import { announcementsHeldBy, announcementsOf, processFile } from '../../process/owner-files.ts';
import { isThere } from '../../process/reading.ts';
import { RUN_MARK } from '../../process/tree.ts';
import type { SessionWithRun } from '../../store/store.ts';
import type { Context } from '../context.ts';
import { ancestorsOf } from '../discovery.ts';
import { ownerElsewhere } from './elsewhere.ts';
import type { OwnerElsewhere } from './elsewhere.ts';
import { groundOf } from './ground.ts';
import { isHeld } from './holder.ts';

type Owner = SessionWithRun & { readonly run: LiveRun };
export type Manager = ({ readonly is: 'here' } & Owner) | ({ readonly is: 'elsewhere' } & OwnerElsewhere);

/** Null when it belongs to no living run: only then it is a stranger. */
export async function managerOf(context: Context, identity: ProcessIdentity): Promise<Manager | null> {
  const live = await livingIn(context);
  return (
    supervisedBy(context, live, identity) ??
    markedBy(context, live, identity) ??
    above(context, live, identity)
  );
}

/** The run that this very process is the harness of. */
export async function runOf(context: Context, identity: ProcessIdentity): Promise<Manager | null> {
  return supervisedBy(context, await livingIn(context), identity);
}

/** On this machine: a pid and a start time say nothing of another one's processes. */
async function livingIn({ store, table }: Context): Promise<readonly Owner[]> {
  const live = await store.live();
  return live.flatMap(({ session, run }) =>
    run.state === 'ended' || !mayBeOneBoot(run.keeper ?? run.launcher, table.host) ? [] : [{ session, run }],
  );
}

/** On record here, or adopted: then it has no mark of that run, whose keeper is not above it, but holds it. */
function supervisedBy(context: Context, live: readonly Owner[], identity: ProcessIdentity): Manager | null {
  const owned = live.find(({ run }) => isSame(run.harness, identity));
  if (owned !== undefined) return { is: 'here', ...owned };
  const { pid, startTime } = identity;
  const { owners } = groundOf(context);
  const path = processFile(owners, context.table.host.boot, [String(pid), startTime ?? '']);
  const announcement = announcementsOf(context.table, owners, [path]).find((each) => isOwner(context, each));
  return announcement === undefined ? null : announced(live, announcement);
}

/**
 * Its file names the process itself, by its start time too, and is removed when that run is over. So the run owns it
 * although its keeper was killed, for as long as there is a state directory that can deal with it.
 */
function isOwner(context: Context, announcement: Announcement): boolean {
  return isHeld(context, announcement) || isThere(announcement.home);
}

function markedBy(context: Context, live: readonly Owner[], { pid }: ProcessIdentity): Manager | null {
  const elsewhere = ownerElsewhere(context, pid);
  if (elsewhere !== null) return { is: 'elsewhere', ...elsewhere };
  const mark = context.table.details(pid)?.environment()[RUN_MARK];
  const owner = live.find(({ run }) => run.id === mark);
  return owner === undefined ? null : { is: 'here', ...owner };
}

/** By descent, the nearest first: a run inside a run has its own keeper. */
function above(context: Context, live: readonly Owner[], { pid }: ProcessIdentity): Manager | null {
  const facts = new Map(context.table.all().map((fact) => [fact.pid, fact]));
  const parents = new Map([...facts].map(([each, { parentPid }]) => [each, parentPid]));
  for (const ancestor of ancestorsOf(parents, pid)) {
    const fact = facts.get(ancestor);
    if (fact === undefined) continue;
    const owner = live.find(({ run }) => isSame(run.harness, fact) || isSame(run.keeper, fact));
    if (owner !== undefined) return { is: 'here', ...owner };
    const [announcement] = announcementsHeldBy(fact, groundOf(context).owners);
    if (announcement !== undefined) return announced(live, announcement);
  }
  return null;
}

function announced(live: readonly Owner[], { home, session, run }: Announcement): Manager {
  const owner = live.find((each) => each.run.id === run.id);
  if (owner !== undefined) return { is: 'here', ...owner };
  return { is: 'elsewhere', home, run: run.id, session: session.name, pid: null, keeperPid: run.keeper.pid };
}

function isSame(
  one: Pick<ProcessIdentity, 'pid' | 'startTime'> | null,
  other: Pick<ProcessIdentity, 'pid' | 'startTime'>,
): boolean {
  return one?.pid === other.pid && one.startTime === other.startTime;
}
