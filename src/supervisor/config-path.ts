/** Where the configuration is. */
import { isAbsolute, join, resolve } from 'node:path';
import { userHome } from '../process/user-home.ts';
import { wholePath } from '../process/whole-path.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export function configPath(environment: Environment): string {
  const { REEVE_CONFIG: named, XDG_CONFIG_HOME: base } = environment;
  if (isNamed(environment)) return resolve(wholePath('REEVE_CONFIG', named ?? ''));
  if (base !== undefined && isAbsolute(base))
    return join(wholePath('XDG_CONFIG_HOME', base), 'reeve', 'config.toml');
  return join(userHome(environment), '.config', 'reeve', 'config.toml');
}

export function isNamed({ REEVE_CONFIG: named }: Environment): boolean {
  return named !== undefined && named !== '';
}
