/**
 * The files that keepers hold locked: outside of every state directory, so that who owns what outlives the loss of one.
 * Three a session (its name at this path, its name in this installation, and its id; of a shared store also its name
 * there), one a conversation, one an adopted process. Only a keeper locks and writes them (keeper.pl), and they are removed
 * while one holds them; here they are named and read. What is in a file is true for as long as the process that it names
 * lives.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { accessSync, constants, mkdirSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { ReeveError } from '../api/errors.ts';
import { parseAnnouncement } from '../lifecycle/announcement.ts';
import type { Announcement } from '../lifecycle/announcement.ts';
import type { ProcessFact, ProcessTable } from './process-table.ts';
import { isThere, readFile, readText } from './reading.ts';
import { userHome } from './user-home.ts';
import { wholePath } from './whole-path.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const NAME = 'reeve-owners';

/** The user's own, whatever the state directory. Made when it is not there. */
export function ownersDirectory(environment: Environment): string {
  const state = environment['XDG_STATE_HOME'];
  const wanted = join(
    state !== undefined && state.startsWith('/')
      ? wholePath('XDG_STATE_HOME', state)
      : join(userHome(environment), '.local', 'state'),
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
    const isMade = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
    if (!isMade) make(path);
    accessSync(path, constants.W_OK | constants.X_OK);
    // In a directory that everybody may write to, somebody else may have been faster.
    const { uid } = statSync(path);
    return uid === (process.getuid?.() ?? uid);
  } catch {
    return false;
  }
}

/** Its parents first, one by one: Node's own recursive mkdir never returns below /proc. */
function make(path: string): void {
  if (!isThere(dirname(path))) make(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
}

export function sessionFile(
  directory: string,
  { home, store }: Pick<Announcement, 'home' | 'store'>,
  name: string,
): string {
  return join(directory, `session-${digest(home, store, name)}`);
}

/** Of a store that state directories share, whichever of them asks. */
export function sharedFile(directory: string, { store }: Pick<Announcement, 'store'>, name: string): string {
  return join(directory, `session-${digest(store, name)}`);
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

/**
 * The same two once more, as names that the kernel keeps for a user of this machine: HOME and XDG_STATE_HOME lead to other
 * files, and the conversation, or the process, is the same. Linux has such names (keeper.pl), macOS has none.
 */
export function kernelName(...parts: readonly string[]): readonly string[] {
  return process.platform === 'linux' ? [`@reeve-${process.getuid?.()}-${digest(...parts)}`] : [];
}

export function isKernelName(path: string): boolean {
  return path.startsWith('@');
}

/** In a run's directory, what its keeper holds: for when the files are lost together with the store. */
export function copyIn(runDirectory: string): string {
  return join(runDirectory, 'announcement');
}

/** Of the runs whose directories are there and tell of no end. What cannot be read is left out, as below. */
export function announcementsInRuns(runs: string): readonly Announcement[] {
  return namesIn(runs).flatMap((id) => {
    const directory = join(runs, id);
    const copy = readText(copyIn(directory));
    const announcement = copy.is === 'read' ? parseAnnouncement(copy.value) : null;
    return announcement?.run.id !== id || isThere(join(directory, 'exit.json')) ? [] : [announcement];
  });
}

export function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
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

/**
 * Whether somebody holds it, by the kernel's word: also of a process that cannot be seen from here, in another pid namespace or
 * behind hidepid. Whoever is about to take the lock meanwhile tries again.
 */
export function isLocked(path: string): boolean {
  const script =
    'open my $f, "+<", $ARGV[0] or exit($!{ENOENT} ? 0 : 2); exit(flock($f, 2 | 4) ? 0 : $!{EWOULDBLOCK} ? 1 : 2)';
  const { status, error } = spawnSync('perl', ['-MErrno', '-e', script, path], { stdio: 'ignore' });
  if (status === 0 || status === 1) return status === 1;
  throw new ReeveError('unproven', `Whether somebody holds ${path} could not be asked.`, { cause: error });
}

/** The one of an adopted process too: it may be all that is left. */
const SESSION_FILE = /^(?:session|installed|id|process)-/;
const OWNER_FILE = /^(?:session|installed|id|conversation|process)-/;

/**
 * Everything that is written down in the directory, true or not any more; once for each file that a session has. One that
 * cannot be read is left out: whoever asks for its session reads that very file, and is refused.
 */
export function announcementsIn(directory: string): readonly Announcement[] {
  return readdirSync(directory)
    .filter((name) => SESSION_FILE.test(name))
    .flatMap((name) => {
      try {
        return readAnnouncement(join(directory, name)) ?? [];
      } catch {
        return [];
      }
    });
}

/** What stands in files of owners; or in the hands of the keepers that hold one of that name, in whatever place by now. */
export function announcementsOf(
  table: ProcessTable,
  directory: string,
  paths: readonly string[],
): readonly Announcement[] {
  const written = paths.map((path) => ({ path, announcement: readAnnouncement(path) }));
  const missing = written.flatMap(({ path, announcement }) =>
    announcement === null ? [basename(path)] : [],
  );
  if (missing.length === 0) return written.flatMap(({ announcement }) => announcement ?? []);
  const { announcements, doubt } = announcementsHeld(table, directory, missing);
  if (doubt !== null) throw doubt;
  return [...written.flatMap(({ announcement }) => announcement ?? []), ...announcements];
}

/**
 * The same from the hands of the living keepers, where the directory was removed or put aside under them. `doubt`: one of
 * them may not be looked into, and no file says what it holds.
 */
export function announcementsHeld(
  table: ProcessTable,
  directory: string,
  /** Only in files of these names. */
  files: readonly string[] | null = null,
): { readonly announcements: readonly Announcement[]; readonly doubt: ReeveError | null } {
  const announcements: Announcement[] = [];
  let doubt: ReeveError | null = null;
  for (const fact of table.all()) {
    const held = handsOf(fact, files);
    announcements.push(...held.announcements);
    if (held.failed !== null && writtenOf(directory, fact).length === 0)
      doubt ??= unreadKeeper(fact.pid, held.failed);
  }
  return { announcements, doubt };
}

/** Of one keeper; where it may not be looked into, what the files say that it holds. None of what is no keeper. */
export function announcementsHeldBy(fact: ProcessFact, directory: string): readonly Announcement[] {
  const { announcements, failed } = handsOf(fact, null);
  if (failed === null) return announcements;
  const written = writtenOf(directory, fact);
  if (written.length === 0) throw unreadKeeper(fact.pid, failed);
  return written;
}

function writtenOf(directory: string, { pid, startTime }: ProcessFact): readonly Announcement[] {
  return announcementsIn(directory).filter(
    ({ run: { keeper } }) => keeper.pid === pid && keeper.startTime === startTime,
  );
}

interface Hands {
  readonly announcements: readonly Announcement[];
  /** Why not all that it holds could be read. */
  readonly failed: unknown;
}

function handsOf(fact: ProcessFact, files: readonly string[] | null): Hands {
  const { pid, name, isZombie } = fact;
  if (isZombie || !name.startsWith('reeve-keeper')) return { announcements: [], failed: null };
  const announcements: Announcement[] = [];
  let failed: unknown = null;
  const attempt = (reads: () => void): void => {
    try {
      reads();
    } catch (error) {
      if (!isNoneOfOurs(pid, error)) failed ??= error;
    }
  };
  attempt(() => {
    for (const path of descriptorsOf(pid)) {
      attempt(() => {
        if (files?.includes(nameOf(path)) === false || !isSmallFile(path)) return;
        const announcement = parseAnnouncement(readFileSync(path, 'utf8'));
        if (announcement !== null) announcements.push(announcement);
        else if (OWNER_FILE.test(nameOf(path))) announcements.push(...copyOf(fact));
      });
    }
  });
  return { announcements, failed };
}

/** Where its file was emptied under it, or it is about to write: from the directory of its run, where it stays. */
function copyOf({ pid, startTime }: ProcessFact): readonly Announcement[] {
  const announcement = parseAnnouncement(readFileSync(copyIn(`/proc/${pid}/cwd`), 'utf8'));
  return announcement?.run.keeper.startTime === startTime ? [announcement] : [];
}

/**
 * Gone in between, or on its way out; or another user's, whose runs are not this one's to announce. A keeper of this user
 * may be closed to it as well, when it was started with other groups or capabilities. Any other failure says nothing.
 */
function isNoneOfOurs(pid: number, error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  if (code === 'ENOENT' || code === 'ESRCH') return true;
  return (code === 'EACCES' || code === 'EPERM') && (!isOfThisUser(pid) || isExiting(pid));
}

/** PF_EXITING of the kernel's flags, the ninth field of its stat. */
const EXITING = 4;

/** Between its last instruction and its being a zombie the kernel shows a process to root alone. */
function isExiting(pid: number): boolean {
  const stat = readText(`/proc/${pid}/stat`);
  if (stat.is !== 'read') return stat.is === 'absent';
  const [, , , , , , flags] = stat.value.slice(stat.value.lastIndexOf(')') + 2).split(' ');
  return (Number(flags) & EXITING) !== 0;
}

/** Whoever it acts as: that a process is closed to others hides its owner, but not this line. */
function isOfThisUser(pid: number): boolean {
  const status = readText(`/proc/${pid}/status`);
  const [, real] = status.is === 'read' ? (/^Uid:\s+(\d+)/m.exec(status.value) ?? []) : [];
  return real !== undefined && Number(real) === process.getuid?.();
}

function unreadKeeper(pid: number, cause: unknown): ReeveError {
  const message = `What the keeper ${pid} holds cannot be read, so who owns what is not known.`;
  const hint =
    'Nothing was done. Try again; if it stays so, with the groups and rights that the run was started with.';
  return new ReeveError('unproven', message, { hint, cause });
}

/** The kernel says so of a file that was removed. */
function nameOf(descriptor: string): string {
  return basename(readlinkSync(descriptor)).replace(/ \(deleted\)$/, '');
}

function descriptorsOf(pid: number): readonly string[] {
  return readdirSync(`/proc/${pid}/fd`).map((number) => `/proc/${pid}/fd/${number}`);
}

/** A log has any size, and a terminal or a pipe would be waited for. */
const MAX_ANNOUNCEMENT_BYTES = 4 * 1024 * 1024;

/** By whatever name it is there now. */
function isSmallFile(path: string): boolean {
  const status = statSync(path);
  return status.isFile() && status.size <= MAX_ANNOUNCEMENT_BYTES;
}
