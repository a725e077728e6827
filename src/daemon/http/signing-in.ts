/** How a browser comes to be this user's: by a link that `reeve open` made, or by the code that it printed. */
import type { MiddlewareHandler } from 'hono';
import { ReeveError } from '../../api/errors.ts';
import { requireJson } from './operation.ts';
import type { App, Environment } from './operation.ts';
import type { Parts } from './parts.ts';

/** Where a link leads. */
export const OPEN = '/open';

/** Before anything is asked of the caller: who has a link or a code shows nothing else. */
export function addSigningIn(app: App, { access }: Parts, small: MiddlewareHandler<Environment>): void {
  app.get(OPEN, (request) => {
    // Whoever only looks whether it is there does not use it up.
    if (request.req.method === 'HEAD') return request.body(null);
    const cookie = access.signIn({ key: request.req.query('key') ?? '' }, Date.now());
    if (cookie === null) {
      return request.html(
        '<!doctype html><title>Reeve</title><p>This link was used, or is too old. Run <code>reeve open</code> again.',
        401,
      );
    }
    request.header('set-cookie', cookie);
    return request.redirect('/', 303);
  });
  // For a browser that `reeve open` cannot start, on another machine behind a tunnel for instance: a person types the code.
  app.post('/sign-in', small, async (request) => {
    requireJson(request.req.header('content-type'));
    const { code } = Object(jsonFrom(await request.req.text())) as { code?: unknown };
    const cookie = access.signIn({ code: typeof code === 'string' ? code : '' }, Date.now());
    if (cookie === null) {
      throw new ReeveError('unauthorised', 'This code is wrong, was used, or is older than a minute.', {
        hint: 'Run `reeve open` for another one.',
      });
    }
    request.header('set-cookie', cookie);
    return request.json({ isSignedIn: true });
  });
}

/** What is refused says nothing of the text: it is of somebody who has not proven to be anybody. */
function jsonFrom(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ReeveError('usage', 'The body is not JSON.', { hint: 'Send {"code": "…"}.' });
  }
}

/** Only for those who come through the socket, which is this user: a link is as good as the token. */
export function addLinks(app: App, { access, record }: Parts): void {
  const requireSocket = (via: Environment['Bindings']['via'], caller: string) => {
    if (via === 'socket' && caller === 'user') return;
    throw new ReeveError('forbidden', 'Browsers are signed in and out over the socket only.', {
      hint: 'Use `reeve open`.',
    });
  };
  app.post('/v1/link', (request) => {
    requireSocket(request.env.via, request.get('caller').is);
    const { key, code } = access.makeLink(Date.now());
    const page = `http://127.0.0.1:${record().port}/`;
    return request.json({ url: `${page}open?key=${key}`, page, code });
  });
  app.post('/v1/sign-out', (request) => {
    requireSocket(request.env.via, request.get('caller').is);
    return request.json({ signedOut: access.signOut() });
  });
}
