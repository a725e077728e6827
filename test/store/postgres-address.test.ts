import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseAddress } from '../../src/store/postgres-address.ts';
import { storeSecretsIn } from '../../src/store/store-secrets.ts';

describe('an address', () => {
  it.each([
    ['postgres://', {}],
    ['postgresql://db', { host: 'db' }],
    ['postgres://db:1/reeve', { host: 'db', port: '1', dbname: 'reeve' }],
    ['postgres://me@db', { user: 'me', host: 'db' }],
    ['postgres://me:a%40b:c@db/x', { user: 'me', password: 'a@b:c', host: 'db', dbname: 'x' }],
    ['postgres:///reeve', { dbname: 'reeve' }],
    ['postgres://%2Frun%2Fpg/reeve', { host: '/run/pg', dbname: 'reeve' }],
    ['postgres://[::1]:5/x', { host: '::1', port: '5', dbname: 'x' }],
    ['postgres://a:1,b,[::2]:3/x', { host: 'a,b,::2', port: '1,,3', dbname: 'x' }],
    [
      'postgres://db/x?sslmode=require&user=u%20v',
      { host: 'db', dbname: 'x', sslmode: 'require', user: 'u v' },
    ],
    ['postgres://db?password=p%26q', { host: 'db', password: 'p&q' }],
    ['postgres://db/x?ssl=true&uselibpqcompat=true', { host: 'db', dbname: 'x', sslmode: 'require' }],
    ['postgres:///x?host=/run/pg', { dbname: 'x', host: '/run/pg' }],
    ['service=prod', { service: 'prod' }],
    ['  host = db\n dbname=x ', { host: 'db', dbname: 'x' }],
    [`host=db password='it\\'s a \\\\'`, { host: 'db', password: `it's a \\` }],
    ['host=db password=a\\ b', { host: 'db', password: 'a b' }],
    [`host='' dbname=x`, { host: '', dbname: 'x' }],
    ['host= dbname=x', { host: 'dbname=x' }],
    ['password=a=b', { password: 'a=b' }],
  ])('%s is read as libpq reads it', (address, parameters) => {
    expect(parseAddress(address)).toStrictEqual(parameters);
  });

  it.each([
    '',
    'reeve',
    'not an address',
    'mysql://me:secret@db',
    'postgres://me:secret@db/x?nosuch=1',
    'postgres://me:secret@db/x?sslmode',
    'postgres://me:secret%zz@db',
    'postgres://me:secret%00@db',
    'postgres://me:secret@[::1',
    'password=secret nosuch=1',
    `password='secret`,
    'password=secret x',
  ])('%s is refused, without a word of it', (address) => {
    const error: unknown = (() => {
      try {
        return parseAddress(address);
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(error).toMatchObject({ code: 'usage' });
    expect(String(error)).not.toContain('secret');
  });
});

describe('a password of the store', () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'reeve-secrets-'));
  });
  afterEach(() => rmSync(home, { recursive: true }));

  const write = (name: string, text: string, mode = 0o600) => {
    writeFileSync(join(home, name), text, { mode });
    chmodSync(join(home, name), mode);
    return join(home, name);
  };
  const secretsOf = (address: string, environment: Record<string, string> = {}) =>
    storeSecretsIn({ HOME: home, PGSYSCONFDIR: home, REEVE_STORE: address, ...environment });

  it.each([
    ['postgres://me:secret@db/x', true],
    ['postgres://me@db/x?password=secret', true],
    ['postgres://me@db/x?passfile=/home/me/pass', true],
    ['postgres://me@db/x?sslkey=/k&sslpassword=secret', true],
    ['host=db password=secret', true],
    ['postgres://me:secret@', true],
    ['something that cannot be read, secret or not', true],
    ['service=nowhere', true],
    ['postgres://me@db/x', false],
    ['host=db user=me', false],
  ])('of %s: %s', (address, expected) => {
    expect(secretsOf(address)).toEqual(expected ? ['REEVE_STORE'] : []);
  });

  it('is in every variable that holds it or leads to it, where the store is a PostgreSQL', () => {
    const leading = { PGPASSWORD: 'secret', PGPASSFILE: '/pass', PGSERVICE: 'open', PGHOST: 'db' };
    write('.pg_service.conf', '[open]\nuser=me\n');
    expect(storeSecretsIn(leading)).toEqual([]);
    expect(secretsOf('', leading)).toEqual([]);
    expect(secretsOf('postgres://me@db', leading)).toEqual([
      'REEVE_STORE',
      'PGPASSWORD',
      'PGPASSFILE',
      'PGSERVICE',
    ]);
    expect(secretsOf('postgres://me:secret@db', { PGPASSWORD: '' })).toEqual(['REEVE_STORE']);
  });

  it('may stand in the service, wherever its file is named', () => {
    const text = '[open]\nhost=db\n[locked]\nhost=db\npassword=secret\n[file]\npassfile=/home/me/pass\n';
    const other = write('services', text.replace('open', 'else'));
    write('.pg_service.conf', text);
    expect(secretsOf('service=open')).toEqual([]);
    expect(secretsOf('service=locked')).toEqual(['REEVE_STORE']);
    expect(secretsOf('service=file')).toEqual(['REEVE_STORE']);
    expect(secretsOf('postgres://me@db', { PGSERVICE: 'open' })).toEqual([]);
    expect(secretsOf('postgres://me@db', { PGSERVICE: 'locked', PGSERVICEFILE: other })).toEqual([
      'REEVE_STORE',
      'PGSERVICE',
      'PGSERVICEFILE',
    ]);
  });

  it.each([
    ['db:5432:x:me:secret', true],
    ['*:*:*:*:secret', true],
    ['second:*:*:me:secret', true],
    ['#*:*:*:*:secret', false],
    ['db:5432:x:me:', false],
    ['db:5433:x:me:secret\nelse:*:*:*:secret\ndb:*:y:*:secret\ndb:*:*:you:secret', false],
  ])('may stand in ~/.pgpass: %s gives one: %s', (text, expected) => {
    write('.pgpass', text);
    expect(secretsOf('postgres://me@db,second/x')).toEqual(expected ? ['REEVE_STORE'] : []);
  });

  it('counts in ~/.pgpass although others may read that now, so that libpq does not use it', () => {
    write('.pgpass', '*:*:*:*:secret', 0o644);
    expect(secretsOf('postgres://me@db/x')).toEqual(['REEVE_STORE']);
  });
});
