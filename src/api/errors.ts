/**
 * The one table of errors: stable code, HTTP status, exit code. `docs/errors.md` documents each, and a test fails
 * when either lists what the other lacks.
 */
export const ERRORS = {
  failed: { httpStatus: 500, exitCode: 1 },
  never_started: { httpStatus: 422, exitCode: 1 },
  usage: { httpStatus: 400, exitCode: 2 },
  bad_name: { httpStatus: 400, exitCode: 2 },
  bad_directory: { httpStatus: 400, exitCode: 2 },
  bad_config: { httpStatus: 500, exitCode: 2 },
  not_configured: { httpStatus: 409, exitCode: 2 },
  ambiguous: { httpStatus: 409, exitCode: 2 },
  inside_own_run: { httpStatus: 409, exitCode: 2 },
  bound_elsewhere: { httpStatus: 409, exitCode: 2 },
  conflict: { httpStatus: 409, exitCode: 2 },
  not_found: { httpStatus: 404, exitCode: 3 },
  live_owner: { httpStatus: 409, exitCode: 4 },
  unmanaged_owner: { httpStatus: 409, exitCode: 4 },
  fenced: { httpStatus: 409, exitCode: 5 },
  unproven: { httpStatus: 503, exitCode: 7 },
  survivors: { httpStatus: 503, exitCode: 7 },
  out_of_reach: { httpStatus: 409, exitCode: 7 },
  store_unavailable: { httpStatus: 503, exitCode: 7 },
  store_behind: { httpStatus: 503, exitCode: 7 },
  store_withheld: { httpStatus: 503, exitCode: 7 },
  process_table: { httpStatus: 503, exitCode: 7 },
  undelivered: { httpStatus: 503, exitCode: 7 },
  tmux_unknown: { httpStatus: 503, exitCode: 7 },
  daemon_running: { httpStatus: 409, exitCode: 4 },
  daemon_older: { httpStatus: 409, exitCode: 4 },
  daemon_stopping: { httpStatus: 503, exitCode: 7 },
  no_daemon: { httpStatus: 503, exitCode: 3 },
  unauthorised: { httpStatus: 401, exitCode: 1 },
  forbidden: { httpStatus: 403, exitCode: 1 },
  too_large: { httpStatus: 413, exitCode: 2 },
  program_replaced: { httpStatus: 503, exitCode: 1 },
  busy: { httpStatus: 409, exitCode: 1 },
  over_budget: { httpStatus: 402, exitCode: 8 },
  harness_missing: { httpStatus: 422, exitCode: 1 },
  bad_settings: { httpStatus: 422, exitCode: 1 },
  tmux_missing: { httpStatus: 422, exitCode: 1 },
  no_log: { httpStatus: 409, exitCode: 1 },
  keeper_unavailable: { httpStatus: 500, exitCode: 1 },
  state_directory: { httpStatus: 500, exitCode: 1 },
  file_unavailable: { httpStatus: 500, exitCode: 1 },
  store_full: { httpStatus: 507, exitCode: 1 },
  store_newer: { httpStatus: 500, exitCode: 1 },
  store_damaged: { httpStatus: 500, exitCode: 1 },
  interrupted: { httpStatus: 503, exitCode: 130 },
} as const satisfies Record<string, { httpStatus: number; exitCode: number }>;

export type ErrorCode = keyof typeof ERRORS;

/** What a person sees: what failed and why (`message`), and what to do next (`hint`). */
export class ReeveError extends Error {
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: ErrorCode,
    message: string,
    more: { hint?: string; details?: Readonly<Record<string, unknown>>; cause?: unknown } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.name = 'ReeveError';
    this.code = code;
    this.hint = more.hint;
    this.details = more.details ?? {};
  }
}

/** A signal ended the command before it had done what it was asked for. */
export class Interrupted extends ReeveError {
  /** As shells have it: 128 and the number of the signal. */
  readonly exitCode: number;

  constructor(exitCode: number, message: string, details: Readonly<Record<string, unknown>>) {
    super('interrupted', message, { details });
    this.exitCode = exitCode;
  }
}

/** Not about the file that was asked for: any other would have been refused as well. */
export function isTooManyFiles(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  return code === 'EMFILE' || code === 'ENFILE';
}

export const TOO_MANY_FILES = 'too many files are open';
export const MORE_FILES = 'Allow it more open files (`ulimit -n`), then try again.';
