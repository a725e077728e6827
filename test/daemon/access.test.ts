/** Links and passes, with a clock of the test's own. */
import { expect, it } from 'vitest';
import { createAccess, foreignness } from '../../src/daemon/http/access.ts';

const TOKEN = 'a'.repeat(43);
const MINUTE_MS = 60_000;
const nothing = { authorization: undefined, cookie: undefined };

it('a key opens once, within a minute, and the cookie it gives is the same for every key', () => {
  const access = createAccess(TOKEN);
  const [first, second] = [access.makeKey(0), access.makeKey(0)];
  const cookie = access.useKey(first, MINUTE_MS);
  expect(cookie).not.toBeNull();
  expect([access.useKey(first, MINUTE_MS), access.useKey(second, 1)]).toEqual([null, cookie]);
  const pass = cookie?.split(';')[0];
  expect(access.caller('loopback', { ...nothing, cookie: pass })).toEqual({ is: 'user' });
  expect(createAccess('b'.repeat(43)).caller('loopback', { ...nothing, cookie: pass })).toBeNull();
});

it('a key that is too old is used up by the attempt, and one that was made up opens nothing', () => {
  const access = createAccess(TOKEN);
  const key = access.makeKey(0);
  expect([
    access.useKey(key, MINUTE_MS + 1),
    access.useKey(key, 0),
    access.useKey('made up', 0),
    access.useKey('', 0),
  ]).toEqual([null, null, null, null]);
});

it('so many keys are open and no more, until the old ones are over', () => {
  const access = createAccess(TOKEN);
  const keys = Array.from({ length: 100 }, () => access.makeKey(0));
  expect(new Set(keys).size).toBe(100);
  expect(() => access.makeKey(MINUTE_MS)).toThrow(expect.objectContaining({ code: 'busy' }));
  expect(access.useKey(keys[0] ?? '', MINUTE_MS)).not.toBeNull();
  expect(access.makeKey(MINUTE_MS)).not.toBe('');
  expect(access.makeKey(MINUTE_MS + 1)).not.toBe('');
});

it('what is shown decides, and over the socket nothing shown is enough', () => {
  const access = createAccess(TOKEN);
  const caller = (via: 'socket' | 'loopback', authorization: string | undefined) =>
    access.caller(via, { ...nothing, authorization });
  const run = { is: 'run', run: 'r-1a', token: 'x_-9' };
  const answers = (['socket', 'loopback'] as const).map((via) => [
    caller(via, undefined),
    caller(via, `Bearer ${TOKEN}`),
    caller(via, `Bearer ${TOKEN}a`),
    caller(via, 'Bearer r-1a.x_-9'),
    caller(via, 'bearer r-1a.x_-9'),
    caller(via, 'Bearer r-1a'),
    caller(via, 'Bearer R-1A.x'),
    caller(via, `Bearer r-1a.${'x'.repeat(200)}`),
    caller(via, 'Basic eDp5'),
    caller(via, ''),
  ]);
  const shown = [{ is: 'user' }, null, run, run, null, null, null, null, null];
  expect(answers).toEqual([
    [{ is: 'user' }, ...shown],
    [null, ...shown],
  ]);
});

it('a request is foreign unless it is addressed to the loopback, and sent by its own page or none', () => {
  const own = { host: '127.0.0.1:80', origin: undefined, site: undefined };
  const isForeign = (sender: Partial<Record<keyof typeof own, string | undefined>>) =>
    foreignness('loopback', 80, { ...own, ...sender }) !== null;
  expect([
    isForeign({}),
    isForeign({ host: 'localhost:80', origin: 'http://127.0.0.1:80', site: 'same-origin' }),
    isForeign({ host: undefined }),
    isForeign({ host: '127.0.0.1:8080' }),
    isForeign({ origin: 'http://127.0.0.1' }),
    isForeign({ origin: 'null' }),
    isForeign({ site: 'same-site' }),
    isForeign({ site: '' }),
  ]).toEqual([false, false, true, true, true, true, true, true]);
});
