/** From an address to whom to connect to (postgres-target.ts), and how. */
import { ReeveError } from '../api/errors.ts';
import { badAddress } from './postgres-address.ts';
import type { PostgresParameters } from './postgres-address.ts';
import { DEFAULT_PORT, passwordFor, targetFrom } from './postgres-target.ts';
import type { Environment, PostgresHost } from './postgres-target.ts';
import { tlsFrom } from './postgres-tls.ts';
import type { Tls } from './postgres-tls.ts';

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

const CONNECT_TIMEOUT_MS = 5_000;
/** libpq's own: a name may take its time. */
const SHORTEST_TIMEOUT_S = 2;
export function planFrom(address: string, environment: Environment): PostgresPlan {
  const target = targetFrom(address, environment);
  const { found, home, hosts, user, database } = target;
  refuseUnkept(found);
  return {
    place: placeOf(hosts, database),
    hosts: found['load_balance_hosts'] === 'random' ? shuffled(hosts) : hosts,
    user,
    database,
    password: (host) => passwordFor(target, host),
    tls: tlsFrom(found, home),
    wanted: oneOf('target_session_attrs', SESSIONS, found['target_session_attrs'] ?? 'any'),
    connectTimeoutMs: timeoutFrom(found['connect_timeout']),
    keepAlive: found['keepalives'] !== '0',
    options: found['options'],
    applicationName: found['application_name'] ?? found['fallback_application_name'],
  };
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
