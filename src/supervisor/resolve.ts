import { ReeveError } from '../api/errors.ts';
import type { Run } from '../lifecycle/run.ts';
import type { SessionWithRun } from '../store/store.ts';
import type { Context } from './context.ts';

/** A session by its id, a run's id, its name, or a unique beginning of either id. */
export async function resolveSession(context: Context, reference: string): Promise<SessionWithRun> {
  const { matches } = reference === '' ? { matches: [] } : await context.store.find(reference);
  const [first, ...others] = matches;
  if (first === undefined) {
    throw new ReeveError('not_found', `There is no session or run ${JSON.stringify(reference)}.`, {
      hint: '`reeve ls --all` lists the sessions.',
    });
  }
  if (others.length > 0) {
    const names = matches.map(({ session }) => session.name);
    throw new ReeveError(
      'ambiguous',
      `${JSON.stringify(reference)} fits several sessions: ${names.join(', ')}.`,
      {
        hint: 'Give the whole id of the one you mean, or more of it.',
        details: {
          candidates: matches.map(({ session, run }) => ({
            name: session.name,
            id: session.id,
            run: run.id,
          })),
        },
      },
    );
  }
  return first;
}

/**
 * The same for what acts on the current run: an id of an earlier run names a run that is over, and must not reach the
 * one that came after it.
 */
export async function resolveCurrent(context: Context, reference: string): Promise<SessionWithRun> {
  const found = await resolveSession(context, reference);
  const named = await runNamed(context, found, reference);
  if (named.id === found.run.id) return found;
  const { name } = found.session;
  throw new ReeveError('fenced', `Run ${named.id} of ${name} is over; its current run is ${found.run.id}.`, {
    hint: `Nothing was changed. To act on the current run, name the session: ${name}`,
    details: { run: named.id, current: found.run.id },
  });
}

/** The run that a run's id, or its beginning, stands for; the current one for a name or a session's id. */
export async function runNamed(
  context: Context,
  { session, run }: SessionWithRun,
  reference: string,
): Promise<Run> {
  if (reference === session.id || reference === run.id) return run;
  const runs = await context.store.runsOf(session.id);
  const named = runs.find(({ id }) => id === reference);
  // An id goes before a name, which in an older store may be the id of another run.
  if (named !== undefined) return named;
  if (reference === session.name || session.id.startsWith(reference) || run.id.startsWith(reference))
    return run;
  return runs.findLast(({ id }) => id.startsWith(reference)) ?? run;
}
