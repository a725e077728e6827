/** Looking at what runs handed in, accepted or kept aside. */
import { ReeveError } from '../api/errors.ts';
import type { SubmissionDetailView, SubmissionsView, SubmissionView } from '../api/submission-view.ts';
import type { Submission, SubmissionWithData } from '../store/store.ts';
import type { Context } from './context.ts';
import { resolveSession } from './resolve.ts';

/** More than a person looks at; who wants an older one names its session. */
const MAX_LISTED = 100;

export interface SubmissionsRequest {
  /** Only of this session, by whatever names it. */
  readonly session?: string | undefined;
  /** Only those that were not accepted. */
  readonly refused?: boolean | undefined;
}

export async function submissions(
  context: Context,
  { session, refused }: SubmissionsRequest = {},
): Promise<SubmissionsView> {
  const sessionId = session === undefined ? undefined : (await resolveSession(context, session)).session.id;
  const which = refused === true ? 'refused' : 'all';
  const found = await context.store.submissions({ sessionId, which, limit: MAX_LISTED + 1 });
  const listed = found.slice(0, MAX_LISTED);
  return { submissions: await viewAll(context, listed), isCut: found.length > MAX_LISTED };
}

/** By its id, or a unique beginning of it. */
export async function submission(context: Context, reference: string): Promise<SubmissionDetailView> {
  const found = await resolveSubmission(context, reference);
  const [view] = await viewAll(context, [found]);
  if (view === undefined) throw new Error('One in, one out.');
  return { ...view, data: found.data };
}

export async function resolveSubmission(context: Context, reference: string): Promise<SubmissionWithData> {
  const [first, ...others] = reference === '' ? [] : await context.store.findSubmissions(reference);
  if (first === undefined) {
    throw new ReeveError('not_found', `There is no submission ${JSON.stringify(reference)}.`, {
      hint: '`reeve submit ls` lists them.',
    });
  }
  if (others.length === 0) return first;
  throw new ReeveError('ambiguous', `${JSON.stringify(reference)} fits several submissions.`, {
    hint: 'Give more of the id.',
    details: { candidates: [first, ...others].map(({ id }) => id) },
  });
}

async function viewAll(context: Context, stored: readonly Submission[]): Promise<readonly SubmissionView[]> {
  const ids = [...new Set(stored.map(({ sessionId }) => sessionId))];
  const found = await context.store.sessionsOf(ids);
  const names = new Map(found.map(({ session }) => [session.id, session.name]));
  return stored.map(({ id, sessionId, runId, atMs, key, digest, bytes, isAccepted, because }) => ({
    id,
    session: names.get(sessionId) ?? null,
    sessionId,
    run: runId,
    at: new Date(atMs).toISOString(),
    key,
    digest,
    bytes,
    accepted: isAccepted,
    because,
  }));
}
