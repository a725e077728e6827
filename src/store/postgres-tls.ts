/**
 * What `sslmode` and its companions ask for, as libpq understands them:
 *
 *   disable      never encrypted
 *   allow        only when the server wants it so
 *   prefer       when the server can, otherwise not (the default)
 *   require      always; the certificate is checked if there is a root certificate
 *   verify-ca    always, and by a certificate of that root
 *   verify-full  and of that host
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { checkServerIdentity } from 'node:tls';
import type { ConnectionOptions, SecureVersion } from 'node:tls';
import { ReeveError } from '../api/errors.ts';
import { badAddress } from './postgres-address.ts';
import type { PostgresParameters } from './postgres-address.ts';

const MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const;
export type SslMode = (typeof MODES)[number];

export interface Tls {
  readonly mode: SslMode;
  /** Whether the server is asked first, or greeted in TLS right away. */
  readonly negotiation: 'postgres' | 'direct';
  /** Read anew for each connection, for certificates are replaced while a daemon runs. */
  readonly options: (host: string) => ConnectionOptions;
}

const VERSIONS: Readonly<Record<string, SecureVersion>> = {
  TLSv1: 'TLSv1',
  'TLSv1.1': 'TLSv1.1',
  'TLSv1.2': 'TLSv1.2',
  'TLSv1.3': 'TLSv1.3',
};
const OLDEST = 'TLSv1.2';
/** Debian and Ubuntu, Fedora, macOS and Alpine. */
const SYSTEM_ROOTS = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/cert.pem',
];
const GROUP_READS = 0o040;
const OTHERS = 0o077;

export function tlsFrom(found: PostgresParameters, home: string): Tls {
  const usesSystem = found['sslrootcert'] === 'system';
  const text = found['sslmode'] ?? (usesSystem ? 'verify-full' : 'prefer');
  const mode = MODES.find((one) => one === text);
  if (mode === undefined) throw badAddress(`sslmode is one of ${MODES.join(', ')}`);
  if (usesSystem && mode !== 'verify-full') throw badAddress('sslrootcert=system needs sslmode=verify-full');
  const negotiation = found['sslnegotiation'] === 'direct' ? 'direct' : 'postgres';
  const isStrong = mode === 'require' || mode.startsWith('verify');
  if (negotiation === 'direct' && !isStrong) throw badAddress('sslnegotiation=direct needs sslmode=require');
  return { mode, negotiation, options: (host) => optionsOf(found, mode, home, host) };
}

function optionsOf(found: PostgresParameters, mode: SslMode, home: string, host: string): ConnectionOptions {
  const ca = rootsOf(found, mode, home);
  const crl = fileOf(found, 'sslcrl', join(home, '.postgresql', 'root.crl'));
  return {
    rejectUnauthorized: ca !== null,
    ...(ca === null ? {} : { ca }),
    ...(ca === null || crl === null ? {} : { crl: read('sslcrl', crl) }),
    ...identityOf(found, home),
    minVersion: VERSIONS[found['ssl_min_protocol_version'] ?? OLDEST] ?? OLDEST,
    ...(found['ssl_max_protocol_version'] === undefined
      ? {}
      : { maxVersion: VERSIONS[found['ssl_max_protocol_version']] ?? 'TLSv1.3' }),
    checkServerIdentity: (_host, certificate) =>
      mode === 'verify-full' ? checkServerIdentity(host, certificate) : undefined,
  };
}

/** A root certificate that is there is used, whatever the mode; only the modes that verify need one. */
function rootsOf(found: PostgresParameters, mode: SslMode, home: string): string | null {
  if (found['sslrootcert'] === 'system') {
    const system = [process.env['SSL_CERT_FILE'] ?? '', ...SYSTEM_ROOTS].find((path) => existsSync(path));
    if (system === undefined)
      throw unusable('sslrootcert', 'system', 'no certificates of the system were found');
    return read('sslrootcert', system);
  }
  const usual = join(home, '.postgresql', 'root.crt');
  const path = fileOf(found, 'sslrootcert', usual);
  if (path !== null) return read('sslrootcert', path);
  if (mode !== 'verify-ca' && mode !== 'verify-full') return null;
  throw unusable(
    'sslrootcert',
    found['sslrootcert'] ?? usual,
    `it does not exist, and sslmode=${mode} needs it`,
  );
}

/** By which this side shows who it is, where the server asks for it. */
function identityOf(found: PostgresParameters, home: string): ConnectionOptions {
  if (found['sslcertmode'] === 'disable') return {};
  const cert = fileOf(found, 'sslcert', join(home, '.postgresql', 'postgresql.crt'));
  if (cert === null) return {};
  const key = found['sslkey'] ?? join(home, '.postgresql', 'postgresql.key');
  const stat = statSync(key, { throwIfNoEntry: false });
  if (stat === undefined) throw unusable('sslkey', key, 'it does not exist, and the certificate needs it');
  const forbidden = stat.uid === 0 ? OTHERS & ~GROUP_READS : OTHERS;
  if ((stat.mode & forbidden) !== 0) throw unusable('sslkey', key, 'others may read it');
  const { sslpassword: passphrase } = found;
  return {
    cert: read('sslcert', cert),
    key: read('sslkey', key),
    ...(passphrase === undefined ? {} : { passphrase }),
  };
}

function fileOf(found: PostgresParameters, keyword: string, usual: string): string | null {
  const path = found[keyword] ?? usual;
  return existsSync(path) ? path : null;
}

function read(keyword: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw unusable(keyword, path, error instanceof Error ? error.message : String(error));
  }
}

function unusable(keyword: string, path: string, why: string): ReeveError {
  return new ReeveError('usage', `The store’s ${keyword} ${path} cannot be used: ${why}.`, {
    hint: 'It is named by REEVE_STORE, the service or the environment; otherwise it is in ~/.postgresql.',
  });
}
