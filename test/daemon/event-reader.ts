/** Reads server-sent events as a browser does: it remembers the last id, and comes back with it. */
import { request } from 'node:http';
import type { EventView } from '../../src/api/http-views.ts';

export interface EventReader {
  readonly seen: EventView[];
  /** How often the connection was made. */
  connections(): number;
  close(): void;
}

const AGAIN_MS = 20;

export function readEvents(socket: () => string, from: number, onEvent: () => void = () => {}): EventReader {
  const seen: EventView[] = [];
  let last = from;
  let connections = 0;
  let isOver = false;
  let current: ReturnType<typeof request> | undefined;
  const connect = () => {
    if (isOver) return;
    const again = once(() => setTimeout(connect, AGAIN_MS));
    current = request(
      {
        socketPath: socket(),
        path: '/v1/events',
        headers: { accept: 'text/event-stream', 'last-event-id': String(last) },
      },
      (response) => {
        connections += 1;
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          text += chunk;
          for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
            const event = parse(text.slice(0, end));
            text = text.slice(end + 2);
            if (event === null) continue;
            last = event.seq;
            seen.push(event);
            onEvent();
          }
        });
        response.on('error', again);
        response.on('close', again);
      },
    );
    current.on('error', again);
    current.end();
  };
  connect();
  return {
    seen,
    connections: () => connections,
    close() {
      isOver = true;
      current?.destroy();
    },
  };
}

function parse(block: string): EventView | null {
  const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1];
  const data = field('data');
  if (data === undefined) return null;
  const event = JSON.parse(data) as EventView; // As the daemon documents it; compared with the store by the tests.
  if (field('id') !== String(event.seq)) throw new Error(`The id is not the event's number: ${block}`);
  return event;
}

function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) work();
    isDone = true;
  };
}
