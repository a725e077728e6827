/** Leaves a write in the run's spool; see spooled-write.ts. */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { ReeveError } from '../api/errors.ts';
import { MAX_ACCEPTED_A_RUN, MAX_ACCEPTED_BYTES_A_RUN } from '../lifecycle/submission.ts';
import { checkpoint } from '../process/checkpoint.ts';
import type { Home } from './home.ts';
import { lateSpoolIn, spoolIn } from './spool.ts';
import { CLOSED, UNFINISHED, WRITE, writeName } from './spooled-write.ts';
import type { SpooledWrite } from './spooled-write.ts';
import { storeWithheld } from './withheld.ts';

/** False when the run has no spool: it is forgotten, or of another state directory. */
export async function leaveWrite(home: Home, left: SpooledWrite): Promise<boolean> {
  const spool = spoolIn(home, left.run);
  if (!existsSync(spool)) return false;
  const name = writeName(left.what);
  const text = JSON.stringify(left);
  requireRoom(spool, name, Buffer.byteLength(text));
  try {
    putWhole(spool, name, text);
    await checkpoint('writes.left');
    if (existsSync(join(spool, CLOSED))) moveToLate(home, left.run, name);
    return true;
  } catch (error) {
    throw explained(error);
  }
}

/** A program that writes in a loop must not fill the disk: no more than a run may submit. */
function requireRoom(spool: string, name: string, bytes: number): void {
  const others = readdirSync(spool).filter((each) => each.startsWith(WRITE) && each !== name);
  const held = others.reduce(
    (sum, each) => sum + (lstatSync(join(spool, each), { throwIfNoEntry: false })?.size ?? 0),
    bytes,
  );
  if (others.length < MAX_ACCEPTED_A_RUN && held <= MAX_ACCEPTED_BYTES_A_RUN) return;
  throw new ReeveError(
    'too_large',
    'The run has left as much as it may, and nobody has taken any of it in yet.',
    { hint: 'Nothing was left. A look from outside takes it in: reeve ls' },
  );
}

function putWhole(spool: string, name: string, text: string): void {
  const path = join(spool, `${UNFINISHED}${process.pid}-${randomBytes(6).toString('hex')}`);
  try {
    const file = openSync(path, 'wx', 0o600);
    try {
      writeFileSync(file, text);
      // The answer says that it is left, so it is on the disk before it is given.
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(path, join(spool, name));
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  }
}

function moveToLate(home: Home, runId: string, name: string): void {
  const late = lateSpoolIn(home);
  mkdirSync(late, { recursive: true, mode: 0o700 });
  const to = join(late, name.replace(WRITE, `${WRITE}${runId}-`));
  try {
    renameSync(join(spoolIn(home, runId), name), to);
  } catch (error) {
    // Whoever closed the spool has taken it in.
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}

function explained(error: unknown): unknown {
  const code = codeOf(error);
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new ReeveError('store_full', 'The disk is full; nothing was left.', {
      hint: 'Free some space and try again.',
      cause: error,
    });
  }
  if (code === undefined) return error;
  return storeWithheld(
    `it must be left in the run’s directory, which failed (${code})`,
    'Nothing was left. The daemon needs no such directory: reeve serve --detach, from outside.',
  );
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}
