import { describe, expect, it } from 'vitest';
import { parseAddress } from '../../src/store/postgres-address.ts';
import { hasPassword, storeSecretsIn } from '../../src/store/store-secrets.ts';

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
  it.each([
    ['postgres://me:secret@db/x', true],
    ['postgres://me@db/x?password=secret', true],
    ['postgres://me@db/x?passfile=/home/me/pass', true],
    ['postgres://me@db/x?sslkey=/k&sslpassword=secret', true],
    ['host=db password=secret', true],
    ['postgres://me:secret@', true],
    ['something that cannot be read, secret or not', true],
    ['postgres://me@db/x', false],
    ['host=db user=me', false],
    ['service=prod', false],
  ])('of %s: %s', (address, expected) => {
    expect(hasPassword(address)).toBe(expected);
  });

  it('is in every variable that holds it or leads to it, where the store is a PostgreSQL', () => {
    const passwords = { PGPASSWORD: 'secret', PGPASSFILE: '/pass', PGHOST: 'db' };
    expect(storeSecretsIn(passwords)).toEqual([]);
    expect(storeSecretsIn({ ...passwords, REEVE_STORE: '' })).toEqual([]);
    expect(storeSecretsIn({ ...passwords, REEVE_STORE: 'postgres://me@db' })).toEqual([
      'PGPASSWORD',
      'PGPASSFILE',
    ]);
    expect(storeSecretsIn({ REEVE_STORE: 'postgres://me:secret@db', PGPASSWORD: '' })).toEqual([
      'REEVE_STORE',
    ]);
  });
});
