/** What goes on until the reader leaves: the log of events, and the output of a run. */
import { streamSSE } from 'hono/streaming';
import type { SSEStreamingApi } from 'hono/streaming';
import type { Context as Request } from 'hono';
import { ReeveError } from '../../api/errors.ts';
import { viewEvents } from '../../supervisor/events.ts';
import { logTail } from '../../supervisor/log-tail.ts';
import { followEvents } from '../follow-events.ts';
import type { App, Environment } from './operation.ts';
import type { Parts } from './parts.ts';

/** Each holds a connection and a place in the log. */
const MAX_STREAMS = 100;
/** Tells both sides that the other is there, before anything between them forgets the connection. */
const HEARTBEAT_MS = 15_000;
const MAX_LINES = 10_000;

export function addStreams(app: App, parts: Parts): void {
  let open = 0;
  const stream = (
    request: Request<Environment>,
    work: (sse: SSEStreamingApi, signal: AbortSignal) => Promise<void>,
  ) => {
    if (open >= MAX_STREAMS) throw new ReeveError('busy', `${MAX_STREAMS} readers are connected already.`);
    open += 1;
    const isBrowser = request.env.via === 'loopback' && request.req.header('authorization') === undefined;
    const over = isBrowser ? [parts.closing, parts.access.untilSignOut()] : [parts.closing];
    return streamSSE(
      request,
      async (sse) => {
        const left = new AbortController();
        sse.onAbort(() => left.abort());
        const beat = setInterval(() => void sse.write(': here\n\n'), HEARTBEAT_MS);
        try {
          await work(sse, AbortSignal.any([left.signal, ...over]));
        } finally {
          clearInterval(beat);
          open -= 1;
        }
      },
      async (error) => parts.log(`a stream ended: ${error.message}`),
    );
  };

  // Before the operations of the same path, which answer whoever does not want a stream.
  app.get('/v1/events', async (request, next) => {
    if (isHead(request) || !(request.req.header('accept') ?? '').includes('text/event-stream')) return next();
    const from = await startOf(request, parts);
    return stream(request, (sse, signal) => sendEvents(parts, sse, from, signal));
  });
  app.get('/v1/sessions/:session/logs', async (request, next) => {
    if (isHead(request) || request.req.query('follow') !== 'true') return next();
    const session = request.req.param('session');
    // Found before the stream begins, so that what is not there is an error and not an empty stream.
    await logTail(parts.context, session, 0);
    const lines = Math.min(MAX_LINES, numberOf(request.req.query('lines') ?? '200', 'lines'));
    return stream(request, (sse, signal) => sendLog(parts, sse, session, lines, signal));
  });
}

/** Asked for the head alone, it is answered without a body: nobody would ever read the stream, or leave it. */
function isHead(request: Request<Environment>): boolean {
  return request.req.method === 'HEAD';
}

/** Behind the last one that the reader has seen; without any word of it, from now on. */
async function startOf(request: Request, { context }: Parts): Promise<number> {
  const given = request.req.header('last-event-id') ?? request.req.query('after');
  return given === undefined ? context.store.lastSeq() : numberOf(given, 'Last-Event-ID');
}

function numberOf(text: string, name: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new ReeveError('usage', `${name} is a whole number.`);
}

async function sendEvents(
  { context, changes }: Parts,
  sse: SSEStreamingApi,
  from: number,
  signal: AbortSignal,
): Promise<void> {
  // At once, so that the reader knows that it is connected before anything happens.
  await sse.write(': here\n\n');
  const read = (range: { after: number; limit: number }) => context.store.events(range);
  for await (const events of followEvents(read, changes, from, signal)) {
    const views = await viewEvents(context, events);
    const text = views.map((view) => `id: ${view.seq}\ndata: ${JSON.stringify(view)}\n\n`).join('');
    // Waits for a reader that is slow: nothing piles up, since it is the log that remembers.
    await sse.write(text);
  }
}

async function sendLog(
  { reeve }: Parts,
  sse: SSEStreamingApi,
  session: string,
  lines: number,
  signal: AbortSignal,
): Promise<void> {
  const decoder = new TextDecoder();
  for await (const chunk of reeve.logs(session, { follow: true, lines, signal })) {
    const text = decoder.decode(chunk, { stream: true });
    if (text !== '') await sse.writeSSE({ data: JSON.stringify(text) });
  }
  if (!signal.aborted) await sse.writeSSE({ event: 'end', data: '' });
}
