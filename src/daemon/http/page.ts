/** The page, as it was built into the package, and the one-time link that opens it. */
import { readFileSync, readdirSync, existsSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { App } from './operation.ts';
import type { Parts } from './parts.ts';

/** Nothing from elsewhere, nothing inline, in nobody's frame; and no address of ours is told to another site. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
};

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
};

export function addPage(app: App, { access }: Parts): void {
  const files = readPage();
  app.get('/open', (request) => {
    // Whoever only looks whether it is there does not use it up.
    if (request.req.method === 'HEAD') return request.body(null);
    const cookie = access.useKey(request.req.query('key') ?? '', Date.now());
    if (cookie === null) {
      return request.html(
        '<!doctype html><title>Reeve</title><p>This link was used, or is too old. Run <code>reeve open</code> again.',
        401,
      );
    }
    request.header('set-cookie', cookie);
    return request.redirect('/', 303);
  });
  const serve = (path: string) => {
    const file = files.get(path);
    return file === undefined
      ? null
      : new Response(new Uint8Array(file.bytes), { headers: { 'content-type': file.type } });
  };
  for (const path of files.keys()) {
    if (path !== '/index.html') app.get(path, () => serve(path) as Response);
  }
  // The page finds its own way from here.
  for (const path of ['/', '/reviews', '/s/:session'])
    app.get(path, (request) => serve('/index.html') ?? request.notFound());
}

/** All of it, once: it is small, and what is asked for is never put together to a path. */
function readPage(): ReadonlyMap<string, { readonly bytes: Buffer; readonly type: string }> {
  const directory = fileURLToPath(new URL('./web', import.meta.url));
  if (!existsSync(directory)) return new Map();
  const names = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  return new Map(
    names.map((entry) => {
      const path = join(entry.parentPath, entry.name);
      const type = TYPES[extname(entry.name)] ?? 'application/octet-stream';
      return [path.slice(directory.length), { bytes: readFileSync(path), type }];
    }),
  );
}
