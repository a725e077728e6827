/** Where the configuration is, and whether it is worth reading for a start: what every start loads must be little. */
import { readFileSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { userHome } from '../process/user-home.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export function configPath(environment: Environment): string {
  const { REEVE_CONFIG: named, XDG_CONFIG_HOME: base } = environment;
  if (isNamed(environment)) return resolve(named ?? '');
  if (base !== undefined && isAbsolute(base)) return join(base, 'reeve', 'config.toml');
  return join(userHome(environment), '.config', 'reeve', 'config.toml');
}

export function isNamed({ REEVE_CONFIG: named }: Environment): boolean {
  return named !== undefined && named !== '';
}

/** One that is there and cannot be read may say anything. */
export function mentionsBudget(environment: Environment): boolean {
  try {
    return readFileSync(configPath(environment), 'utf8').includes('budget');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : '';
    return code !== 'ENOENT' && code !== 'ENOTDIR';
  }
}
