/**
 * The one daemon of a state directory. Who it is stands in `daemon/daemon.json`; that it is the only one is the lock's
 * doing, which ends with the process. The record may be stale, so it is believed only of a process that is proven alive.
 */
import { chmodSync, existsSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { ReeveError } from '../api/errors.ts';
import type { ProcessIdentity } from '../lifecycle/process-identity.ts';
import { probe } from '../process/liveness.ts';
import { identify } from '../process/process-table.ts';
import { readText, unread } from '../process/reading.ts';
import { holdAlone } from '../store/sole-holder.ts';
import type { Machine } from './context.ts';
import type { Home } from './home.ts';
import { ownBuild } from './own-program.ts';

export interface DaemonPlace {
  readonly directory: string;
  readonly lock: string;
  readonly record: string;
  readonly socket: string;
  readonly token: string;
  /** The browsers that were signed in. */
  readonly browsers: string;
  readonly log: string;
  readonly notifications: string;
}

export interface DaemonRecord {
  readonly process: ProcessIdentity;
  readonly startedAtMs: number;
  readonly version: string;
  /** Which build of that version; a record of an earlier Reeve does not say. */
  readonly build?: string;
  /** Of the store, as that daemon knows it; a record of an earlier Reeve does not say. */
  readonly schema?: number;
  /** On the loopback; the socket is in the place itself. */
  readonly port: number;
  /** When it let go of its port; of one that was killed there is nothing. */
  readonly left?: { readonly boot: string; readonly atMs: number };
}

export function daemonPlace(home: Home): DaemonPlace {
  const directory = join(home.path, 'daemon');
  const file = (name: string) => join(directory, name);
  return {
    directory,
    lock: file('lock'),
    record: file('daemon.json'),
    socket: file('socket'),
    token: file('token'),
    browsers: file('browsers.json'),
    log: file('log'),
    notifications: file('notifications'),
  };
}

/** Its owner could have root's daemon start, read and write whatever he likes. */
export function requireOwn({ path }: Home): void {
  const uid = process.getuid?.();
  if (uid === undefined || statSync(path).uid === uid) return;
  throw new ReeveError('state_directory', `The state directory ${path} belongs to another user.`, {
    hint: 'Start the daemon as that user, or choose a state directory of your own with REEVE_HOME.',
  });
}

export function prepareDaemonPlace(home: Home): DaemonPlace {
  const place = daemonPlace(home);
  mkdirSync(place.directory, { recursive: true, mode: 0o700 });
  return place;
}

/** Throws when a daemon could not listen there, unless it is where the one listens that is to be replaced. */
export async function requirePort(machine: Machine, port: number): Promise<void> {
  if (lastDaemon(machine.home)?.port === port) return;
  const { createServer } = await import('node:net');
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(portRefused(port, error)));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve()));
  });
}

const PORT_REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program listens there',
  EACCES: 'this user may not listen there',
};

export function portRefused(port: number, error: unknown): ReeveError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'an unknown error';
  return new ReeveError(
    'failed',
    `Port ${port} of the loopback cannot be had: ${PORT_REASONS[code] ?? code}.`,
    {
      hint: 'Choose another with --port, or leave it out.',
      cause: error,
    },
  );
}

/** Whoever only looks whether the lock is held has it for a moment; a daemon keeps it. */
const LOOK_MS = 500;

/** Null while another one is there. */
export function becomeDaemon(home: Home): (() => void) | null {
  return holdAlone(prepareDaemonPlace(home).lock, LOOK_MS);
}

/**
 * Whether anybody acts as the daemon. One that has let go of the lock does nothing any more, although its process may be
 * there for as long as somebody waits for that.
 */
export function isServed(home: Home, waitMs: number): boolean {
  const { lock } = daemonPlace(home);
  if (!existsSync(lock)) return false;
  const release = holdAlone(lock, waitMs);
  release?.();
  return release === null;
}

/** Only by the one that holds the lock. */
export function recordDaemon(machine: Machine, port: number): DaemonRecord {
  return write(machine.home, {
    process: identify(machine.table, process.pid),
    startedAtMs: Date.now(),
    ...ownBuild(),
    port,
  });
}

function write(home: Home, written: DaemonRecord): DaemonRecord {
  const { record } = daemonPlace(home);
  writeFileSync(`${record}.new`, `${JSON.stringify(written)}\n`, { mode: 0o600 });
  renameSync(`${record}.new`, record);
  return written;
}

/** Before the port is free for anybody. */
export function noteLeaving(machine: Machine): void {
  const own = lastDaemon(machine.home);
  const atMs = machine.table.awakeMs();
  if (own !== null && atMs !== null)
    write(machine.home, { ...own, left: { boot: machine.table.host.boot, atMs } });
}

/** A successor is there within a second; on a machine that is very busy it takes several. */
const TAKEN_OVER_WITHIN_MS = 10_000;

/**
 * Whether this daemon has followed that one within seconds, on the same port. Otherwise anybody may have listened there
 * meanwhile, and may have been shown what opens a page.
 */
export function hasTakenOver({ table }: Machine, before: DaemonRecord | null, port: number): boolean {
  const [left, nowMs] = [before?.left, table.awakeMs()];
  if (left === undefined || nowMs === null || before?.port !== port) return false;
  return left.boot === table.host.boot && nowMs - left.atMs < TAKEN_OVER_WITHIN_MS;
}

/** The record stays: of a process that is gone it says nothing but where the next one may be found again. */
export function leaveDaemonPlace(home: Home): void {
  rmSync(daemonPlace(home).socket, { force: true });
}

/** The record of whoever was there last, alive or not. Throws when it could not be read: that is not "none". */
export function lastDaemon(home: Home): DaemonRecord | null {
  const reading = readText(daemonPlace(home).record);
  if (reading.is === 'failed') throw unread(reading);
  if (reading.is === 'absent') return null;
  try {
    // Written by `recordDaemon`, whole or not at all; of anything else nothing is believed.
    const record = JSON.parse(reading.value) as Partial<DaemonRecord> | null;
    const isWhole = typeof record?.process?.pid === 'number' && typeof record.port === 'number';
    return isWhole ? (record as DaemonRecord) : null;
  } catch {
    return null;
  }
}

export type DaemonSeen =
  | { readonly is: 'running'; readonly record: DaemonRecord }
  | { readonly is: 'none' }
  | { readonly is: 'unknown'; readonly record: DaemonRecord; readonly because: string };

export function findDaemon(machine: Machine): DaemonSeen {
  const record = lastDaemon(machine.home);
  if (record === null) return { is: 'none' };
  const liveness = probe(machine.table, record.process);
  if (liveness.is === 'alive') return { is: 'running', record };
  return liveness.is === 'dead' ? { is: 'none' } : { is: 'unknown', record, because: liveness.because };
}

/**
 * It would go on by rules that are not in force any more, and end what should live. A daemon opens the store before it
 * takes the lock, so whoever holds that while the store is still to be upgraded is an older one, on record or not yet.
 */
export function refuseBesideOlderDaemon(machine: Machine): void {
  if (!isServed(machine.home, LOOK_MS)) return;
  const seen = findDaemon(machine);
  const who = seen.is === 'none' ? '' : `: pid ${seen.record.process.pid}, version ${seen.record.version}`;
  throw new ReeveError(
    'daemon_older',
    `The store has to be upgraded, but a daemon of an older Reeve still uses it${who}.`,
    { hint: 'Put this one in its place: reeve serve --replace --detach    Or end it: reeve serve stop' },
  );
}

export interface DaemonSummary {
  readonly pid: number;
  readonly version: string;
  /** Null of one that is older than builds are told apart. */
  readonly build: string | null;
  readonly schema: number | null;
  readonly since: string;
  readonly url: string;
}

export function summarise(record: DaemonRecord): DaemonSummary {
  const { process: identity, version, build = null, schema = null, startedAtMs, port } = record;
  const since = new Date(startedAtMs).toISOString();
  return { pid: identity.pid, version, build, schema, since, url: `http://127.0.0.1:${port}` };
}

export function alreadyServed(record: DaemonRecord): ReeveError {
  const { pid, version, since } = summarise(record);
  return new ReeveError(
    'daemon_running',
    `A daemon serves this state directory already: pid ${pid}, version ${version}, since ${since}.`,
    {
      hint: 'Look: reeve serve status    End it: reeve serve stop    Put this one in its place: add --replace',
      details: { ...summarise(record) },
    },
  );
}

/** What a request over the loopback must carry. Kept from one daemon to the next; this user's alone. */
export function daemonToken(home: Home): string {
  const { token } = daemonPlace(home);
  const known = readToken(token);
  if (known !== null) return known;
  const made = randomBytes(32).toString('base64url');
  writeFileSync(`${token}.new`, `${made}\n`, { mode: 0o600 });
  renameSync(`${token}.new`, token);
  return made;
}

const TOKEN_SHAPE = /^[\w-]{43}$/;

/** Null when there is none, or none that could be one: then it is made anew, which turns away everybody who has it. */
function readToken(path: string): string | null {
  const reading = readText(path);
  if (reading.is === 'failed') throw unread(reading);
  const text = reading.is === 'read' ? reading.value.trim() : '';
  if (!TOKEN_SHAPE.test(text)) return null;
  chmodSync(path, 0o600);
  return text;
}
