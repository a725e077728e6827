/**
 * From an address to whom to connect to, and how. What the address leaves open, its service says; then the
 * environment; then libpq's defaults: the order in which libpq asks them.
 */
import { existsSync, readFileSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { ReeveError } from '../api/errors.ts';
import { badAddress, isFile, KEYWORDS, parseAddress } from './postgres-address.ts';
import type { PostgresParameters } from './postgres-address.ts';
import { passwordFrom } from './postgres-passfile.ts';
import { tlsFrom } from './postgres-tls.ts';
import type { Tls } from './postgres-tls.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface PostgresHost {
  /** A name or address, or the directory of a Unix socket. */
  readonly name: string;
  /** Where it is instead of where its name leads. */
  readonly address: string | null;
  readonly port: number;
}

const SESSIONS = ['any', 'read-write', 'read-only', 'primary', 'standby', 'prefer-standby'] as const;
export type WantedSession = (typeof SESSIONS)[number];

export interface PostgresPlan {
  /** For people: without user and password. */
  readonly place: string;
  /** In the order in which they are tried. */
  readonly hosts: readonly PostgresHost[];
  readonly user: string;
  readonly database: string;
  readonly password: (host: PostgresHost) => string | undefined;
  readonly tls: Tls;
  readonly wanted: WantedSession;
  readonly connectTimeoutMs: number;
  readonly keepAlive: boolean;
  readonly options: string | undefined;
  readonly applicationName: string | undefined;
}

const DEFAULT_PORT = '5432';
const CONNECT_TIMEOUT_MS = 5_000;
/** libpq's own: a name may take its time. */
const SHORTEST_TIMEOUT_S = 2;
/** Debian's and upstream's. */
const SOCKET_DIRECTORIES = ['/var/run/postgresql', '/tmp'];
/** Where libpq was built to look, by distribution. */
const SERVICE_DIRECTORIES = ['/etc/postgresql-common', '/etc/sysconfig/pgsql', '/etc'];

export function planFrom(address: string, environment: Environment): PostgresPlan {
  const found = parametersFrom(address, environment);
  refuseUnkept(found);
  const user = found['user'] ?? userName();
  const database = found['dbname'] ?? user;
  const hosts = hostsFrom(found);
  const home = homeOf(environment);
  return {
    place: placeOf(hosts, database),
    hosts: found['load_balance_hosts'] === 'random' ? shuffled(hosts) : hosts,
    user,
    database,
    password: ({ name, port }) =>
      found['password'] ??
      passwordFrom(found['passfile'] ?? join(home, '.pgpass'), {
        host: SOCKET_DIRECTORIES.includes(name) ? 'localhost' : name,
        port: String(port),
        database,
        user,
      }),
    tls: tlsFrom(found, home),
    wanted: oneOf('target_session_attrs', SESSIONS, found['target_session_attrs'] ?? 'any'),
    connectTimeoutMs: timeoutFrom(found['connect_timeout']),
    keepAlive: found['keepalives'] !== '0',
    options: found['options'],
    applicationName: found['application_name'] ?? found['fallback_application_name'],
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

/** What promises something that is not kept here must not be passed over in silence. */
function refuseUnkept(found: PostgresParameters): void {
  const unkept = ['requirepeer', 'require_auth', 'replication', 'sslcrldir'].find(
    (keyword) => keyword in found,
  );
  const asked = ['gssencmode', 'channel_binding', 'sslcertmode'].find(
    (keyword) => found[keyword] === 'require',
  );
  const keyword = unkept ?? asked;
  if (keyword === undefined) return;
  throw new ReeveError('usage', `The address of the store asks for ${keyword}, which Reeve cannot do.`, {
    hint: 'Leave it out of REEVE_STORE, the service and the environment.',
  });
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

function placeOf(hosts: readonly PostgresHost[], database: string): string {
  const shown = hosts.map(({ name, port }) => {
    const host = name.includes(':') ? `[${name}]` : name.replaceAll('/', '%2F');
    return String(port) === DEFAULT_PORT ? host : `${host}:${port}`;
  });
  return `postgres://${shown.join(',')}/${encodeURIComponent(database)}`;
}

function timeoutFrom(text: string | undefined): number {
  if (text === undefined) return CONNECT_TIMEOUT_MS;
  if (!/^-?\d+$/.test(text.trim())) throw badAddress('connect_timeout is no number of seconds');
  const seconds = Number(text);
  // For libpq nought is for ever; nothing here waits for ever.
  return seconds <= 0 ? CONNECT_TIMEOUT_MS : Math.max(SHORTEST_TIMEOUT_S, seconds) * 1_000;
}

function oneOf<T extends string>(keyword: string, known: readonly T[], value: string): T {
  const found = known.find((one) => one === value);
  if (found === undefined) throw badAddress(`${keyword} is one of ${known.join(', ')}`);
  return found;
}

function shuffled(hosts: readonly PostgresHost[]): readonly PostgresHost[] {
  return hosts
    .map((host) => ({ host, at: Math.random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ host }) => host);
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
