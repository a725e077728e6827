/** Certificates of a test's own, made by openssl: an authority, and a server of the name `localhost`. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Certificates {
  readonly authority: string;
  readonly server: { readonly certificate: string; readonly key: string };
  /** A list of the authority's by which the server's certificate counts no more. */
  readonly revoked: string;
}

const REVOKING = '[ca]\ndefault_ca=own\n[own]\ndatabase=index\ndefault_md=sha256\ndefault_crl_days=2\n';

export function makeCertificates(): Certificates {
  const directory = mkdtempSync(join(tmpdir(), 'reeve-certificates-'));
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: directory, stdio: 'pipe' });
  const request = ['req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  try {
    const authority = ['-subj', '/CN=an authority', '-days', '2', '-keyout', 'ca.key', '-out', 'ca.crt'];
    openssl(...request, '-x509', ...authority);
    const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
    const signed = ['-addext', 'basicConstraints=critical,CA:FALSE', '-CA', 'ca.crt', '-CAkey', 'ca.key'];
    const files = ['-days', '2', '-keyout', 'server.key', '-out', 'server.crt'];
    openssl(...request, '-x509', ...names, ...signed, ...files);
    writeFileSync(join(directory, 'list.cnf'), REVOKING);
    writeFileSync(join(directory, 'index'), '');
    const revoking = ['ca', '-config', 'list.cnf', '-cert', 'ca.crt', '-keyfile', 'ca.key'];
    openssl(...revoking, '-revoke', 'server.crt');
    openssl(...revoking, '-gencrl', '-out', 'revoked.crl');
    const read = (name: string) => readFileSync(join(directory, name), 'utf8');
    return {
      authority: read('ca.crt'),
      server: { certificate: read('server.crt'), key: read('server.key') },
      revoked: read('revoked.crl'),
    };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
