/** What SQLite says when something does not work. */
import { constants } from 'node:os';

export const RESULT = {
  busy: 5,
  readonly: 8,
  ioError: 10,
  corrupt: 11,
  full: 13,
  cantOpen: 14,
  notADatabase: 26,
} as const;

/** SQLite's own words, for the errors to which the driver gives no code: those of a statement that reads all rows. */
const RESULT_OF_MESSAGE: Readonly<Record<string, number>> = {
  'database is locked': RESULT.busy,
  'attempt to write a readonly database': RESULT.readonly,
  'disk I/O error': RESULT.ioError,
  'database disk image is malformed': RESULT.corrupt,
  'database or disk is full': RESULT.full,
  'unable to open database file': RESULT.cantOpen,
  'file is not a database': RESULT.notADatabase,
};

/** SQLite calls it an I/O error when it is not the database that finds no room, but the index of its log. */
const NO_ROOM: ReadonlySet<unknown> = new Set([constants.errno.ENOSPC, constants.errno.EDQUOT]);

/** SQLite's primary result code; extended codes carry it in their low byte. */
export function resultOf(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined;
  if ('systemErrno' in error && NO_ROOM.has(error.systemErrno)) return RESULT.full;
  return 'errcode' in error ? Number(error.errcode) & 0xff : RESULT_OF_MESSAGE[error.message];
}
