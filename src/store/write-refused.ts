import { ReeveError } from '../api/errors.ts';

/** By the server's codes: read only, as a standby is; and no right to it, as a role that may only look has none. */
const CODES: ReadonlySet<unknown> = new Set(['25006', '42501']);

/** Whether the store is there, and takes no writes from here: that is nothing to whoever looks. */
export function isWriteRefused(error: unknown): error is ReeveError {
  if (!(error instanceof ReeveError) || error.code !== 'store_unavailable') return false;
  const { cause } = error;
  return cause instanceof Error && 'code' in cause && CODES.has(cause.code);
}
