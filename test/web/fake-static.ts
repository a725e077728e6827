/** Serves the built page as the daemon does: its files, its page for every other path, and a strict policy. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { extname, join, normalize } from 'node:path';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const POLICY = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export function servePage(directory: string | null, path: string, response: ServerResponse): void {
  if (directory === null) {
    response.writeHead(404).end();
    return;
  }
  const wanted = join(directory, normalize(path));
  const isFile = existsSync(wanted) && statSync(wanted).isFile();
  const file = isFile ? wanted : join(directory, 'index.html');
  response.writeHead(200, {
    'content-type': TYPES[extname(file)] ?? 'application/octet-stream',
    'content-security-policy': POLICY,
    'x-content-type-options': 'nosniff',
  });
  response.end(readFileSync(file));
}
