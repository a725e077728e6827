/** The configuration file: where it is, and what it says. A file that is not there says nothing, and defaults apply. */
import { readFileSync, statSync } from 'node:fs';
import { ReeveError } from '../api/errors.ts';
import { configPath, isNamed, whyNotFound } from './config-path.ts';
import { parseConfig } from './parse-config.ts';
import type { Config } from './config-keys.ts';

export type { Config, NotifySettings } from './config-keys.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** A configuration that people write has a few kilobytes; what is larger than this is something else. */
const MAX_BYTES = 1024 * 1024;

export function readConfig(environment: Environment): Config {
  const file = configPath(environment);
  const text = readText(file);
  // A file that somebody named but that is not there is a slip, and would silently switch everything off.
  if (text === null && isNamed(environment))
    throw badConfig(file, 'it is not there, but REEVE_CONFIG names it');
  const parsed = parseConfig(text ?? '');
  if (parsed.is === 'wrong') throw badConfig(file, parsed.problem, parsed.key);
  return parsed.config;
}

/** Null when there is none. */
function readText(file: string): string | null {
  let bytes: Buffer;
  try {
    const stats = statSync(file, { throwIfNoEntry: false });
    if (stats === undefined) return orRefuse(file);
    // A pipe or a device would be waited for.
    if (!stats.isFile()) throw badConfig(file, 'it is not a file');
    if (stats.size > MAX_BYTES) throw badConfig(file, 'it is too large to be a configuration');
    bytes = readFileSync(file);
  } catch (error) {
    if (error instanceof ReeveError) throw error;
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    if (code === 'ENOTDIR') return orRefuse(file);
    throw badConfig(file, `it cannot be read (${REASONS[code] ?? code})`, null, error);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw badConfig(file, 'it is not UTF-8 text', null, error);
  }
}

function orRefuse(file: string): null {
  const why = whyNotFound(file);
  if (why !== null) throw badConfig(file, why);
  return null;
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission is denied',
  EPERM: 'permission is denied',
  ELOOP: 'its links go round in a circle',
};

function badConfig(file: string, problem: string, key: string | null = null, cause?: unknown): ReeveError {
  const end = problem.endsWith('?') ? '' : '.';
  return new ReeveError('bad_config', `The configuration ${file} cannot be used: ${problem}${end}`, {
    hint: 'docs/config.md lists every key, with an example.',
    details: { file, key },
    ...(cause === undefined ? {} : { cause }),
  });
}
