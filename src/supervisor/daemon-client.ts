/** Asks the daemon, over its socket. */
import { request } from 'node:http';
import { ReeveError } from '../api/errors.ts';
import type { ErrorCode } from '../api/errors.ts';
import type { Machine } from './context.ts';
import { daemonPlace } from './daemon-place.ts';

/** Longer than any look takes; what ends runs is asked for by those who wait themselves. */
const LIMIT_MS = 10_000;
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** `authorization` narrows what may be done to what it is good for; without it, the caller is this user. */
export function askDaemon(
  { home }: Pick<Machine, 'home'>,
  method: string,
  path: string,
  body?: unknown,
  authorization?: string,
): Promise<unknown> {
  const { socket } = daemonPlace(home);
  return new Promise((resolve, reject) => {
    const fail = (error: Error) =>
      reject(
        new ReeveError('no_daemon', `The daemon does not answer: ${error.message}.`, {
          hint: 'Look: reeve serve status    Start one: reeve serve --detach',
          cause: error,
        }),
      );
    const asked = request(
      {
        socketPath: socket,
        method,
        path,
        timeout: LIMIT_MS,
        headers: {
          // Whoever reads the answer is in a terminal.
          'reeve-words': 'cli',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(authorization === undefined ? {} : { authorization }),
        },
      },
      (response) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > MAX_ANSWER_BYTES) asked.destroy(new Error('its answer has no end'));
          else chunks.push(chunk);
        });
        response.once('error', fail);
        response.once('end', () => {
          try {
            resolve(read(Buffer.concat(chunks).toString('utf8')));
          } catch (error) {
            reject(error instanceof ReeveError ? error : new ReeveError('failed', String(error)));
          }
        });
      },
    );
    asked.once('timeout', () => asked.destroy(new Error('it took too long')));
    asked.once('error', fail);
    asked.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint?: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

function read(text: string): unknown {
  const value: unknown = JSON.parse(text);
  // As `answerError` writes it.
  const { error } = value as { error?: Failure };
  if (error === undefined) return value;
  const { code, message, hint, details = {} } = error;
  throw new ReeveError(code, message, hint === undefined ? { details } : { hint, details });
}
