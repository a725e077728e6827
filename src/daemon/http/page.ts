/** The page, as it was built into the package. */
import { readFileSync, readdirSync, existsSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { App } from './operation.ts';

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

/** Where the page can be. */
const PAGES = ['/', '/reviews', '/s/:session'] as const;

/** By its path. What it holds is the same for everybody. */
export function isPage(path: string): boolean {
  return path === '/' || path === '/reviews' || /^\/s\/[^/]+$/.test(path);
}

export function addPage(app: App): void {
  const files = readPage();
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
  for (const path of PAGES) app.get(path, (request) => serve('/index.html') ?? request.notFound());
}

/** All of it, once: it is small, and what is asked for is never put together to a path. */
function readPage(): ReadonlyMap<string, { readonly bytes: Buffer; readonly type: string }> {
  const directory = join(import.meta.dirname, 'web');
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
