/** Where the configuration is. */
import { lstatSync, statSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { ReeveError } from '../api/errors.ts';
import { userHome } from '../process/user-home.ts';
import { wholePath } from '../process/whole-path.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export function configPath(environment: Environment): string {
  const { REEVE_CONFIG: named, XDG_CONFIG_HOME: base } = environment;
  if (isNamed(environment)) return resolve(wholePath('REEVE_CONFIG', named ?? ''));
  if (base !== undefined && base !== '') {
    // From every directory it would be another one; and beside it the limits in it would be left out without a word.
    if (isAbsolute(base)) return join(wholePath('XDG_CONFIG_HOME', base), 'reeve', 'config.toml');
    throw new ReeveError('bad_config', `XDG_CONFIG_HOME is ${JSON.stringify(base)}, a relative path.`, {
      hint: 'Give the directory of configurations as an absolute path, or leave it unset.',
      details: { file: null, key: null },
    });
  }
  return join(userHome(environment), '.config', 'reeve', 'config.toml');
}

export function isNamed({ REEVE_CONFIG: named }: Environment): boolean {
  return named !== undefined && named !== '';
}

/**
 * Why a file that cannot be found is not simply none: whoever left a link that leads nowhere, or a file where its directory
 * would be, has meant something. Null when nobody has.
 */
export function whyNotFound(file: string): string | null {
  // What is not there at all is passed over, up to what is.
  for (let path = file; ; path = dirname(path)) {
    if (lookAt(lstatSync, path) === undefined && path !== dirname(path)) continue;
    const target = lookAt(statSync, path);
    if (target === undefined)
      return path === file ? 'it is a link to what is not there' : `${path} is a link to what is not there`;
    return path === file || target.isDirectory() ? null : `${path} is not a directory`;
  }
}

function lookAt(look: typeof lstatSync, path: string): Stats | undefined {
  try {
    return look(path);
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR'))
      return undefined;
    throw error;
  }
}
