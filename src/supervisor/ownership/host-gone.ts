/** On a person's word: a host that shares the store is gone for good, and has no living run that the store has forgotten. */
import { ReeveError } from '../../api/errors.ts';
import { installationIn } from '../../lifecycle/installation.ts';
import { announcementsHeld, announcementsIn } from '../../process/owner-files.ts';
import type { Host } from '../../store/store.ts';
import type { Context } from '../context.ts';
import { groundOf, hostOf } from './ground.ts';
import { isHeld } from './holder.ts';

export async function assumeHostGone(context: Context, reference: string): Promise<void> {
  if (reference === '') throw new ReeveError('usage', 'The name of a host cannot be an empty text.');
  const called = (await context.store.hosts()).filter(
    ({ id, name }) => id === reference || name === reference,
  );
  // Of several with one name, those are meant that something waits for.
  const silent = called.filter(({ hasAnnounced }) => !hasAnnounced);
  const known = silent.length > 0 ? silent : called;
  const [host, ...others] = known;
  if (host === undefined) {
    throw new ReeveError('not_found', `No host called ${reference} shares this store.`, {
      hint: 'Its name stands in the column of hosts of `reeve ls --all`; a store of one machine has none.',
    });
  }
  if (others.length > 0) {
    throw new ReeveError('ambiguous', `Several installations are called ${reference}.`, {
      hint: `Name one by its id: ${known.map(({ id }) => id).join(', ')}`,
      details: { candidates: known.map(({ id }) => id) },
    });
  }
  const own = hostOf(context);
  if (host.id === own.id) throw new ReeveError('usage', `${reference} is this very host, and it is here.`);
  // Another state directory, or another user's: its runs may be alive here, where this command does not see them.
  if (host.name === own.name && reference !== host.id) {
    throw new ReeveError('usage', `${host.name} is this machine, so it is not gone.`, {
      hint: `Another state directory shares the store from here: run \`reeve ls\` with that REEVE_HOME, as its user. If it was removed: reeve settle --host-gone ${host.id}`,
      details: { host: host.id },
    });
  }
  refuseLiving(context, host);
  await context.store.forgetHost(host.id);
}

/** Whatever a person says: a run of it that is seen alive on this machine is not gone. */
function refuseLiving(context: Context, { id }: Host): void {
  const { owners } = groundOf(context);
  const living = [...announcementsIn(owners), ...announcementsHeld(context.table, owners).announcements].find(
    (each) => installationIn(each.run.keeper.host) === id && isHeld(context, each),
  );
  if (living === undefined) return;
  const { home, session, run } = living;
  throw new ReeveError(
    'live_owner',
    `Run ${run.id} of ${session.name}, of that host, is alive on this machine.`,
    {
      hint: `Have it announced: REEVE_HOME=${home} reeve ls`,
      details: { run: run.id, session: session.name, home },
    },
  );
}
