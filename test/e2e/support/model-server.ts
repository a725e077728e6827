/** A model on loopback for real harnesses: it speaks their APIs and does what the prompt says (see model/script.ts). */
import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { anthropic } from './model/anthropic.ts';
import { chat } from './model/chat.ts';
import type { Api, Asked, Dialect, Reply } from './model/dialect.ts';
import { gemini } from './model/gemini.ts';
import { smallest } from './model/json.ts';
import { responses } from './model/responses.ts';
import { turnOf } from './model/script.ts';
import type { Turn } from './model/script.ts';
import { shellCall } from './model/shell-tool.ts';

const DIALECTS: readonly Dialect[] = [anthropic, responses, chat, gemini];

/** Far above what a harness needs to start and ask, so that only a hang runs into it. */
const WAIT_LIMIT_MS = 60_000;

export interface ModelRequest {
  readonly atMs: number;
  readonly api: Api;
  /** False for titles, quota checks and the like, which offer no tools and follow no script. */
  readonly isConversation: boolean;
  /** The text of the last user prompt. */
  readonly prompt: string;
  /** All that the user's side said in this conversation, oldest first: what the harness still knows of it. */
  readonly prompts: readonly string[];
  /** How many tool results there are since that prompt. */
  readonly step: number;
  readonly sessionHint?: string;
  /** Null while it is being answered; `dropped` when the connection went before the answer was complete. */
  readonly end: 'answered' | 'dropped' | null;
}

type Predicate = (request: ModelRequest) => boolean;

export interface ModelServer {
  readonly url: string;
  readonly requests: readonly ModelRequest[];
  /** The first request, of the past or to come, for which this holds. */
  waitForRequest(predicate: Predicate): Promise<ModelRequest>;
  /** The same, once it has been answered or its connection is gone. */
  waitForEnd(predicate: Predicate): Promise<ModelRequest>;
  close(): Promise<void>;
}

export async function startModelServer(): Promise<ModelServer> {
  const requests: Writable<ModelRequest>[] = [];
  const changes = new EventEmitter();
  changes.setMaxListeners(0);
  const closing = new AbortController();
  const server = createServer((incoming, outgoing) => {
    handle(incoming, outgoing, closing.signal, (request) => {
      requests.push(request);
      outgoing.once('close', () => {
        request.end = outgoing.writableFinished ? 'answered' : 'dropped';
        changes.emit('change');
      });
      changes.emit('change');
    }).catch((error: unknown) => {
      // A dropped connection is what some tests are about; anything else must not pass for an answer.
      if (!outgoing.destroyed) refuse(outgoing, 500, { error: String(error) });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // It listens on a port, not on a path.
  const waitFor = async (what: string, predicate: Predicate) => {
    const limit = AbortSignal.any([closing.signal, AbortSignal.timeout(WAIT_LIMIT_MS)]);
    for (;;) {
      const found = requests.find((request) => predicate(request));
      if (found !== undefined) return found;
      await once(changes, 'change', { signal: limit }).catch((cause: unknown) => {
        const seen = requests.map(({ api, prompt, step }) => `${api} ${step} ${prompt.slice(0, 80)}`);
        throw new Error(`${what} did not come. Requests so far: ${JSON.stringify(seen)}`, { cause });
      });
    }
  };
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    waitForRequest: (predicate) => waitFor('The request', predicate),
    waitForEnd: (predicate) =>
      waitFor('The end of the request', (request) => request.end !== null && predicate(request)),
    close: async () => {
      closing.abort();
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

async function handle(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  closing: AbortSignal,
  log: (request: Writable<ModelRequest>) => void,
): Promise<void> {
  const atMs = Date.now();
  const path = new URL(incoming.url ?? '/', 'http://model').pathname;
  const raw = await text(incoming);
  if (/count_?tokens$/iu.test(path)) {
    // One number under the names that the two APIs have for it.
    send(outgoing, { input_tokens: raw.length, totalTokens: raw.length });
    return;
  }
  const dialect = DIALECTS.find((candidate) => candidate.handles(path));
  if (dialect === undefined || incoming.method !== 'POST') {
    refuse(outgoing, 404, { error: { type: 'not_found_error', message: `Nothing is at ${path}.` } });
    return;
  }
  const body: unknown = JSON.parse(raw);
  const asked = dialect.read(body, path, (name) => String(incoming.headers[name] ?? ''));
  const { prompt, step } = progressOf(asked);
  const isConversation = asked.tools.length > 0;
  const hint = asked.sessionHint ? { sessionHint: asked.sessionHint } : {};
  const prompts = asked.messages.map(({ said }) => said).filter((said) => said !== '');
  log({ atMs, api: dialect.api, isConversation, prompt, prompts, step, ...hint, end: null });
  const turn = isConversation ? turnOf(prompt, step) : sideAnswer(asked);
  await answer(outgoing, dialect, asked, turn, closing);
}

/** The last thing that was said, and how many tool results have come since. */
function progressOf({ messages }: Asked): { prompt: string; step: number } {
  // Beside a result there are only remarks of the harness, unless somebody scripted them.
  const last = messages.findLastIndex(
    ({ said, results }) => said !== '' && (results === 0 || said.includes('@@')),
  );
  const since = messages.slice(last + 1);
  return {
    prompt: messages[last]?.said ?? '',
    step: since.reduce((sum, { results }) => sum + results, 0),
  };
}

function sideAnswer({ schema }: Asked): Turn {
  return {
    pieces: [schema === undefined ? 'ok' : JSON.stringify(smallest(schema))],
    paceMs: 0,
    end: null,
  };
}

async function answer(
  outgoing: ServerResponse,
  dialect: Dialect,
  asked: Asked,
  turn: Turn,
  closing: AbortSignal,
): Promise<void> {
  const { end, paceMs } = turn;
  if (end?.kind === 'hang') return;
  if (end?.kind === 'fail') {
    refuse(outgoing, end.status, dialect.failure(end.status));
    return;
  }
  const pieces = end?.kind === 'cut' && turn.pieces.length === 0 ? ['cut '] : turn.pieces;
  const id = randomUUID().replaceAll('-', '').slice(0, 24);
  const reply: Reply = { id, model: asked.model, pieces, call: callOf(turn, asked, id) };
  if (!asked.wantsStream) {
    await sleep(paceMs * pieces.length, undefined, { signal: closing });
    if (end?.kind === 'cut') outgoing.destroy();
    else send(outgoing, dialect.whole(reply));
    return;
  }
  const frames = dialect.stream(reply);
  outgoing.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  outgoing.write(frames.head);
  for (const piece of frames.pieces) {
    if (outgoing.destroyed) return;
    outgoing.write(piece);
    if (paceMs > 0) await sleep(paceMs, undefined, { signal: closing });
  }
  // Broken only after what came before has left, or nobody would see a middle.
  if (end?.kind === 'cut') outgoing.write(': cut\n\n', () => outgoing.destroy());
  else outgoing.end(frames.tail);
}

function callOf({ end }: Turn, asked: Asked, id: string): Reply['call'] {
  if (end?.kind === 'run') return { id: `call_${id}`, ...shellCall(asked, end.command) };
  if (end?.kind === 'tool') return { id: `call_${id}`, name: end.name, input: end.input };
  return null;
}

function send(outgoing: ServerResponse, body: unknown): void {
  outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function refuse(outgoing: ServerResponse, status: number, body: unknown): void {
  outgoing.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
