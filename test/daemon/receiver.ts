/** A real HTTP server on this machine that answers as it is told, and says when it was asked. */
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventually } from '../support/processes.ts';

export type Answer = (response: ServerResponse, request: IncomingMessage) => void;

interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Record<string, unknown>;
}

export interface Receiver {
  readonly address: string;
  readonly received: readonly Received[];
  /** Answers to come, in this order; after them, 200. */
  readonly answers: Answer[];
  /** Resolves when so many messages have come, ever. */
  gets(count: number): Promise<void>;
  keys(): unknown[];
  /** The one that came at this place, counted from nought. */
  at(index: number): Received;
  close(): Promise<void>;
}

export const status =
  (code: number, headers: Record<string, string> = {}): Answer =>
  (response) =>
    response.writeHead(code, headers).end('{}');
/** Neither answers nor closes. */
export const hang: Answer = () => {};
export const hangUp: Answer = (_, request) => request.socket.destroy();
/** Says 200 and never finishes the body. */
export const endlessBody: Answer = (response) => response.writeHead(200).write('x');
/** Says 200 and dies in the middle of the body. */
export const brokenBody: Answer = (response, request) => {
  response.writeHead(200, { 'content-length': '100' }).write('x', () => request.socket.destroy());
};
/** Says 200 and sends more than anybody wants to read, without an end. */
export const flood: Answer = (response) => {
  response.writeHead(200);
  const pour = () => {
    while (!response.destroyed && response.write('x'.repeat(16_384)));
    if (!response.destroyed) response.once('drain', pour);
  };
  pour();
};

export async function startReceiver(port = 0): Promise<Receiver> {
  const received: Received[] = [];
  const answers: Answer[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      const body = JSON.parse(text) as Record<string, unknown>; // Compared by the test.
      received.push({ path: request.url ?? '', headers: request.headers, body });
      (answers.shift() ?? status(200))(response, request);
    });
    response.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const { port: bound } = server.address() as AddressInfo; // It listens on TCP.
  return {
    address: `http://127.0.0.1:${bound}/hook`,
    received,
    answers,
    gets: async (count) => {
      await eventually(`${count} messages`, () => received.length >= count);
    },
    keys: () => received.map(({ body }) => body['key']),
    at: (index) => {
      const found = received[index];
      if (found === undefined) throw new Error(`There is no message ${index}.`);
      return found;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
