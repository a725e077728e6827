/** What a detached run wrote, and, followed, what it goes on to write until it ends. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { ReeveError } from '../api/errors.ts';
import type { Run } from '../lifecycle/run.ts';
import type { SessionWithRun } from '../store/store.ts';
import type { Context } from './context.ts';
import { requireHere } from './reach.ts';
import { reconcileRun } from './reconcile.ts';
import { resolveSession, runNamed } from './resolve.ts';

export interface LogsRequest {
  readonly follow?: boolean | undefined;
  /** Only the last so many lines, to begin with. */
  readonly lines?: number | undefined;
  /** Stops following; the run is not touched. */
  readonly signal?: AbortSignal | undefined;
}

const CHUNK_BYTES = 64 * 1024;
const FOLLOW_POLL_MS = 50;
/** Looking whether the run still lives costs a read of the store, so it is done less often than looking for output. */
const LIVENESS_EVERY_POLLS = 4;
/** How far back a tail looks for its lines: a log may have one endless line. */
const MAX_TAIL_BYTES = 8 * 1024 * 1024;

export async function* logs(
  context: Context,
  reference: string,
  request: LogsRequest = {},
): AsyncGenerator<Uint8Array> {
  const found = await resolveSession(context, reference);
  const { session } = found;
  const run = await runNamed(context, found, reference);
  const file = openLog(context, { session, run });
  if (file === 'none') {
    throw new ReeveError(
      'no_log',
      `Run ${run.id} of ${session.name} writes to its own terminal, so there is no log.`,
      {
        hint: 'Start it with --detach to have one.',
      },
    );
  }
  if (file === 'not_yet') return;
  try {
    const from = request.lines === undefined ? 0 : tailStart(file, request.lines);
    yield* request.follow === true ? follow(context, run, file, from, request.signal) : rest(file, from);
  } finally {
    closeSync(file);
  }
}

async function* follow(
  context: Context,
  run: Run,
  file: number,
  from: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<Buffer> {
  let position = from;
  let isOver = run.state === 'ended';
  for (let poll = 0; signal?.aborted !== true; poll += 1) {
    for (const chunk of rest(file, position)) {
      position += chunk.length;
      yield chunk;
    }
    // The end was seen before the last read, so nothing that was written before the end is missed.
    if (isOver) return;
    if (poll % LIVENESS_EVERY_POLLS === 0) isOver = await hasEnded(context, run);
    if (!isOver) await sleep(FOLLOW_POLL_MS);
  }
}

async function hasEnded(context: Context, run: Run): Promise<boolean> {
  const stored = await context.store.run(run.id);
  return stored === null || (await reconcileRun(context, stored)).run.state === 'ended';
}

function* rest(file: number, from: number): Generator<Buffer> {
  for (let position = from; ;) {
    const buffer = Buffer.alloc(CHUNK_BYTES);
    const bytesRead = readSync(file, buffer, 0, CHUNK_BYTES, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

function tailStart(file: number, lines: number): number {
  const { size } = fstatSync(file);
  if (lines === 0) return size;
  const from = Math.max(0, size - MAX_TAIL_BYTES);
  const buffer = Buffer.alloc(size - from);
  readSync(file, buffer, 0, buffer.length, from);
  // A newline at the very end closes the last line and begins no other.
  let index = buffer.length - 1;
  for (let left = lines; left > 0 && index > 0; left -= 1) index = buffer.lastIndexOf(10, index - 1);
  return index <= 0 ? from : from + index + 1;
}

/** Whether there is a log to follow. Throws when that is where it cannot be read from here. */
export async function hasLog(context: Context, reference: string): Promise<boolean> {
  const file = openLog(context, await resolveSession(context, reference));
  if (typeof file === 'number') closeSync(file);
  return file !== 'none';
}

/** That of another state directory of this machine is read where it may be; what is not here is said to be elsewhere. */
function openLog(context: Context, found: SessionWithRun): number | 'none' | 'not_yet' {
  const { logPath } = found.run;
  if (logPath === null) {
    requireHere(context, found, 'The terminal');
    return 'none';
  }
  try {
    return openSync(logPath, 'r');
  } catch (error) {
    requireHere(context, found, 'The log');
    // A run that ended before its keeper existed wrote nothing.
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (code === 'ENOENT') return 'not_yet';
    throw new ReeveError(
      'state_directory',
      `The log of ${found.session.name} cannot be read (${code}): ${logPath}`,
      {
        hint: 'Make it readable for this user, then try again.',
        cause: error,
      },
    );
  }
}
