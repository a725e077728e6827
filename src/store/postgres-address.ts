/**
 * An address of PostgreSQL, read as libpq reads it: a URI, or keywords with values. Pure: what the environment and
 * files add to it is found in postgres-target.ts. No message repeats a value, which may be a password.
 */
import { ReeveError } from '../api/errors.ts';

/** By libpq's keywords. */
export type PostgresParameters = Readonly<Record<string, string>>;

/** Every keyword that libpq knows, with the variable that stands in for it. */
export const KEYWORDS: ReadonlyMap<string, string | null> = new Map([
  ['host', 'PGHOST'],
  ['hostaddr', 'PGHOSTADDR'],
  ['port', 'PGPORT'],
  ['dbname', 'PGDATABASE'],
  ['user', 'PGUSER'],
  ['password', 'PGPASSWORD'],
  ['passfile', 'PGPASSFILE'],
  ['service', 'PGSERVICE'],
  ['servicefile', 'PGSERVICEFILE'],
  ['connect_timeout', 'PGCONNECT_TIMEOUT'],
  ['client_encoding', 'PGCLIENTENCODING'],
  ['options', 'PGOPTIONS'],
  ['application_name', 'PGAPPNAME'],
  ['fallback_application_name', null],
  ['keepalives', null],
  ['keepalives_idle', null],
  ['keepalives_interval', null],
  ['keepalives_count', null],
  ['tcp_user_timeout', null],
  ['replication', null],
  ['gssencmode', 'PGGSSENCMODE'],
  ['gsslib', 'PGGSSLIB'],
  ['gssdelegation', 'PGGSSDELEGATION'],
  ['krbsrvname', 'PGKRBSRVNAME'],
  ['sslmode', 'PGSSLMODE'],
  ['sslnegotiation', 'PGSSLNEGOTIATION'],
  ['sslcompression', 'PGSSLCOMPRESSION'],
  ['sslcert', 'PGSSLCERT'],
  ['sslkey', 'PGSSLKEY'],
  ['sslpassword', null],
  ['sslcertmode', 'PGSSLCERTMODE'],
  ['sslrootcert', 'PGSSLROOTCERT'],
  ['sslcrl', 'PGSSLCRL'],
  ['sslcrldir', 'PGSSLCRLDIR'],
  ['sslsni', 'PGSSLSNI'],
  ['ssl_min_protocol_version', 'PGSSLMINPROTOCOLVERSION'],
  ['ssl_max_protocol_version', 'PGSSLMAXPROTOCOLVERSION'],
  ['requirepeer', 'PGREQUIREPEER'],
  ['require_auth', 'PGREQUIREAUTH'],
  ['channel_binding', 'PGCHANNELBINDING'],
  ['target_session_attrs', 'PGTARGETSESSIONATTRS'],
  ['load_balance_hosts', 'PGLOADBALANCEHOSTS'],
]);

const FILES = new Set(['passfile', 'servicefile', 'sslcert', 'sslkey', 'sslrootcert', 'sslcrl']);

/** Whether the value is a path. */
export function isFile(keyword: string, value: string): boolean {
  return FILES.has(keyword) && value !== 'system';
}

export function parseAddress(address: string): PostgresParameters {
  const scheme = /^postgres(?:ql)?:\/\//.exec(address)?.[0];
  return scheme === undefined ? parseKeywords(address) : parseUri(address.slice(scheme.length));
}

export function badAddress(why: string): ReeveError {
  return new ReeveError('usage', `REEVE_STORE is not a PostgreSQL address: ${why}.`, {
    hint: 'It looks like postgres://user:password@host:5432/database, or like "host=… dbname=…", or like "service=…".',
  });
}

/** `user:password@host:port,host:port/database?keyword=value&…`, of which everything may be missing. */
function parseUri(text: string): PostgresParameters {
  const [beforeQuestion, ...queries] = withCredentialsApart(text);
  const { credentials, rest } = beforeQuestion;
  const slash = rest.indexOf('/');
  const hostList = slash === -1 ? rest : rest.slice(0, slash);
  const { hosts, ports } = splitHosts(hostList);
  const [user = '', ...password] = credentials === null ? [] : credentials.split(':');
  const entries: [string, string][] = [
    ['user', user],
    ['password', password.join(':')],
    ['host', hosts.join(',')],
    ['port', ports.some((port) => port !== '') ? ports.join(',') : ''],
    ['dbname', slash === -1 ? '' : rest.slice(slash + 1)],
  ];
  return {
    ...Object.fromEntries(
      entries.filter(([, value]) => value !== '').map(([keyword, value]) => [keyword, decoded(value)]),
    ),
    ...parseQuery(queries.join('?')),
  };
}

/** Credentials end at the first @ that no / stands before. */
function withCredentialsApart(
  text: string,
): [{ credentials: string | null; rest: string }, ...queries: string[]] {
  const end = /^[^@/]*@/.exec(text)?.[0].length ?? 0;
  const [rest = '', ...queries] = text.slice(end).split('?');
  return [{ credentials: end === 0 ? null : text.slice(0, end - 1), rest }, ...queries];
}

function splitHosts(list: string): { hosts: string[]; ports: string[] } {
  const parts = list.split(',').map((part) => {
    const [, bracketed, plain = '', port = ''] =
      /^(?:\[([^\]]*)\]|([^:[\]]*))(?::([^:]*))?$/.exec(part) ?? [];
    if (part !== '' && bracketed === undefined && plain === '' && port === '') {
      throw badAddress('a host in it cannot be read; an IPv6 address stands in [ ]');
    }
    return { host: bracketed ?? plain, port };
  });
  return { hosts: parts.map(({ host }) => host), ports: parts.map(({ port }) => port) };
}

function parseQuery(query: string): PostgresParameters {
  const found: Record<string, string> = {};
  for (const part of query === '' ? [] : query.split('&')) {
    const [name = '', ...value] = part.split('=');
    if (value.length !== 1) throw badAddress('behind ? stand keyword=value, with & between them');
    const [keyword, text] = [decoded(name), decoded(value[0] ?? '')];
    // As JDBC writes it.
    if (keyword === 'ssl' && text === 'true') found['sslmode'] = 'require';
    // By this the driver for Node is told to read the rest as libpq does, which is done here anyway.
    else if (keyword !== 'uselibpqcompat') found[known(keyword)] = text;
  }
  return found;
}

function decoded(text: string): string {
  try {
    const result = decodeURIComponent(text);
    if (!result.includes('\0')) return result;
  } catch {
    // Told below.
  }
  throw badAddress('a % in it is not followed by two digits of a character; % itself is written %25');
}

/** `keyword = value`, a value with spaces in single quotes, a backslash before what would end it. */
function parseKeywords(text: string): PostgresParameters {
  const found: Record<string, string> = {};
  const entry = /\s*([^\s=]+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|((?:[^\s'\\]|\\.)(?:[^\s\\]|\\.)*)?)(?=\s|$)/suy;
  for (let at = 0; text.slice(at).trim() !== ''; at = entry.lastIndex) {
    entry.lastIndex = at;
    const [, keyword, quoted, plain = ''] = entry.exec(text) ?? [];
    if (keyword === undefined) throw badAddress('it is neither a URI nor made of keyword=value');
    found[known(keyword)] = (quoted ?? plain).replaceAll(/\\(.)/gsu, '$1');
  }
  if (Object.keys(found).length === 0) throw badAddress('it is empty');
  return found;
}

function known(keyword: string): string {
  if (KEYWORDS.has(keyword)) return keyword;
  // Not what it is: of `password secret=x` that would be the password.
  throw badAddress('it has a keyword that libpq does not know');
}
