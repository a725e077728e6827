/** Where the daemon listens: a socket that only this user can open, and the loopback. */
import { chmodSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { ReeveError } from '../../api/errors.ts';
import type { Context } from '../../supervisor/context.ts';
import { daemonPlace, lastDaemon, portRefused } from '../../supervisor/daemon-place.ts';
import { FINISH_WITHIN_MS } from './ending.ts';
import type { Via } from './access.ts';
import type { App } from './operation.ts';
import { SECURITY_HEADERS } from './page.ts';

/** An idle connection costs little; one that never asks costs that for ever. */
const HEADERS_TIMEOUT_MS = 10_000;
/** A submission over a slow tunnel; nobody takes longer to say what it wants. */
const REQUEST_TIMEOUT_MS = 60_000;
/** How exactly the two above are kept. */
const CHECK_EVERY_MS = 1_000;
const MAX_CONNECTIONS = 500;
/** Of those, how many may be there without asking anything. A browser has six, and a program one. */
const MAX_IDLE_CONNECTIONS = 200;

function serverFor(app: App, via: Via): Server {
  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      keepAliveTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: CHECK_EVERY_MS,
      // Node's own refusal lacks the headers of every other answer.
      requireHostHeader: false,
    },
    answering(app, via),
  );
  server.maxConnections = MAX_CONNECTIONS;
  refuseSafely(server);
  keepRoom(server);
  return server;
}

/** What has no host, or an address that is none, is refused before the application sees it. */
function answering(app: App, via: Via): (incoming: IncomingMessage, outgoing: ServerResponse) => void {
  const listener = getRequestListener((request: Request) => app.fetch(request, { via }), {
    errorHandler: () => {
      const error = {
        code: 'usage',
        message: 'The request has no host or address that can be used.',
        details: {},
      };
      return Response.json({ error }, { status: 400, headers: { ...SECURITY_HEADERS, connection: 'close' } });
    },
  });
  return (incoming, outgoing) => void listener(incoming, outgoing);
}

const NO_REQUEST: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/** What never becomes a request is answered with the headers of every other answer too. */
function refuseSafely(server: Server): void {
  const headers = { ...SECURITY_HEADERS, connection: 'close', 'content-length': '0' };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  server.on('clientError', ({ code = '' }: NodeJS.ErrnoException, socket: Socket) => {
    if (code === 'ECONNRESET' || !socket.writable) socket.destroy();
    else socket.end(`HTTP/1.1 ${NO_REQUEST[code] ?? '400 Bad Request'}\r\n${lines.join('')}\r\n`);
  });
  // A tunnel to somewhere else is nothing that there is here. Without a listener the connection is closed without a word.
  server.on('connect', (_request: IncomingMessage, socket: Socket) => {
    socket.on('error', () => socket.destroy());
    socket.end(`HTTP/1.1 501 Not Implemented\r\n${lines.join('')}\r\n`);
  });
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    response.writeHead(417, headers).end();
  });
}

/**
 * Whoever only holds connections, or sends half a request, keeps nobody else out: of those that ask nothing, the one that
 * has been so for longest is closed for a new one. What is being answered is left alone.
 */
function keepRoom(server: Server): void {
  const idle = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    idle.add(socket);
    socket.once('close', () => idle.delete(socket));
    const [longest] = idle;
    if (idle.size > MAX_IDLE_CONNECTIONS) longest?.destroy();
  });
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    idle.delete(socket);
    response.once('close', () => {
      if (!socket.destroyed) idle.add(socket);
    });
  });
}

export async function listenOnSocket(app: App, { home }: Context): Promise<Server> {
  const { socket } = daemonPlace(home);
  requireShort(socket);
  const server = serverFor(app, 'socket');
  // What lies there is a dead one's, for this process holds the lock.
  rmSync(socket, { force: true });
  // The directory is closed to others, and the socket is from its first moment.
  const before = process.umask(0o177);
  try {
    await listening(server, () => server.listen(socket));
  } finally {
    process.umask(before);
  }
  chmodSync(socket, 0o600);
  return server;
}

/** The kernel's limit, less the byte that ends it. A longer one is cut without a word, and leads elsewhere. */
const MAX_SOCKET_BYTES = process.platform === 'darwin' ? 103 : 107;

function requireShort(socket: string): void {
  const bytes = Buffer.byteLength(socket);
  if (bytes <= MAX_SOCKET_BYTES) return;
  throw new ReeveError(
    'state_directory',
    `${socket} has ${bytes} bytes, and a socket may have ${MAX_SOCKET_BYTES}.`,
    { hint: 'Choose a state directory with a shorter path, with REEVE_HOME.' },
  );
}

export async function listenOnLoopback(
  app: App,
  context: Context,
  wanted: number | undefined,
): Promise<{ server: Server; port: number }> {
  // The same as last time, so that a page that is open finds it again.
  const candidates = wanted === undefined ? [lastDaemon(context.home)?.port ?? 0, 0] : [wanted];
  for (const [index, candidate] of candidates.entries()) {
    const server = serverFor(app, 'loopback');
    try {
      await listening(server, () => server.listen(candidate, '127.0.0.1'));
      const address = server.address();
      return { server, port: typeof address === 'object' && address !== null ? address.port : candidate };
    } catch (error) {
      if (index < candidates.length - 1) continue;
      throw portRefused(candidate, error);
    }
  }
  throw new Error('There is always a candidate.');
}

function listening(server: Server, listen: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.once('listening', () => {
      server.off('error', reject);
      resolve();
    });
    listen();
  });
}

/** For an answer on its way to somebody who is slow to read it. */
const READ_WITHIN_MS = 500;

/** Answers in flight are finished, or told that they are not; those that would go on for ever have been told to end. */
export function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
    setTimeout(() => server.closeAllConnections(), FINISH_WITHIN_MS + READ_WITHIN_MS).unref();
  });
}
