/** Addresses of every kind, against a server that encrypts and asks for passwords: they lead where libpq is led. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { connectPostgres } from '../../src/store/postgres-connect.ts';
import { planFrom } from '../../src/store/postgres-parameters.ts';
import { openPostgres } from '../../src/store/postgres.ts';
import { makeCertificates } from '../support/certificates.ts';
import { freePort, startPostgres } from '../support/postgres.ts';
import type { PostgresServer } from '../support/postgres.ts';
import { eventually } from '../support/processes.ts';

/** `encrypted` and `clear` are let in only so; `secret` needs a password, and `either` does only where it is encrypted. */
const HBA = `
local all all trust
hostnossl all encrypted all reject
hostssl all clear all reject
host all secret all scram-sha-256
hostssl all either all scram-sha-256
host all all all trust
local replication all trust
host replication all all trust
`;

let server: PostgresServer;
/** Does not encrypt. */
let bare: PostgresServer;
let standby: PostgresServer;
let home: string;
let database: string;
const files = { authority: '', other: '', revoked: '', certificate: '', key: '' };
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'reeve-connect-'));
  const [ours, others] = [makeCertificates(), makeCertificates()];
  for (const [name, text] of [
    ['authority', ours.authority],
    ['other', others.authority],
    ['revoked', ours.revoked],
    ['certificate', ours.server.certificate],
    ['key', ours.server.key],
  ] as const) {
    files[name] = join(home, `${name}.crt`);
    writeFileSync(files[name], text);
  }
  server = await startPostgres({
    settings: ['ssl=on'],
    files: { 'server.crt': ours.server.certificate, 'server.key': ours.server.key, 'pg_hba.conf': HBA },
  });
  bare = await startPostgres();
  standby = await startPostgres({ standbyOf: server, settings: ['ssl=off'] });
  database = new URL(await server.createDatabase()).pathname.slice(1);
  await onServer(`create role encrypted login superuser; create role clear login superuser;
    create role secret login superuser password 'it''s:a\\secret';
    create role either login superuser password 'right'`);
});
afterAll(async () => {
  await standby.stop();
  await Promise.all([server.stop(), bare.stop()]);
  rmSync(home, { recursive: true, force: true });
});

async function onServer(text: string): Promise<void> {
  const client = new pg.Client(server.url(database));
  await client.connect();
  await client.query(text);
  await client.end();
}

const opened: pg.Client[] = [];
afterEach(async () => {
  for (const client of opened.splice(0)) await client.end();
});

function lastOpened(): pg.Client {
  const client = opened.at(-1);
  if (client === undefined) throw new Error('Nothing is connected.');
  return client;
}

/** How the connection is encrypted, and who is served by it. */
async function connected(address: string, environment: Record<string, string> = {}) {
  const plan = planFrom(address, { HOME: home, ...environment });
  const client = await connectPostgres(plan, { applicationName: 'test', queryTimeoutMs: 5_000 });
  opened.push(client);
  const { rows } = await client.query(
    `select ssl, current_user as user, inet_server_port() as port from pg_stat_ssl where pid = pg_backend_pid()`,
  );
  return rows[0] as { ssl: boolean; user: string; port: number | null };
}

const at = (more: string, host = 'localhost', user = 'reeve') =>
  `host=${host} hostaddr=127.0.0.1 port=${server.port} dbname=${database} user=${user} ${more}`;

describe('sslmode', () => {
  it.each([
    ['disable', 'reeve', false],
    ['allow', 'reeve', false],
    ['allow', 'encrypted', true],
    ['prefer', 'reeve', true],
    ['prefer', 'clear', false],
    ['require', 'reeve', true],
    ['verify-ca', 'reeve', true],
    ['verify-full', 'reeve', true],
  ])('%s lets %s in, encrypted: %s', async (mode, user, ssl) => {
    const root = mode.startsWith('verify') ? `sslrootcert=${files.authority}` : '';
    expect(await connected(at(`sslmode=${mode} ${root}`, 'localhost', user))).toMatchObject({ ssl, user });
  });

  it('is prefer where nothing is said, and that of PGSSLMODE where it is', async () => {
    expect((await connected(at(''))).ssl).toBe(true);
    expect((await connected(at(''), { PGSSLMODE: 'disable' })).ssl).toBe(false);
  });

  it.each([
    ['disable', 'encrypted', {}, { code: '28000' }],
    // What the first try met is told.
    ['allow', 'encrypted', { sslrootcert: 'other' }, { code: '28000' }],
    ['require', 'clear', {}, { code: '28000' }],
    ['verify-ca', 'reeve', { sslrootcert: 'other' }, { name: 'TlsFailure' }],
    ['verify-full', 'reeve', { sslrootcert: 'other' }, { name: 'TlsFailure' }],
    // A root certificate that is given is used, as by libpq.
    ['require', 'reeve', { sslrootcert: 'other' }, { name: 'TlsFailure' }],
    ['verify-ca', 'reeve', {}, { code: 'usage' }],
  ] as const)('%s keeps %s out with %j', async (mode, user, root, error) => {
    const file = 'sslrootcert' in root ? `sslrootcert=${files[root.sslrootcert]}` : '';
    await expect(connected(at(`sslmode=${mode} ${file}`, 'localhost', user))).rejects.toMatchObject(error);
  });

  it('verify-full asks for the name, and verify-ca does not', async () => {
    const root = `sslrootcert=${files.authority}`;
    await expect(connected(at(`sslmode=verify-full ${root}`, 'elsewhere'))).rejects.toMatchObject({
      name: 'TlsFailure',
      cause: { code: 'ERR_TLS_CERT_ALTNAME_INVALID' },
    });
    expect((await connected(at(`sslmode=verify-ca ${root}`, 'elsewhere'))).ssl).toBe(true);
  });

  it('prefer goes on in the clear where the server does not encrypt, and require does not', async () => {
    const address = `postgres://reeve@127.0.0.1:${bare.port}/postgres`;
    expect((await connected(address)).ssl).toBe(false);
    await expect(connected(`${address}?sslmode=require`)).rejects.toMatchObject({ name: 'TlsFailure' });
  });

  it('prefer goes on in the clear where TLS fails, as libpq does, and not where a password is wrong', async () => {
    expect((await connected(at(`sslmode=prefer sslrootcert=${files.other}`))).ssl).toBe(false);
    const either = (password: string) =>
      connected(at(`sslmode=prefer password=${password}`, 'localhost', 'either'));
    await expect(either('wrong')).rejects.toMatchObject({ code: '28P01' });
    expect(await either('right')).toMatchObject({ ssl: true, user: 'either' });
  });

  it('that verifies keeps out a certificate that was revoked', async () => {
    const root = `sslmode=verify-full sslrootcert=${files.authority}`;
    await expect(connected(at(`${root} sslcrl=${files.revoked}`))).rejects.toMatchObject({
      name: 'TlsFailure',
      cause: { code: 'CERT_REVOKED' },
    });
  });

  it('with a certificate of this side’s own needs its key, which nobody else may read', async () => {
    const address = at(`sslmode=require sslcert=${files.certificate} sslkey=${files.key}`);
    chmodSync(files.key, 0o644);
    await expect(connected(address)).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining('others may read it'),
    });
    chmodSync(files.key, 0o600);
    expect((await connected(address)).ssl).toBe(true);
    await expect(connected(`${address}-that-is-not-there`)).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining('does not exist'),
    });
    // With a certificate that is not to be shown, nobody asks for its key.
    expect((await connected(`${address}-that-is-not-there sslcertmode=disable`)).ssl).toBe(true);
  });

  it('finds the root certificate where libpq keeps it', async () => {
    mkdirSync(join(home, '.postgresql'));
    writeFileSync(join(home, '.postgresql', 'root.crt'), makeCertificates().authority);
    try {
      await expect(connected(at('sslmode=require'))).rejects.toMatchObject({ name: 'TlsFailure' });
    } finally {
      rmSync(join(home, '.postgresql'), { recursive: true });
    }
  });

  it('is not asked of a Unix socket', async () => {
    expect(
      await connected(
        `host=${server.directory} port=${server.port} dbname=${database} user=reeve sslmode=require`,
      ),
    ).toMatchObject({ ssl: false, port: null });
  });

  it('that fails is told in a sentence, as unavailable', async () => {
    const address = at(`sslmode=verify-full sslrootcert=${files.other}`);
    await expect(openPostgres(address, { environment: {} })).rejects.toMatchObject({
      name: 'ReeveError',
      code: 'store_unavailable',
      message: expect.stringContaining('TLS'),
    });
  });
});

describe('a password', () => {
  const password = `it's:a\\secret`;
  const passfile = (mode: number, line?: string) => {
    const path = join(home, `pass-${mode}-${line === undefined}`);
    writeFileSync(
      path,
      `# a comment\nelsewhere:*:*:*:wrong\n${line ?? `localhost:*:${database}:secret:it's\\:a\\\\secret`}\n`,
    );
    chmodSync(path, mode);
    return path;
  };

  it.each([
    [
      'in a URI',
      () => `postgres://secret:${encodeURIComponent(password)}@localhost:${server.port}/${database}`,
      {},
    ],
    [
      'in ?password=',
      () => `postgres://secret@localhost:${server.port}/${database}?password=${encodeURIComponent(password)}`,
      {},
    ],
    ['in key=value', () => at(`password='it\\'s:a\\\\secret'`, 'localhost', 'secret'), {}],
    ['in PGPASSWORD', () => at('', 'localhost', 'secret'), { PGPASSWORD: password }],
  ] as const)('%s is given', async (_, address, environment) => {
    expect((await connected(address(), environment)).user).toBe('secret');
  });

  it('is found in PGPASSFILE, in ~/.pgpass, and not in a file that others may read', async () => {
    const address = at('', 'localhost', 'secret');
    expect((await connected(address, { PGPASSFILE: passfile(0o600) })).user).toBe('secret');
    await expect(connected(address, { PGPASSFILE: passfile(0o644) })).rejects.toThrow(/password/);
    writeFileSync(join(home, '.pgpass'), `*:*:*:secret:it's\\:a\\\\secret\n`, { mode: 0o600 });
    expect((await connected(address)).user).toBe('secret');
    rmSync(join(home, '.pgpass'));
  });

  it('is not looked for in what is no file', async () => {
    mkdirSync(join(home, 'no-file'), { mode: 0o700 });
    const looking = connected(at('', 'localhost', 'secret'), { PGPASSFILE: join(home, 'no-file') });
    await expect(looking).rejects.toThrow(/password/);
  });

  it('that is missing or wrong is told in a sentence', async () => {
    for (const [given, why] of [
      ['', 'none was given'],
      ['password=wrong', 'password authentication failed'],
    ] as const) {
      const opening = openPostgres(at(given, 'localhost', 'secret'), { environment: { HOME: home } });
      await expect(opening).rejects.toMatchObject({
        code: 'store_unavailable',
        message: expect.stringContaining(why),
      });
    }
  });
});

describe('a service', () => {
  const define = (name: string, text: string) => {
    writeFileSync(join(home, name), text);
    return join(home, name);
  };

  it('stands for what it defines, and what the address says comes first', async () => {
    const file = define(
      'services',
      `# ours\n[other]\nhost=nowhere.invalid\n[prod]\nhost=localhost\nport=${server.port}\nuser=encrypted\ndbname=${database}\n\n[last]\nuser=x\n`,
    );
    expect(await connected('service=prod', { PGSERVICEFILE: file })).toMatchObject({
      user: 'encrypted',
      ssl: true,
    });
    expect(await connected('postgres://?service=prod&user=clear', { PGSERVICEFILE: file })).toMatchObject({
      user: 'clear',
      ssl: false,
    });
    expect(
      (await connected('user=reeve', { PGSERVICEFILE: file, PGSERVICE: 'prod', PGUSER: 'clear' })).user,
    ).toBe('reeve');
    // The environment comes last.
    expect(
      (await connected('service=prod', { PGSERVICEFILE: file, PGUSER: 'clear', PGPORT: '1' })).user,
    ).toBe('encrypted');
  });

  it('is found in ~/.pg_service.conf, then in PGSYSCONFDIR', async () => {
    define('.pg_service.conf', '[mine]\nuser=clear\n');
    mkdirSync(join(home, 'system'));
    define('system/pg_service.conf', '[shared]\nuser=encrypted\n');
    const environment = {
      PGSYSCONFDIR: join(home, 'system'),
      PGHOST: 'localhost',
      PGPORT: String(server.port),
      PGDATABASE: database,
    };
    expect((await connected('service=mine', environment)).user).toBe('clear');
    expect((await connected('service=shared', environment)).user).toBe('encrypted');
    await expect(connected('service=nosuch', environment)).rejects.toMatchObject({ code: 'usage' });
    rmSync(join(home, '.pg_service.conf'));
  });

  it.each(['[prod]\nnosuch=1\n', '[prod]\nservice=other\n', '[prod]\nhost\n'])(
    'defined by %j is refused',
    async (text) => {
      await expect(connected('service=prod', { PGSERVICEFILE: define('bad', text) })).rejects.toMatchObject({
        code: 'usage',
      });
    },
  );
});

describe('several hosts', () => {
  const list = (hosts: readonly number[], more = '') =>
    `postgres://reeve@${hosts.map((port) => `127.0.0.1:${port}`).join(',')}/postgres${more}`;

  it('are tried one after the other until one answers', async () => {
    expect((await connected(list([await freePort(), server.port]))).port).toBe(server.port);
  });

  it.each([
    ['read-write', () => server.port],
    ['primary', () => server.port],
    ['standby', () => standby.port],
    ['prefer-standby', () => standby.port],
    ['read-only', () => standby.port],
    ['any', () => standby.port],
  ])('%s is found among them', async (wanted, port) => {
    const address = list([standby.port, server.port], `?target_session_attrs=${wanted}`);
    expect((await connected(address)).port).toBe(port());
  });

  it('are not asked any more after one that answers and refuses', async () => {
    const address = `postgres://reeve@127.0.0.1:${bare.port},127.0.0.1:${server.port}/${database}`;
    await expect(connected(address)).rejects.toMatchObject({ code: '3D000' });
  });

  it('without a standby among them serve whoever only prefers one', async () => {
    const address = list([server.port], '?target_session_attrs=prefer-standby');
    expect((await connected(address)).port).toBe(server.port);
  });

  it('of the wrong kind are left without a connection to them', async () => {
    const unwanted = list([standby.port], '?target_session_attrs=primary&application_name=unwanted');
    await expect(connected(unwanted)).rejects.toMatchObject({ code: '57P03' });
    await connected(list([standby.port]));
    await eventually('it is closed', async () => {
      const { rows } = await lastOpened().query(
        `select 1 from pg_stat_activity where application_name = 'unwanted'`,
      );
      return rows.length === 0;
    });
  });

  it('of which none is of the wanted kind are waited for, and told', async () => {
    const opening = openPostgres(list([standby.port], '?target_session_attrs=read-write'), {
      patience: { forMs: 500 },
    });
    await expect(opening).rejects.toMatchObject({
      code: 'store_unavailable',
      message: expect.stringContaining('read-write'),
    });
  });
});

it.each([
  'host=db port=x',
  'host=a,b,c port=1,2',
  'host=a hostaddr=1.2.3.4,1.2.3.5',
  'sslmode=no-verify',
  'sslrootcert=ca.crt',
  'sslmode=require sslrootcert=system',
  'sslmode=prefer sslnegotiation=direct',
  'target_session_attrs=anything',
  'connect_timeout=soon',
  'requirepeer=postgres',
  'channel_binding=require',
  'gssencmode=require',
  'require_auth=scram-sha-256',
])('%s is refused as usage', (address) => {
  expect(() => planFrom(address, {})).toThrow(expect.objectContaining({ code: 'usage' }));
});
