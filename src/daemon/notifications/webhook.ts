/**
 * A POST of the message to an address. Every request has a connection of its own: one that was kept may have died
 * unnoticed. Redirects are not followed, for the message and its token were meant for this address.
 */
import { request as requestHttp } from 'node:http';
import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Attempt } from '../../lifecycle/delivery.ts';
import type { Deliver, Environment } from './channel.ts';
import type { Message } from './message.ts';

export interface WebhookSettings {
  readonly address: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly tokenVariable: string | null;
  readonly environment: Environment;
}

/** An answer is read only so that its sender may finish it; more than this is not waited for. */
const MAX_ANSWER_BYTES = 64 * 1024;

export function webhook(settings: WebhookSettings): Deliver {
  return async (message, deadline) => {
    const { tokenVariable, environment } = settings;
    const token = tokenVariable === null ? null : environment[tokenVariable];
    if (token === undefined || token === '') {
      return { is: 'refused', because: `the environment variable ${tokenVariable} for its token is not set` };
    }
    return post(settings, message, token, deadline);
  };
}

function post(
  settings: WebhookSettings,
  message: Message,
  token: string | null,
  deadline: AbortSignal,
): Promise<Attempt> {
  const body = Buffer.from(JSON.stringify(message));
  const headers: OutgoingHttpHeaders = {
    ...settings.headers,
    ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    'content-type': 'application/json',
    'content-length': body.length,
    'reeve-notification': String(message.key),
    'user-agent': 'reeve',
  };
  return new Promise((resolve) => {
    const address = new URL(settings.address);
    const send = address.protocol === 'https:' ? requestHttps : requestHttp;
    let request: ClientRequest;
    try {
      request = send(address, { method: 'POST', headers, agent: false });
    } catch {
      // Node's own sentence would quote the header.
      resolve({ is: 'refused', because: 'its token or a header has characters that cannot be sent' });
      return;
    }
    let attempt: Attempt | null = null;
    const onDeadline = () => end({ is: 'failed', because: 'it did not answer in time' });
    const end = (otherwise: Attempt) => {
      deadline.removeEventListener('abort', onDeadline);
      resolve(attempt ?? otherwise);
      request.destroy();
    };
    deadline.addEventListener('abort', onDeadline);
    request.on('error', (error) =>
      end({ is: 'failed', because: `the connection failed (${codeOf(error)})` }),
    );
    request.on('close', () => end({ is: 'failed', because: 'the connection was closed without an answer' }));
    request.on('response', (answer) => {
      attempt = attemptFrom(answer);
      drain(answer, () => end({ is: 'delivered' }));
    });
    request.end(body);
  });
}

/** Its status is what counts: neither a slow nor a broken body, which closes the request, makes it another. */
function drain(answer: IncomingMessage, done: () => void): void {
  let bytes = 0;
  answer.on('end', done);
  answer.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) done();
  });
}

function attemptFrom({ statusCode = 0, headers }: IncomingMessage): Attempt {
  const because = `it answered ${statusCode}`;
  if (statusCode >= 200 && statusCode < 300) return { is: 'delivered' };
  if (statusCode !== 429 && statusCode < 500) return { is: 'refused', because };
  const asked = headers['retry-after'] ?? '';
  return { is: 'failed', because, ...(/^\d{1,6}$/.test(asked) ? { afterMs: Number(asked) * 1000 } : {}) };
}

function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : 'unknown';
}
