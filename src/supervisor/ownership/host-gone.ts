/** On a person's word: a host that shares the store is gone for good, and has no living run that the store has forgotten. */
import { ReeveError } from '../../api/errors.ts';
import { installationIn } from '../../lifecycle/installation.ts';
import type { Context } from '../context.ts';

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
  if (host.id === installationIn(context.table.host.host)) {
    throw new ReeveError('usage', `${reference} is this very host, and it is here.`);
  }
  await context.store.forgetHost(host.id);
}
