/**
 * A settings file that belongs to somebody else. It is read whole, and replaced whole: a temporary file beside it, made
 * durable, then renamed, with mode and owner kept. A link is followed, never replaced. Before the first change ever, the
 * file is kept as `<name>.reeve-backup`, which nothing overwrites.
 */
import {
  closeSync,
  existsSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import type { Stats } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { makeDirectory } from '../make-directory.ts';
import { badSettings } from './bad-settings.ts';

/** Settings people write are a few kilobytes; what is larger than this is something else. */
const MAX_BYTES = 8 * 1024 * 1024;
/** As many links as the kernel itself follows. */
const MAX_LINKS = 40;
const BOM = '\uFEFF';

export interface SettingsFile {
  readonly path: string;
  /** Null when there is no such file. */
  readonly text: string | null;
  readonly bytes: Buffer | null;
}

export interface Edit {
  readonly file: SettingsFile;
  /** Null when the file shall be gone. */
  readonly text: string | null;
  /** The state from before Reeve is kept by the first change and by no later one. */
  readonly occasion: 'first-change' | 'later-change';
}

export interface FileChange {
  readonly path: string;
  readonly is: 'created' | 'changed' | 'removed';
  /** Where the file from before is kept, if this change made that copy. */
  readonly backup: string | null;
}

export function hasBackup({ path }: SettingsFile): boolean {
  return existsSync(backupPath(path));
}

export function readSettings(path: string): SettingsFile {
  const bytes = attempt(`${path} cannot be read`, () => {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return null;
    if (!stats.isFile())
      throw badSettings(
        `${path} is not a file, so hooks cannot be kept in it.`,
        'Move it away, then try again.',
      );
    if (stats.size > MAX_BYTES)
      throw badSettings(`${path} is too large to be a settings file.`, 'Move it away, then try again.');
    return readFileSync(path);
  });
  if (bytes === null) return { path, text: null, bytes };
  try {
    return { path, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes), bytes };
  } catch (error) {
    throw badSettings(
      `${path} is not UTF-8 text, so hooks cannot be put into it.`,
      'Repair it, then try again.',
      error,
    );
  }
}

/** `text` null removes the file. Null is returned when there was nothing to change. */
export function writeSettings({ file, text, occasion }: Edit): FileChange | null {
  if (text === file.text) return null;
  return attempt(`${file.path} cannot be changed`, () => {
    const real = realPath(file.path);
    if (text !== null) makeDirectory(dirname(real));
    const backup = occasion === 'first-change' ? keepBackup(file) : null;
    const hadMark = file.bytes?.subarray(0, 3).toString('utf8') === BOM;
    if (text === null) {
      refuseIfChanged(file);
      rmSync(real);
      return { path: file.path, is: 'removed', backup };
    }
    replace(real, Buffer.from((hadMark ? BOM : '') + text), statSync(real, { throwIfNoEntry: false }), () =>
      refuseIfChanged(file),
    );
    return { path: file.path, is: file.bytes === null ? 'created' : 'changed', backup };
  });
}

export function backupPath(path: string): string {
  return `${path}.reeve-backup`;
}

function replace(real: string, bytes: Buffer, like: Stats | undefined, beforeRename: () => void): void {
  const temporary = writeTemporary(real, bytes, like);
  try {
    beforeRename();
    renameSync(temporary, real);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  syncDirectory(dirname(real));
}

/** By a link, which fails if the backup is there, and so never leaves half of one. */
function keepBackup({ path, bytes }: SettingsFile): string | null {
  const backup = backupPath(path);
  if (bytes === null || existsSync(backup)) return null;
  const temporary = writeTemporary(backup, bytes, statSync(path, { throwIfNoEntry: false }));
  try {
    linkSync(temporary, backup);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    return null;
  } finally {
    rmSync(temporary, { force: true });
  }
  return backup;
}

function writeTemporary(beside: string, bytes: Buffer, like: Stats | undefined): string {
  const temporary = `${beside}.${process.pid}.reeve-new`;
  rmSync(temporary, { force: true });
  // Nobody else may read it before it has the mode of what it replaces.
  const descriptor = openSync(temporary, 'wx', like === undefined ? 0o644 : 0o600);
  try {
    writeFileSync(descriptor, bytes);
    if (like !== undefined) {
      if (like.uid !== process.getuid?.() || like.gid !== process.getgid?.())
        fchownSync(descriptor, like.uid, like.gid);
      fchmodSync(descriptor, like.mode & 0o7777);
    }
    fsyncSync(descriptor);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
  return temporary;
}

/** Harnesses write these files too; what one wrote since must not be lost. */
function refuseIfChanged({ path, bytes }: SettingsFile): void {
  const now = existsSync(path) ? readFileSync(path) : null;
  if (bytes === null ? now === null : now !== null && bytes.equals(now)) return;
  throw badSettings(`${path} was changed by something else just now, so it was left alone.`, 'Try again.');
}

/** Where a write must go, even if the last link leads nowhere yet. */
function realPath(path: string): string {
  let current = path;
  for (let links = 0; links < MAX_LINKS; links += 1) {
    if (existsSync(current)) return realpathSync(current);
    let next: string;
    try {
      next = readlinkSync(current);
    } catch {
      return current;
    }
    current = resolve(dirname(current), next);
  }
  return current;
}

function syncDirectory(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function attempt<T>(what: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    const code = codeOf(error);
    if (code === null) throw error;
    throw badSettings(
      `${what}: ${REASONS[code] ?? code}.`,
      'Check its permissions and those of its directory, then try again.',
      error,
    );
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission is denied',
  ENOENT: 'nothing can be created there',
  EPERM: 'permission is denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of its path is not a directory',
  EEXIST: 'a part of its path is not a directory',
  ELOOP: 'its links go round in a circle',
};

/** The system's word for what failed; null when it was not the system that refused. */
function codeOf(error: unknown): string | null {
  return error instanceof Error && 'syscall' in error && 'code' in error ? String(error.code) : null;
}
