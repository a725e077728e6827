/** Which failures pass by themselves, and what a person is told of those that do not. */
import pg from 'pg';
import { ReeveError } from '../api/errors.ts';
import { TlsFailure } from './postgres-socket.ts';

/** No connection was made. What was to be done on it has not begun. */
export class Unreached extends Error {
  override readonly name = 'Unreached';
}

/**
 * Class 08 is a lost connection, 57P01 to 57P03 a server going down or coming up, 53300 one with no room, and 25P03 a
 * transaction that the server ended because nothing was heard of it.
 */
const LOSS_STATES = /^(08|57P0[123]$|53300$|25P03$)/;
const LOSS_ERRNOS = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'ENOENT',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);
const LOSS_MESSAGES = /Connection terminated|timeout expired|not queryable|Query read timeout/;

export function isConnectionLoss(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof Unreached) return isConnectionLoss(error.cause);
  const code = codeOf(error);
  if (LOSS_STATES.test(code) || LOSS_ERRNOS.has(code)) return true;
  if (error instanceof AggregateError) return error.errors.some(isConnectionLoss);
  return LOSS_MESSAGES.test(error.message);
}

export function isSerialisation(error: unknown): boolean {
  const code = codeOf(error);
  return code === '40001' || code === '40P01';
}

/** A name that leads nowhere is more likely misspelt than moved: it is not waited for as long as a server is. */
export function isWorthWaiting(error: Unreached): boolean {
  return isConnectionLoss(error) && codeOf(error.cause) !== 'ENOTFOUND';
}

/** The server has become one that can only be read: whoever writes must not come back to it. */
export function isReadOnly(error: unknown): boolean {
  return codeOf(error) === '25006';
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ENOENT: 'there is no such socket',
  ENOTFOUND: 'there is no host of that name',
  EAI_AGAIN: 'the name of its host cannot be looked up',
  EHOSTUNREACH: 'its host cannot be reached',
  ENETUNREACH: 'its network cannot be reached',
};

export function reasonOf(error: unknown): string {
  if (error instanceof Unreached) return reasonOf(error.cause);
  if (error instanceof AggregateError) return [...new Set(error.errors.map(reasonOf))].join('; ');
  const message = error instanceof Error ? error.message : String(error);
  return REASONS[codeOf(error)] ?? message.replace(/\.$/, '');
}

export function unavailable(place: string, cause: unknown): ReeveError {
  const isFull = codeOf(cause instanceof Unreached ? cause.cause : cause) === '53300';
  return new ReeveError('store_unavailable', `The store at ${place} does not answer: ${reasonOf(cause)}.`, {
    hint: isFull
      ? 'Close connections that nobody needs, raise max_connections, or put a connection pooler in front of it.'
      : 'Check REEVE_STORE and that PostgreSQL is running, then try again.',
    cause,
  });
}

const DISK_FULL = '53100';
/** Cancelled by a person or by a timeout of the server's, or a lock that was not to be had in time. */
const CANCELLED_STATES = /^(57014|55P03)$/;
/**
 * Not let in (28), no such database (3D), no right (42501), only to be read (25006), out of resources (53), an operator
 * steps in (57), the system below it fails (58), it fails itself (XX).
 */
const REFUSAL_STATES = /^(28|3D|42501$|25006$|53|57|58|XX)/;

/** What trying again would not change. */
export function explained(place: string, given: unknown): unknown {
  const error = given instanceof Unreached ? given.cause : given;
  if (error instanceof TlsFailure) {
    return new ReeveError(
      'store_unavailable',
      `The store at ${place} is not reached by TLS: ${error.message}.`,
      {
        hint: 'See sslmode and sslrootcert in REEVE_STORE; they mean what they mean to libpq.',
        cause: error,
      },
    );
  }
  if (error instanceof Error && error.message.includes('client password must be a')) {
    return refused(place, 'it asks for a password, and none was given', error);
  }
  if (!(error instanceof pg.DatabaseError) || error.code === undefined) return error;
  if (error.code === DISK_FULL) {
    return new ReeveError('store_full', `The disk of the store at ${place} is full; nothing was written.`, {
      hint: 'Free some space there and try again.',
      cause: error,
    });
  }
  if (CANCELLED_STATES.test(error.code)) {
    return new ReeveError('store_unavailable', `The store at ${place} gave up on this: ${error.message}.`, {
      hint: 'Nothing was written. Try again; if it stays so, see statement_timeout and lock_timeout of this role, and who holds a lock.',
      cause: error,
    });
  }
  return REFUSAL_STATES.test(error.code) ? refused(place, error.message, error) : error;
}

function refused(place: string, why: string, cause: unknown): ReeveError {
  return new ReeveError('store_unavailable', `The store at ${place} refused: ${why}.`, {
    hint: 'Check REEVE_STORE: the database must exist, and this user must be let in and allowed to write to it.',
    cause,
  });
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
