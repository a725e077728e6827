/**
 * The files that keepers hold locked: outside of every state directory, so that who owns what outlives the loss of one.
 * Three a session (its name at this path, its name in this installation, and its id), one a conversation, one an adopted process. Only a keeper locks and writes
 * them (keeper.pl), and they are removed while one holds them; here they are named and read. What is in a file is true for
 * as long as the process that it names lives.
 */
import { createHash } from 'node:crypto';
import { accessSync, constants, mkdirSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { ReeveError } from '../api/errors.ts';
import { parseAnnouncement } from '../lifecycle/announcement.ts';
import type { Announcement } from '../lifecycle/announcement.ts';
import type { ProcessFact, ProcessTable } from './process-table.ts';
import { readFile } from './reading.ts';
import { userHome } from './user-home.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const NAME = 'reeve-owners';

/** The user's own, whatever the state directory. Made when it is not there. */
export function ownersDirectory(environment: Environment): string {
  const state = environment['XDG_STATE_HOME'];
  const wanted = join(
    state !== undefined && state.startsWith('/') ? state : join(userHome(environment), '.local', 'state'),
    NAME,
  );
  if (isUsable(wanted)) return wanted;
  // A user without a home, as services have it, is the same user all the same. But a directory of the user's own that
  // cannot be used may say who owns what, and nothing goes on beside it.
  const instead = isOwn(wanted) ? [] : [`/tmp/${NAME}-${process.getuid?.() ?? 'user'}`];
  const usable = instead.find(isUsable);
  if (usable !== undefined) return usable;
  const places = [wanted, ...instead];
  throw new ReeveError('state_directory', `${places.join(' and ')} cannot be written to.`, {
    hint: 'Reeve keeps there who owns which session. Set XDG_STATE_HOME to a directory that you may write to.',
  });
}

/** One that this user may not even see is somebody else's. */
function isOwn(path: string): boolean {
  try {
    return statSync(path).uid === process.getuid?.();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : '';
    return code !== 'ENOENT' && code !== 'EACCES';
  }
}

function isUsable(path: string): boolean {
  try {
    const isThere = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
    if (!isThere) mkdirSync(path, { recursive: true, mode: 0o700 });
    accessSync(path, constants.W_OK | constants.X_OK);
    // In a directory that everybody may write to, somebody else may have been faster.
    const { uid } = statSync(path);
    return uid === (process.getuid?.() ?? uid);
  } catch {
    return false;
  }
}

export function sessionFile(
  directory: string,
  { home, store }: Pick<Announcement, 'home' | 'store'>,
  name: string,
): string {
  return join(directory, `session-${digest(home, store, name)}`);
}

/** The same wherever the state directory is moved, or copied to: its identity goes along. */
export function installedFile(
  directory: string,
  { installation, store }: { readonly installation: string; readonly store: string },
  name: string,
): string {
  return join(directory, `installed-${digest(installation, store, name)}`);
}

/** By its id, which a copy of the store in another state directory has too. */
export function sessionIdFile(directory: string, id: string): string {
  return join(directory, `id-${digest(id)}`);
}

/** Of a conversation there is one, whichever state directory or store asks for it. */
export function conversationFile(directory: string, harness: string, nativeId: string): string {
  return join(directory, `conversation-${harness}-${digest(nativeId)}`);
}

/** By pid and start time, which mean something within one boot. */
export function processFile(directory: string, boot: string, process: readonly string[]): string {
  return join(directory, `process-${digest(boot, ...process)}`);
}

/** What this host has seen of a store. */
export function seenFile(directory: string, { home, store }: Pick<Announcement, 'home' | 'store'>): string {
  return join(directory, `store-${digest(home, store)}.json`);
}

function digest(...parts: readonly string[]): string {
  return createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, 32);
}

/** Null when there is none. A file that cannot be read throws: that is not the same as none. */
export function readAnnouncement(path: string): Announcement | null {
  try {
    return parseAnnouncement(readFile(path));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw new ReeveError('unproven', `${path} cannot be read, so who owns the session is not known.`, {
      hint: 'Make it readable for this user, then try again.',
      cause: error,
    });
  }
}

/** Everything that is written down in the directory, true or not any more. */
export function announcementsIn(directory: string): readonly Announcement[] {
  return readdirSync(directory)
    .filter((name) => name.startsWith('session-'))
    .flatMap((name) => readAnnouncement(join(directory, name)) ?? []);
}

/** The same from the hands of the living keepers, where the directory was removed or put aside under them. */
export function announcementsHeld(table: ProcessTable): readonly Announcement[] {
  return table.all().flatMap((fact) => announcementsHeldBy(fact));
}

/** What stands in files of owners; or in the hands of the keepers that hold one of that name, in whatever place by now. */
export function announcementsOf(table: ProcessTable, paths: readonly string[]): readonly Announcement[] {
  const written = paths.map((path) => ({ path, announcement: readAnnouncement(path) }));
  const missing = written.flatMap(({ path, announcement }) =>
    announcement === null ? [basename(path)] : [],
  );
  return [
    ...written.flatMap(({ announcement }) => announcement ?? []),
    ...(missing.length === 0 ? [] : table.all().flatMap((fact) => announcementsHeldBy(fact, missing))),
  ];
}

/** None of what is no keeper. */
export function announcementsHeldBy(
  { pid, name, isZombie }: ProcessFact,
  /** Only in files of these names. */
  files: readonly string[] | null = null,
): readonly Announcement[] {
  if (isZombie || !name.startsWith('reeve-keeper')) return [];
  return descriptorsOf(pid).flatMap((path) => {
    try {
      if (files?.includes(nameOf(path)) === false || !isSmallFile(path)) return [];
      return parseAnnouncement(readFileSync(path, 'utf8')) ?? [];
    } catch (error) {
      return noneOf(pid, error);
    }
  });
}

const WITHHELD = new Set<unknown>(['ENOENT', 'ESRCH', 'EACCES', 'EPERM']);

/** Gone in between, or another user's, whose runs are not this one's to announce. Any other failure says nothing. */
function noneOf(pid: number, error: unknown): readonly never[] {
  if (error instanceof Error && 'code' in error && WITHHELD.has(error.code)) return [];
  throw new ReeveError(
    'unproven',
    `What the keeper ${pid} holds cannot be read, so who owns what is not known.`,
    {
      hint: 'Nothing was done. Try again.',
      cause: error,
    },
  );
}

/** The kernel says so of a file that was removed. */
function nameOf(descriptor: string): string {
  return basename(readlinkSync(descriptor)).replace(/ \(deleted\)$/, '');
}

function descriptorsOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).map((number) => `/proc/${pid}/fd/${number}`);
  } catch (error) {
    return noneOf(pid, error);
  }
}

/** A log has any size, and a terminal or a pipe would be waited for. */
const MAX_ANNOUNCEMENT_BYTES = 4 * 1024 * 1024;

/** By whatever name it is there now. */
function isSmallFile(path: string): boolean {
  const status = statSync(path);
  return status.isFile() && status.size <= MAX_ANNOUNCEMENT_BYTES;
}
