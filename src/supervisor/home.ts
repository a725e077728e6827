/** Where a machine's state lives. */
import { accessSync, chmodSync, constants, existsSync, readdirSync, statSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { ReeveError } from '../api/errors.ts';
import { makeDirectory } from '../harness/make-directory.ts';
import { userHome } from '../process/user-home.ts';
import { wholePath } from '../process/whole-path.ts';

export interface Home {
  readonly path: string;
  readonly database: string;
  /** Its identity: see installation.ts. */
  readonly installation: string;
  readonly runs: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

export function homeAt(path: string): Home {
  const place = isAbsolute(path) ? path : fromHere(path);
  return {
    path: place,
    database: join(place, 'reeve.db'),
    installation: join(place, 'installation.json'),
    runs: join(place, 'runs'),
  };
}

function fromHere(path: string): string {
  try {
    return resolve(path);
  } catch (error) {
    throw new ReeveError(
      'state_directory',
      `${path} leads nowhere: the directory this was called in is gone.`,
      {
        hint: 'Give it as an absolute path.',
        cause: error,
      },
    );
  }
}

export function homeFrom(environment: Environment): Home {
  const { REEVE_HOME: chosen = '', XDG_STATE_HOME: state = '' } = environment;
  // Also with a state directory of its own: who owns what is kept there in any case.
  const given = state === '' ? null : absolute('XDG_STATE_HOME', state);
  if (chosen !== '') return homeAt(absolute('REEVE_HOME', chosen));
  const base = given ?? join(userHome(environment), '.local', 'state');
  return homeAt(join(base, 'reeve'));
}

/** From every directory it would be another one, and a session would have an owner in each. */
function absolute(variable: string, path: string): string {
  if (isAbsolute(path)) return wholePath(variable, path);
  throw new ReeveError('usage', `${variable} is ${JSON.stringify(path)}, a relative path.`, {
    hint: 'Give the state directory as an absolute path.',
  });
}

/** Creates it for this user alone. One that others may enter is closed to them, unless it is not only Reeve's. */
export function prepareHome(home: Home): void {
  try {
    const isOpenToOthers = (statSync(home.path, { throwIfNoEntry: false })?.mode ?? 0) & 0o077;
    if (isOpenToOthers !== 0) {
      if (!isOurs(home)) throw new Error('others may enter it, and it holds files that are not Reeve’s');
      closeToOthers(home.path);
    }
    makeDirectory(home.runs, 0o700);
    accessSync(home.path, constants.W_OK | constants.X_OK);
    accessSync(home.runs, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new ReeveError(
      'state_directory',
      `The state directory ${home.path} cannot be used: ${partOf(home, error)}${reasonOf(error)}.`,
      {
        hint: 'Choose a directory of your own, with REEVE_HOME.',
        cause: error,
      },
    );
  }
}

/** Which file in it: one that root made there, say. */
function partOf(home: Home, error: unknown): string {
  const path = error instanceof Error && 'path' in error ? error.path : home.path;
  return typeof path === 'string' && path !== home.path ? `${path}: ` : '';
}

/** Only its owner may do that, whoever else may write to it; and its owner could always open it again. */
function closeToOthers(path: string): void {
  try {
    chmodSync(path, 0o700);
  } catch (error) {
    if (statSync(path).uid === process.getuid?.()) throw error;
    throw new Error('it belongs to another user', { cause: error });
  }
}

function isOurs(home: Home): boolean {
  return [home.database, home.installation].some(existsSync) || readdirSync(home.path).length === 0;
}

const REASONS: Readonly<Record<string, string>> = {
  EEXIST: 'a file is in its place',
  ENOTDIR: 'a file is in its place',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ENOENT: 'nothing can be created there',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EMFILE: 'too many files are open',
  ENFILE: 'too many files are open',
};

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return REASONS[code] ?? (error instanceof Error ? error.message : String(error));
}
