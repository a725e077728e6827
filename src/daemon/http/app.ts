/** The HTTP API: who may ask, what there is, and what is answered when it fails. */
import { OpenAPIHono } from '@hono/zod-openapi';
import { HTTPException } from 'hono/http-exception';
import { ReeveError } from '../../api/errors.ts';
import { isWell } from '../health.ts';
import { foreignness } from './access.ts';
import type { Caller, Sender } from './access.ts';
import { addActing } from './acting.ts';
import { limitBodies, limitTo, MAX_UNPROVEN_BODY_BYTES } from './body-limits.ts';
import { DOCS_STYLE, docsPage } from './docs-page.ts';
import { answerBeforeEnd } from './ending.ts';
import { addLooking } from './looking.ts';
import { addMachine } from './machine.ts';
import { addNotifying } from './notifying.ts';
import { addReporting } from './reporting.ts';
import { answerError, requireJson, usageError } from './operation.ts';
import type { App, Environment } from './operation.ts';
import { requireOwn } from './own.ts';
import { addPage, isPage, SECURITY_HEADERS } from './page.ts';
import type { Parts } from './parts.ts';
import { addReviewing } from './reviewing.ts';
import { addLinks, addSigningIn, OPEN } from './signing-in.ts';
import { addStreams } from './streams.ts';
import { unforeseen } from './unforeseen.ts';

export function createApp(parts: Parts): App {
  const logFailure = unforeseen(parts.log);
  const app: App = new OpenAPIHono<Environment>({
    defaultHook: (result) => {
      if (!result.success) throw usageError(result.error.issues);
    },
  });
  app.onError((error, request) => {
    // What the library refuses by itself: a body that is not the JSON that it says it is.
    if (error instanceof HTTPException && error.status < 500)
      return answerError(request, new ReeveError('usage', `${error.message}.`));
    if (!(error instanceof ReeveError) && !hasLeft(request.req.raw))
      logFailure(request.req.routePath, error, Date.now());
    return answerError(request, error);
  });
  app.notFound((request) =>
    answerError(
      request,
      new ReeveError('not_found', 'There is nothing at this address.', { hint: 'See /docs.' }),
    ),
  );
  app.use(async (request, next) => {
    await next();
    // Every answer has them: of a page, a file, a stream, a refusal.
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) request.res.headers.set(name, value);
  });
  app.use(async (request, next) => {
    const because = foreignness(request.env.via, parts.record().port, senderOf(request.req));
    if (because !== null) throw new ReeveError('forbidden', `The request was refused: ${because}.`);
    await next();
  });
  addPage(app);
  addSigningIn(app, parts, limitTo(MAX_UNPROVEN_BODY_BYTES));
  app.get('/healthz', async (request) => {
    const state = await healthOf(parts);
    const status = isWell(state) ? 200 : 503;
    // A run's token is only looked at here, not compared with that run's.
    const isKnown = callerOf(request.req, request.env.via, parts)?.is === 'user';
    // Whoever may not ask for more may still see whether it lives.
    return request.json(
      { status: status === 200 ? 'well' : 'unwell', ...(isKnown ? { parts: state } : {}) },
      status,
    );
  });
  app.use(async (request, next) => {
    const caller = callerOf(request.req, request.env.via, parts);
    if (caller === null) {
      throw new ReeveError('unauthorised', 'Not signed in.', {
        hint: 'Run `reeve open`. A program sends the token in daemon/token as a bearer token.',
      });
    }
    const isProven = caller.is === 'user' || (await requireOwn(parts.context, caller, request.req));
    request.set('caller', caller);
    request.set('isProven', isProven);
    await next();
  });
  app.use(answerBeforeEnd(parts.closing));
  app.use(limitBodies());
  app.use(async (request, next) => {
    if (request.req.method === 'POST') requireJson(request.req.header('content-type'));
    await next();
  });
  app.get('/metrics', async (request) =>
    request.body(await parts.metrics.text(), 200, { 'content-type': parts.metrics.contentType }),
  );
  addOperations(app, parts);
  return app;
}

function addOperations(app: App, parts: Parts): void {
  addLinks(app, parts);
  addStreams(app, parts);
  addLooking(app, parts);
  addActing(app, parts);
  addReporting(app, parts);
  addReviewing(app, parts);
  addNotifying(app, parts);
  addMachine(app, parts);
  addDocumentation(app, parts);
}

/** Whoever broke off its own request: there is nobody to answer, and nothing for anybody to look into. */
function hasLeft({ signal }: globalThis.Request): boolean {
  return signal.aborted;
}

type Headers = { header(name: string): string | undefined };

function senderOf(request: Headers & { readonly method: string; readonly path: string }): Sender {
  const { method, path } = request;
  const isGoing = method === 'GET' && request.header('sec-fetch-mode') === 'navigate';
  return {
    host: request.header('host'),
    origin: request.header('origin'),
    site: request.header('sec-fetch-site'),
    isVisit: isGoing && (isPage(path) || path === OPEN),
  };
}

function callerOf(request: Headers, via: Environment['Bindings']['via'], parts: Parts): Caller | null {
  const [authorization, cookie] = [request.header('authorization'), request.header('cookie')];
  return parts.access.caller(via, { authorization, cookie });
}

async function healthOf({ context, health }: Parts) {
  try {
    const seq = await context.store.lastSeq();
    health.report('store', 'good', `${context.store.engine}, at event ${seq}`);
  } catch (error) {
    health.report('store', 'unreadable', error instanceof Error ? error.message : String(error));
  }
  return health.parts();
}

function addDocumentation(app: App, { record }: Parts): void {
  const document = () =>
    app.getOpenAPI31Document({
      openapi: '3.1.0',
      info: {
        title: 'Reeve',
        version: record().version,
        description: 'One live, provable owner for every coding-agent session.',
      },
      servers: [{ url: `http://127.0.0.1:${record().port}` }],
      security: [{ bearer: [] }],
    });
  app.openAPIRegistry.registerComponent('securitySchemes', 'bearer', { type: 'http', scheme: 'bearer' });
  app.get('/openapi.json', (request) => request.json(document()));
  app.get('/docs', (request) => request.html(docsPage(document())));
  app.get('/docs.css', (request) => request.body(DOCS_STYLE, 200, { 'content-type': 'text/css' }));
}
