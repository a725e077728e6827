/** Takes in what runs left in their spools; see spooled-write.ts. Each is fenced as if its run had written it now. */
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { ReeveError } from '../api/errors.ts';
import type { ErrorCode } from '../api/errors.ts';
import type { Run } from '../lifecycle/run.ts';
import { checkpoint } from '../process/checkpoint.ts';
import { TakenElsewhere } from '../store/taken-elsewhere.ts';
import type { Context } from './context.ts';
import { lateSpoolIn, spoolIn } from './spool.ts';
import { CLOSED, MAX_WRITE_BYTES, parseWrite, REFUSED, UNFINISHED, WRITE } from './spooled-write.ts';
import type { SpooledWrite } from './spooled-write.ts';

/** A look must end, however much was left while nobody looked; the next one goes on. */
const MAX_A_LOOK = 500;
/** A writer takes milliseconds; one that has not finished by now was killed. */
const UNFINISHED_LIMIT_MS = 3_600_000;
/** Of what was refused, to be looked at by a person. */
const MAX_REFUSED_KEPT = 20;

/** What cannot be read now is left to the next look: a failed read says nothing. */
export async function takeWrites(context: Context, run: Run): Promise<void> {
  const { files } = filesIn(spoolIn(context.home, run.id));
  for (const path of files.slice(0, MAX_A_LOOK)) await takeFile(context, path, run);
}

/** Of all runs, or of one. */
export async function takeLateWrites(context: Context, of?: string): Promise<string | null> {
  const { files, problem } = filesIn(lateSpoolIn(context.home));
  let unread = problem;
  for (const path of files.slice(0, MAX_A_LOOK)) {
    const runId = /^\.write-(r-[a-z0-9]+)-/.exec(basename(path))?.[1] ?? '';
    if (of !== undefined && of !== runId) continue;
    const run = await context.store.run(runId);
    if (run !== null) unread = (await takeFile(context, path, run)) ?? unread;
    // It may be a run of another store that shares the directory; of one that is forgotten nothing is left to belong to.
    else if (!existsSync(join(context.home.runs, runId))) rmSync(path, { force: true });
  }
  return unread;
}

/**
 * For whoever is about to end the run, when nothing of it is alive any more: all that it left counts as its own. Why it
 * cannot be ended yet; null when all is taken in.
 */
export async function takeLastWrites(context: Context, run: Run): Promise<string | null> {
  const spool = spoolIn(context.home, run.id);
  close(spool);
  await checkpoint('writes.closed');
  const { files, problem } = filesIn(spool);
  let unread = problem;
  for (const path of files) unread = (await takeFile(context, path, run)) ?? unread;
  unread = (await takeLateWrites(context, run.id)) ?? unread;
  return unread === null ? null : `what it wrote could not be taken in: ${unread}`;
}

/** Where that fails, the disk is full or the directory is gone, and then nothing is left there either. */
function close(spool: string): void {
  try {
    writeFileSync(join(spool, CLOSED), '', { mode: 0o600 });
  } catch {
    // A late write stays there until its session is looked at.
  }
}

/** Why it could not be read, when it could not. */
async function takeFile(context: Context, path: string, run: Run): Promise<string | null> {
  const read = readWrite(path);
  if (read.is === 'gone') return null;
  if (read.is === 'unread') return read.because;
  await checkpoint('writes.read');
  const { write } = read;
  try {
    if (write?.run !== run.id) throw new ReeveError('usage', 'It is no write of this run.');
    await apply(context, write, () => existsSync(path));
  } catch (error) {
    // Somebody else was faster.
    if (error instanceof TakenElsewhere) return null;
    if (!isRefusal(error)) throw error;
    // What the fence refused is on record by its own doing.
    if (error.code !== 'fenced') return refuse(context, path, run, write, error);
  }
  await checkpoint('writes.taken');
  rmSync(path, { force: true });
  return null;
}

async function apply(
  context: Context,
  { run, token, what }: SpooledWrite,
  isStillLeft: () => boolean,
): Promise<void> {
  const holder = { run, token, isStillLeft };
  // Loaded where there is something to take in, which is hardly ever.
  switch (what.write) {
    case 'heartbeat':
      await (await import('./heartbeat.ts')).heartbeat(context, holder);
      return;
    case 'submission':
      await (await import('./submit.ts')).submit(context, what, holder);
      return;
    case 'usage': {
      const { model, key, tokens } = what;
      await (await import('./add-usage.ts')).addUsage(context, { ...tokens, model, key }, holder);
      return;
    }
    case 'review': {
      const { recordReview } = await import('./review-submit.ts');
      const { reviewNamed } = await import('./review-list.ts');
      const { review } = await reviewNamed(context, what.review);
      await recordReview(context, review.id, what, holder);
    }
  }
}

const REFUSALS: ReadonlySet<ErrorCode> = new Set([
  'fenced',
  'conflict',
  'too_large',
  'usage',
  'not_found',
  'ambiguous',
]);

function isRefusal(error: unknown): error is ReeveError {
  return error instanceof ReeveError && REFUSALS.has(error.code);
}

/** The one who wrote it is gone and hears nothing: it is told in the session's story, and the text stays on the disk. */
async function refuse(
  context: Context,
  path: string,
  run: Run,
  write: SpooledWrite | null,
  error: ReeveError,
): Promise<null> {
  const what = write?.what.write ?? 'write';
  const data = { write: what, because: error.message, kept: dirname(path) };
  const event = { sessionId: run.sessionId, runId: run.id, kind: 'write.refused', actor: `run ${run.id}` };
  await context.store.note({ ...event, data }, 'once');
  await checkpoint('writes.refused');
  const kept = readdirSync(dirname(path)).filter((name) => name.startsWith(REFUSED)).length;
  if (kept >= MAX_REFUSED_KEPT) rmSync(path, { force: true, recursive: true });
  else renameIfThere(path, join(dirname(path), basename(path).replace(WRITE, REFUSED)));
  return null;
}

function renameIfThere(path: string, to: string): void {
  try {
    renameSync(path, to);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}

/** The oldest first. */
function filesIn(spool: string): { files: readonly string[]; problem: string | null } {
  try {
    const found = readdirSync(spool).flatMap((name) => {
      if (!name.startsWith(WRITE) && !name.startsWith(UNFINISHED)) return [];
      const path = join(spool, name);
      const status = lstatSync(path, { bigint: true, throwIfNoEntry: false });
      if (status === undefined) return [];
      const atNs = status.mtimeNs;
      if (name.startsWith(WRITE)) return [{ path, atNs }];
      if (Date.now() - Number(atNs / 1_000_000n) > UNFINISHED_LIMIT_MS) rmSync(path, { force: true });
      return [];
    });
    const files = found.toSorted((a, b) => Number(a.atNs - b.atNs)).map(({ path }) => path);
    return { files, problem: null };
  } catch (error) {
    const code = codeOf(error);
    return { files: [], problem: code === 'ENOENT' ? null : `reading ${spool} gave ${code}` };
  }
}

type Reading =
  | { readonly is: 'read'; readonly write: SpooledWrite | null }
  | { readonly is: 'gone' }
  | { readonly is: 'unread'; readonly because: string };

function readWrite(path: string): Reading {
  try {
    // To open a pipe may take for ever, and a link may lead anywhere.
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    try {
      const status = fstatSync(file);
      if (!status.isFile() || status.size > MAX_WRITE_BYTES) return { is: 'read', write: null };
      return { is: 'read', write: parseWrite(readFileSync(file, 'utf8')) };
    } finally {
      closeSync(file);
    }
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT') return { is: 'gone' };
    if (code === 'ELOOP') return { is: 'read', write: null };
    return { is: 'unread', because: `reading ${path} gave ${code}` };
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
