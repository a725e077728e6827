/**
 * How much of a body is read: as much as the operation needs, of all requests together no more than the daemon can hold,
 * and of somebody who has not proven to be anybody next to nothing.
 */
import type { Context as Request, MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { ReeveError } from '../../api/errors.ts';
import { MAX_SUBMISSION_BYTES } from '../../lifecycle/submission.ts';
import type { Environment } from './operation.ts';

/** A prompt of a hundred thousand characters, in the worst encoding, and room around it. */
const MAX_BODY_BYTES = 1024 * 1024;
/** The largest submission in the worst encoding, six bytes for one, and room around it. */
const MAX_SUBMIT_BODY_BYTES = 6 * MAX_SUBMISSION_BYTES + 16 * 1024;
/** What a run with a wrong token, or a browser with a code, has to say fits into this. */
export const MAX_UNPROVEN_BODY_BYTES = 4 * 1024;
/** Several of the largest at once; each is in memory as bytes, as text and as what it means. */
const MAX_BYTES_AT_ONCE = 8 * MAX_SUBMIT_BODY_BYTES;

export function limitTo(bytes: number): MiddlewareHandler<Environment> {
  const error = () => new ReeveError('too_large', `The body has more than ${bytes} bytes.`);
  return bodyLimit({ maxSize: bytes, onError: () => Promise.reject(error()) });
}

export function limitBodies(): MiddlewareHandler<Environment> {
  const limits = new Map(
    [MAX_BODY_BYTES, MAX_SUBMIT_BODY_BYTES, MAX_UNPROVEN_BODY_BYTES].map((bytes) => [bytes, limitTo(bytes)]),
  );
  let atOnce = 0;
  return async (request, next) => {
    const most = mostOf(request);
    const bytes = Math.min(most, saidBytes(request, most));
    if (atOnce + bytes > MAX_BYTES_AT_ONCE)
      throw new ReeveError('busy', 'The daemon is reading as much as it can hold.', { hint: 'Try again.' });
    atOnce += bytes;
    try {
      await limits.get(most)?.(request, next);
    } finally {
      atOnce -= bytes;
    }
  };
}

function mostOf(request: Request<Environment>): number {
  if (!request.get('isProven')) return MAX_UNPROVEN_BODY_BYTES;
  return request.req.path === '/v1/submit' ? MAX_SUBMIT_BODY_BYTES : MAX_BODY_BYTES;
}

/** A body without a length may become as long as is allowed. */
function saidBytes(request: Request<Environment>, most: number): number {
  const length = request.req.header('content-length');
  if (length !== undefined) return Number(length);
  return request.req.header('transfer-encoding') === undefined ? 0 : most;
}
