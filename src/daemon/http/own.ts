/** What a run may ask with its own token: about its own session, and as itself. */
import type { HonoRequest } from 'hono';
import { ReeveError } from '../../api/errors.ts';
import type { Context } from '../../supervisor/context.ts';
import { resolveSession } from '../../supervisor/resolve.ts';
import { resolveSubmission } from '../../supervisor/submissions.ts';
import type { Caller } from './access.ts';

/** The fence itself judges these, by the token. */
const WRITES = new Set(['/v1/heartbeat', '/v1/submit', '/v1/usage/add']);
/** These say in their query which session they ask about. Of several, whatever answers refuses them all. */
const ASKING_ABOUT = new Set(['/v1/submissions', '/v1/usage', '/v1/budget']);
const SESSION = /^\/v1\/sessions\/([^/]+)(?:\/(?:runs|why|events|logs))?$/;
const REVIEW = /^\/v1\/reviews\/[^/]+\/submit$/;
const SUBMISSION = /^\/v1\/submissions\/([^/]+)$/;

type Asked = Pick<HonoRequest, 'method' | 'path' | 'query'>;

/** Whether the token is that run's: what is not may only go to the fence. */
export async function requireOwn(
  context: Context,
  caller: Extract<Caller, { is: 'run' }>,
  request: Asked,
): Promise<boolean> {
  const { method, path } = request;
  const held = await context.store.heldBy(caller.run, caller.token);
  if (method === 'POST' && (WRITES.has(path) || REVIEW.test(path))) return held !== null;
  if (held === null) throw new ReeveError('unauthorised', 'The token is not one of this run.');
  if (method === 'GET' && (await sessionAsked(context, request)) === held.sessionId) return true;
  throw new ReeveError('forbidden', 'With a run’s token only that run can be spoken for.', {
    hint: 'It may report of itself, and look at its own session.',
  });
}

/** Null for what is none, or several: which others there are is not for a run to know. */
async function sessionAsked(context: Context, request: Asked): Promise<string | null> {
  const { path } = request;
  const [session, submission] = [SESSION.exec(path)?.[1], SUBMISSION.exec(path)?.[1]];
  try {
    if (session !== undefined) return await sessionIdOf(context, decodeURIComponent(session));
    if (submission !== undefined) {
      return (await resolveSubmission(context, decodeURIComponent(submission))).sessionId;
    }
    return ASKING_ABOUT.has(path) ? await sessionIdOf(context, request.query('session') ?? '') : null;
  } catch (error) {
    const isNone = error instanceof ReeveError && (error.code === 'not_found' || error.code === 'ambiguous');
    if (isNone || error instanceof URIError) return null;
    throw error;
  }
}

async function sessionIdOf(context: Context, reference: string): Promise<string> {
  return (await resolveSession(context, reference)).session.id;
}
