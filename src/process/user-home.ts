import { userInfo } from 'node:os';
import { isAbsolute } from 'node:path';
import { ReeveError } from '../api/errors.ts';
import { wholePath } from './whole-path.ts';

/**
 * The home directory of this user. It must be the same wherever a command is called: with one that depends on the current
 * directory, a session would have an owner in each.
 */
export function userHome(environment: Readonly<Record<string, string | undefined>>): string {
  const home = environment['HOME'] ?? homeOnRecord();
  if (isAbsolute(home)) return wholePath('HOME', home);
  const given = home === '' ? 'is empty' : `is ${JSON.stringify(home)}, a relative path`;
  throw new ReeveError('state_directory', `HOME ${given}, so Reeve cannot tell where its files are.`, {
    hint: 'Set HOME to the absolute path of your home directory.',
  });
}

/** Empty for a user id without an entry in the password file, as in some containers. */
function homeOnRecord(): string {
  try {
    return userInfo().homedir;
  } catch {
    return '';
  }
}
