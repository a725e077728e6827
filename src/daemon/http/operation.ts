/** One operation of the API: its schemas, from which it is documented and checked, and what it does. */
import { createRoute } from '@hono/zod-openapi';
import type { OpenAPIHono, z } from '@hono/zod-openapi';
import type { Context as Request } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { ERRORS, ReeveError } from '../../api/errors.ts';
import { errorSchema } from '../../api/schemas.ts';
import type { Caller, Via } from './access.ts';
import { hintFor, WORDS_HEADER, wordsOf } from './hint-words.ts';

export interface Environment {
  Bindings: { via: Via };
  /** `isProven`: a run's token was compared with that run's. What is not is left to the fence, which keeps a record. */
  Variables: { caller: Caller; isProven: boolean };
}

export type App = OpenAPIHono<Environment>;

type Shape = z.ZodObject;
type Infer<S extends Shape | undefined> = S extends Shape ? z.infer<S> : Record<string, never>;

export interface Operation<
  P extends Shape | undefined,
  Q extends Shape | undefined,
  B extends Shape | undefined,
> {
  readonly method: 'get' | 'post' | 'delete';
  readonly path: string;
  /** The verb of the command line that does the same, where there is one. */
  readonly name: string;
  readonly group: string;
  readonly says: string;
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  readonly answer: z.ZodType;
  /** Whether the bearer of a run's token may call it for that run's own session. */
  readonly forRuns?: 'its own session' | 'its own run';
  readonly does: (given: Given<P, Q, B>) => Promise<unknown>;
}

interface Given<P extends Shape | undefined, Q extends Shape | undefined, B extends Shape | undefined> {
  readonly params: Infer<P>;
  readonly query: Infer<Q>;
  readonly body: Infer<B>;
  readonly caller: Caller;
  readonly signal: AbortSignal;
}

export function addOperation<
  P extends Shape | undefined = undefined,
  Q extends Shape | undefined = undefined,
  B extends Shape | undefined = undefined,
>(app: App, operation: Operation<P, Q, B>): void {
  const { method, path, name, group, says, params, query, body, answer, forRuns } = operation;
  const route = createRoute({
    method,
    path,
    operationId: name,
    tags: [group],
    summary: says,
    ...(forRuns === undefined ? {} : { description: `Also for the bearer of a run's token: ${forRuns}.` }),
    request: {
      ...(params === undefined ? {} : { params }),
      ...(query === undefined ? {} : { query }),
      ...(body === undefined
        ? {}
        : { body: { content: { 'application/json': { schema: body } }, required: true } }),
    },
    responses: {
      200: { description: 'Done.', content: { 'application/json': { schema: answer } } },
      default: {
        description: 'An error, with the same codes as on the command line.',
        content: { 'application/json': { schema: errorSchema } },
      },
    },
  });
  // The types that the library computes from a route do not survive its being put together here.
  const add = app.openapi.bind(app) as unknown as (
    route: unknown,
    handler: (request: Request<Environment>) => Promise<Response>,
  ) => void;
  add(route, async (request) => {
    const valid = (part: 'param' | 'query' | 'json') =>
      (request.req as unknown as { valid: (of: string) => unknown }).valid(part) ?? {};
    const given = {
      params: valid('param'),
      query: valid('query'),
      body: valid('json'),
      caller: request.get('caller'),
      signal: request.req.raw.signal,
    } as Given<P, Q, B>;
    return request.json(await operation.does(given), 200);
  });
}

export function answerError(request: Request, error: unknown): Response {
  const known =
    error instanceof ReeveError
      ? error
      : new ReeveError('failed', 'The daemon failed in a way it did not foresee; its log tells more.', {
          cause: error,
        });
  const { code, message, details } = known;
  const hint = hintFor(wordsOf(request.req.header(WORDS_HEADER)), known.hint);
  const value = { error: { code, message, ...(hint === undefined ? {} : { hint }), details } };
  return request.json(value, ERRORS[code].httpStatus as ContentfulStatusCode);
}

/** Told in one sentence: where it is, and what is the matter with it. */
export function usageError(issues: readonly z.core.$ZodIssue[]): ReeveError {
  const [first] = issues;
  const place = first === undefined || first.path.length === 0 ? 'The request' : first.path.join('.');
  return new ReeveError('usage', `${place}: ${first?.message ?? 'is not as it should be'}.`, {
    hint: 'The API is documented at /docs.',
    details: { issues: issues.map(({ path, message }) => ({ path: path.join('.'), message })) },
  });
}

/** Anything else could be sent by a form of any page. */
export function requireJson(type: string | undefined): void {
  if (/^application\/json\s*(;|$)/.test(type ?? '')) return;
  throw new ReeveError('usage', 'The body must be JSON, and say so.', {
    hint: 'content-type: application/json',
  });
}
