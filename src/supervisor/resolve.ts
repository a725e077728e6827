import { ReeveError } from '../api/errors.ts';
import type { SessionWithRun } from '../store/store.ts';
import type { Context } from './context.ts';

/** A session by its name, its id, a run's id, or a unique beginning of either id. */
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
        hint: 'Give the name, or more of the id.',
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
