/**
 * Whom an address leads to, and the password that is shown there. What the address leaves open, its service says; then
 * the environment; then libpq's defaults: the order in which libpq asks them.
 */
import { existsSync, readFileSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { ReeveError } from '../api/errors.ts';
import { badAddress, isFile, KEYWORDS, parseAddress } from './postgres-address.ts';
import type { PostgresParameters } from './postgres-address.ts';
import { entryFor, passwordFrom } from './postgres-passfile.ts';
import type { PassQuestion } from './postgres-passfile.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface PostgresHost {
  /** A name or address, or the directory of a Unix socket. */
  readonly name: string;
  /** Where it is instead of where its name leads. */
  readonly address: string | null;
  readonly port: number;
}

export interface PostgresTarget {
  /** All that was said about it, by libpq's keywords. */
  readonly found: PostgresParameters;
  readonly home: string;
  /** In the order in which they were given. */
  readonly hosts: readonly PostgresHost[];
  readonly user: string;
  readonly database: string;
}

export const DEFAULT_PORT = '5432';
/** Debian's and upstream's. */
const SOCKET_DIRECTORIES = ['/var/run/postgresql', '/tmp'];
/** Where libpq was built to look, by distribution. */
const SERVICE_DIRECTORIES = ['/etc/postgresql-common', '/etc/sysconfig/pgsql', '/etc'];

export function targetFrom(address: string, environment: Environment): PostgresTarget {
  const found = parametersFrom(address, environment);
  const user = found['user'] ?? userName();
  return {
    found,
    home: homeOf(environment),
    hosts: hostsFrom(found),
    user,
    database: found['dbname'] ?? user,
  };
}

/** What is shown to this host: libpq asks its password file only where nothing else has one. */
export function passwordFor(target: PostgresTarget, host: PostgresHost): string | undefined {
  return target.found['password'] ?? passwordFrom(passfileOf(target), questionOf(target, host));
}

/**
 * Whether a password comes with it, in any way in which libpq takes one. A password file that somebody named counts,
 * whatever is in it by now. The usual one counts for an entry that fits, also while its mode keeps libpq from using it.
 */
export function hasSecret(target: PostgresTarget): boolean {
  const { found, hosts } = target;
  if (['password', 'passfile', 'sslpassword'].some((keyword) => keyword in found)) return true;
  return hosts.some((host) => (entryFor(passfileOf(target), questionOf(target, host)) ?? '') !== '');
}

function passfileOf({ found, home }: PostgresTarget): string {
  return found['passfile'] ?? join(home, '.pgpass');
}

function questionOf({ database, user }: PostgresTarget, { name, port }: PostgresHost): PassQuestion {
  return {
    host: SOCKET_DIRECTORIES.includes(name) ? 'localhost' : name,
    port: String(port),
    database,
    user,
  };
}

function parametersFrom(address: string, environment: Environment): PostgresParameters {
  const given = inPlace(parseAddress(address));
  const outside = Object.fromEntries(
    [...KEYWORDS].flatMap(([keyword, name]) => {
      const value = name === null ? '' : (environment[name] ?? '');
      return value === '' ? [] : [[keyword, isFile(keyword, value) ? resolve(value) : value] as const];
    }),
  );
  const { service, servicefile } = { ...outside, ...given };
  const served = service === undefined ? {} : inPlace(readService(service, servicefile, environment));
  return { ...outside, ...served, ...given };
}

/** Nothing counts as not given. A relative path would lead elsewhere for whatever records the end of a run. */
function inPlace(parameters: PostgresParameters): PostgresParameters {
  const given = Object.entries(parameters).filter(([, value]) => value !== '');
  for (const [keyword, value] of given) {
    if (isFile(keyword, value) && !isAbsolute(value)) throw badAddress(`${keyword} must be an absolute path`);
  }
  return Object.fromEntries(given);
}

function readService(
  service: string,
  file: string | undefined,
  environment: Environment,
): PostgresParameters {
  const system = environment['PGSYSCONFDIR'];
  const files = [
    file ?? join(homeOf(environment), '.pg_service.conf'),
    ...(system === undefined ? SERVICE_DIRECTORIES : [system]).map((directory) =>
      join(directory, 'pg_service.conf'),
    ),
  ];
  for (const path of files) {
    if (!existsSync(path)) continue;
    const found = parseService(readFileSync(path, 'utf8'), service, path);
    if (found !== null) return found;
  }
  throw new ReeveError('usage', `No service file defines the PostgreSQL service ${service}.`, {
    hint: `Looked for: ${files.join(', ')}. Another one is named by PGSERVICEFILE.`,
  });
}

function parseService(text: string, service: string, path: string): PostgresParameters | null {
  let found: Record<string, string> | null = null;
  for (const line of text.split('\n').map((raw) => raw.trim())) {
    if (line === '' || line.startsWith('#')) continue;
    const section = /^\[(.*)\]$/.exec(line)?.[1];
    if (section !== undefined && found !== null) return found;
    if (section === service) found = {};
    else if (section === undefined && found !== null) {
      const [, keyword = '', value = ''] = /^([^=]*)=(.*)$/.exec(line) ?? [];
      if (!KEYWORDS.has(keyword) || keyword.startsWith('service')) {
        throw new ReeveError('usage', `A line of the service ${service} in ${path} cannot be read.`, {
          hint: 'Each is keyword=value, without spaces around the =, and with a keyword that libpq knows.',
        });
      }
      found[keyword] ??= value;
    }
  }
  return found;
}

/** One for each name or address; a port for each, or one for all. */
function hostsFrom(found: PostgresParameters): readonly PostgresHost[] {
  const list = (keyword: string) => found[keyword]?.split(',').map((part) => part.trim());
  const [names, addresses, ports] = [list('host'), list('hostaddr'), list('port') ?? [DEFAULT_PORT]];
  const count = (addresses ?? names)?.length ?? 1;
  if (names !== undefined && names.length !== count)
    throw badAddress('it has not as many hosts as addresses');
  if (ports.length !== 1 && ports.length !== count) throw badAddress('it has not as many ports as hosts');
  return Array.from({ length: count }, (_, index) => {
    const text = (ports.length === 1 ? ports[0] : ports[index]) || DEFAULT_PORT;
    const port = Number(text);
    if (!/^\d+$/.test(text) || port < 1 || port > 65_535)
      throw badAddress('a port in it is no number up to 65535');
    const address = addresses?.[index] || null;
    return { name: names?.[index] || (address ?? socketDirectory(port)), address, port };
  });
}

function socketDirectory(port: number): string {
  const hasSocket = (directory: string) => existsSync(join(directory, `.s.PGSQL.${port}`));
  return SOCKET_DIRECTORIES.find(hasSocket) ?? SOCKET_DIRECTORIES.find((path) => existsSync(path)) ?? '/tmp';
}

function homeOf(environment: Environment): string {
  return environment['HOME'] || homedir();
}

function userName(): string {
  try {
    return userInfo().username;
  } catch (error) {
    throw new ReeveError('usage', 'The address of the store names no user, and this one has no name.', {
      hint: 'Put it into REEVE_STORE: postgres://user@host/database.',
      cause: error,
    });
  }
}
