/**
 * A stand-in for the daemon, for states of the page that are hard to stage with a real one. It serves the built page
 * under the policy that the daemon has, and answers with the shapes of the contract.
 *
 * By hand: `npx tsx test/web/fake-daemon.ts 4173`, then `npx vite web`, or with a built page: `… 4173 dist/web`.
 */
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { once } from 'node:events';
import type { ErrorView, EventView } from '../../src/api/http-views.ts';
import { notFound, unauthorised } from './fake-errors.ts';
import { answerRead } from './fake-reads.ts';
import { answerVerb } from './fake-verbs.ts';
import { servePage } from './fake-static.ts';
import { tenSessions } from './fake-scenes.ts';
import type { FakeSession, FakeWorld } from './fake-world.ts';

const HOST = '127.0.0.1';

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
}

export class FakeDaemon {
  world: FakeWorld;
  /** Everything that was asked for, in order. */
  readonly asked: Asked[] = [];
  isAuthorised = true;
  /** What a path answers instead of what is so; by the end of the path. */
  readonly failures = new Map<string, { readonly status: number; readonly error: ErrorView['error'] }>();
  readonly #held = new Map<string, Promise<void>>();
  readonly #pageDirectory: string | null;
  readonly #sockets = new Set<Socket>();
  readonly #streams = new Set<ServerResponse>();
  readonly #logs = new Map<ServerResponse, string>();
  #server: Server | null = null;
  #port = 0;

  constructor(world: FakeWorld, pageDirectory: string | null) {
    this.world = world;
    this.#pageDirectory = pageDirectory;
  }

  get url(): string {
    return `http://${HOST}:${this.#port}`;
  }

  /** On the same port again after `goAway`. */
  async listen(port = this.#port): Promise<void> {
    const server = createServer((request, response) => void this.#answer(request, response));
    server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
    server.listen(port, HOST);
    await once(server, 'listening');
    this.#server = server;
    this.#port = (server.address() as AddressInfo).port;
  }

  /** As a daemon that was killed: every connection is cut. */
  async goAway(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    if (server === null) return;
    const closed = once(server, 'close');
    server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  /** Answers to this path wait until the returned function is called. */
  hold(end: string): () => void {
    let letGo = () => {};
    const gate = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    this.#held.set(end, gate);
    return () => {
      this.#held.delete(end);
      letGo();
    };
  }

  /** Cuts the event streams only. */
  dropStreams(): void {
    for (const stream of this.#streams) stream.destroy();
  }

  get streamCount(): number {
    return this.#streams.size;
  }

  get logStreamCount(): number {
    return this.#logs.size;
  }

  /** Changes a session and tells of it, as one event. */
  push(session: FakeSession, kind: string, text: string): EventView {
    const { run } = session.detail;
    const event = this.world.record(session, kind, 'alice', text, new Date().toISOString(), run.id);
    for (const stream of this.#streams) writeEvent(stream, event);
    return event;
  }

  forget(session: FakeSession): void {
    const event = this.push(session, 'session.removed', 'alice forgot it.');
    this.world.sessions.delete(event.sessionId);
  }

  /** More output of a session, to whoever follows it. */
  write(session: FakeSession, text: string): void {
    session.log += text;
    for (const [stream, id] of this.#logs) {
      if (id === session.detail.id) stream.write(`data: ${JSON.stringify(text)}\n\n`);
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.url);
    if (!url.pathname.startsWith('/v1/')) return servePage(this.#pageDirectory, url.pathname, response);
    const method = request.method ?? 'GET';
    const body = method === 'POST' ? JSON.parse(await readAll(request)) : null;
    this.asked.push({ method, path: url.pathname + url.search, body });
    const held = [...this.#held].find(([end]) => url.pathname.endsWith(end))?.[1];
    if (held !== undefined) await held;
    const failure = [...this.failures].find(([end]) => url.pathname.endsWith(end))?.[1];
    if (!this.isAuthorised) return json(response, 401, unauthorised());
    if (failure !== undefined) return json(response, failure.status, { error: failure.error });
    if (url.pathname === '/v1/events') return this.#stream(request, url, response);
    if (url.searchParams.get('follow') === 'true') return this.#followLog(url, response);
    const { status, value } = method === 'POST' ? answerVerb(this, url, body) : answerRead(this.world, url);
    json(response, status, value);
  }

  #stream(request: IncomingMessage, url: URL, response: ServerResponse): void {
    const last = request.headers['last-event-id'] ?? url.searchParams.get('after') ?? '0';
    const missed = [...this.world.sessions.values()]
      .flatMap(({ events }) => events)
      .filter(({ seq }) => seq > Number(last))
      .sort((one, other) => one.seq - other.seq);
    if (request.headers.accept !== 'text/event-stream')
      return json(response, 200, { events: missed, next: null });
    startStream(response);
    this.#streams.add(response);
    response.on('close', () => this.#streams.delete(response));
    for (const event of missed) writeEvent(response, event);
  }

  #followLog(url: URL, response: ServerResponse): void {
    const session = this.world.find(decodeURIComponent(url.pathname.split('/')[3] ?? ''));
    if (session === undefined) return json(response, 404, { error: notFound() });
    startStream(response);
    response.write(`data: ${JSON.stringify(session.log)}\n\n`);
    if (session.detail.run.state === 'ended') response.end('event: end\ndata: {}\n\n');
    this.#logs.set(response, session.detail.id);
    response.on('close', () => this.#logs.delete(response));
  }
}

export async function startFakeDaemon(
  world: FakeWorld,
  pageDirectory: string | null = null,
  port = 0,
): Promise<FakeDaemon> {
  const daemon = new FakeDaemon(world, pageDirectory);
  await daemon.listen(port);
  return daemon;
}

function startStream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  response.write(': here\n\n');
}

function writeEvent(response: ServerResponse, event: EventView): void {
  response.write(`id: ${event.seq}\ndata: ${JSON.stringify(event)}\n\n`);
}

function json(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
}

async function readAll(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8') || '{}';
}

if (process.argv[1] === import.meta.filename) {
  const [, , port = '4173', directory = null] = process.argv;
  const daemon = await startFakeDaemon(tenSessions(), directory, Number(port));
  console.log(daemon.url);
}
