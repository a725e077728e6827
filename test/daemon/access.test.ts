/** Links and passes, with a clock of the test's own. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createAccess, foreignness } from '../../src/daemon/http/access.ts';
import type { Access, Sender } from '../../src/daemon/http/access.ts';
import { openBrowsers } from '../../src/daemon/http/browsers.ts';

const TOKEN = 'a'.repeat(43);
const MINUTE_MS = 60_000;
const nothing = { authorization: undefined, cookie: undefined };

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'reeve-access-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

const file = () => join(directory, 'browsers.json');
const accessWith = (token = TOKEN) => createAccess(token, openBrowsers(file()));
const passOf = (cookie: string | null) => cookie?.split(';')[0];
const opens = (access: Access, pass: string | undefined, nowMs: number) =>
  access.caller('loopback', { ...nothing, cookie: pass }, nowMs)?.is === 'user';

it('a link opens once, within a minute, by its key or by its code, and gives a cookie of its own', () => {
  const access = accessWith();
  const links = [access.makeLink(0), access.makeLink(0), access.makeLink(0)] as const;
  const cookies = [
    access.signIn({ key: links[0].key }, MINUTE_MS),
    access.signIn({ code: links[1].code }, 1),
    access.signIn({ code: ` ${links[2].code.slice(0, 4).toLowerCase()}-${links[2].code.slice(4)}` }, 1),
  ];
  expect(new Set(cookies.map(passOf)).size).toBe(3);
  expect(cookies.map((cookie) => opens(access, passOf(cookie), MINUTE_MS))).toEqual([true, true, true]);
  const again = [
    { key: links[0].key },
    { code: links[0].code },
    { key: links[1].key },
    { code: links[1].code },
  ];
  expect(again.map((shown) => access.signIn(shown, 1))).toEqual([null, null, null, null]);
});

it('a link that is too old is used up by the attempt, and one that was made up opens nothing', () => {
  const access = accessWith();
  const { key, code } = access.makeLink(0);
  expect([
    access.signIn({ key }, MINUTE_MS + 1),
    access.signIn({ key }, 0),
    access.signIn({ code }, 0),
    access.signIn({ key: 'made up' }, 0),
    access.signIn({ key: '' }, 0),
    access.signIn({ code: '' }, 0),
  ]).toEqual([null, null, null, null, null, null]);
});

it('a code opens however many wrong ones anybody entered before, and none of those does', () => {
  const access = accessWith();
  const { code } = access.makeLink(0);
  const guesses = Array.from({ length: 1_000 }, () => access.signIn({ code: 'AAAAAAAA' }, 0));
  expect(new Set(guesses)).toEqual(new Set([null]));
  expect(access.signIn({ code }, 0)).not.toBeNull();
});

it('a cookie opens for a month, for the next daemon too, and until every browser is signed out', () => {
  const MONTH_MS = 30 * 24 * 60 * MINUTE_MS;
  const first = accessWith();
  const pass = passOf(first.signIn({ key: first.makeLink(0).key }, 0));
  const second = accessWith();
  expect([opens(second, pass, MONTH_MS - 1), opens(second, pass, MONTH_MS)]).toEqual([true, false]);
  const goesOn = second.untilSignOut();
  expect(readFileSync(file(), 'utf8')).not.toContain(pass?.slice('reeve='.length));
  expect([second.signOut(), goesOn.aborted, second.untilSignOut().aborted]).toEqual([1, true, false]);
  expect([opens(second, pass, 1), opens(accessWith(), pass, 1)]).toEqual([false, false]);
});

it('signing out takes back what was to sign in, too', () => {
  const access = accessWith();
  const [first, second] = [access.makeLink(0), access.makeLink(0)];
  access.signOut();
  expect([access.signIn({ key: first.key }, 1), access.signIn({ code: second.code }, 1)]).toEqual([
    null,
    null,
  ]);
});

it('a file that is not one of ours signs everybody out, and nobody in', () => {
  for (const text of ['', 'null', '{}', '[1, null, {"hash": 7}]', 'no JSON']) {
    writeFileSync(file(), text);
    const access = accessWith();
    expect(opens(access, 'reeve=undefined', 0)).toBe(false);
    expect(opens(access, passOf(access.signIn({ key: access.makeLink(0).key }, 0)), 0)).toBe(true);
  }
});

it('so many browsers are signed in and no more: the first one goes', () => {
  const access = accessWith();
  const passes = Array.from({ length: 21 }, (_, at) =>
    passOf(access.signIn({ key: access.makeLink(at).key }, at)),
  );
  expect(passes.map((pass) => opens(access, pass, 21))).toEqual([false, ...passes.slice(1).map(() => true)]);
});

it('so many links are open and no more, until the old ones are over', () => {
  const access = accessWith();
  const keys = Array.from({ length: 100 }, () => access.makeLink(0).key);
  expect(new Set(keys).size).toBe(100);
  expect(() => access.makeLink(MINUTE_MS)).toThrow(expect.objectContaining({ code: 'busy' }));
  expect(access.signIn({ key: keys[0] ?? '' }, MINUTE_MS)).not.toBeNull();
  expect(access.makeLink(MINUTE_MS).key).not.toBe('');
  expect(access.makeLink(MINUTE_MS + 1).key).not.toBe('');
});

it('what is shown decides, and over the socket nothing shown is enough', () => {
  const access = accessWith();
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
  const own = { host: '127.0.0.1:80', origin: undefined, site: undefined, isVisit: false };
  const isForeign = (sender: Partial<Sender>) => foreignness('loopback', 80, { ...own, ...sender }) !== null;
  expect([
    isForeign({}),
    isForeign({ host: 'localhost:80', origin: 'http://127.0.0.1:80', site: 'same-origin' }),
    isForeign({ host: undefined }),
    isForeign({ host: '127.0.0.1:8080' }),
    isForeign({ origin: 'http://127.0.0.1' }),
    isForeign({ origin: 'null' }),
    isForeign({ site: 'same-site' }),
    isForeign({ site: '' }),
    isForeign({ site: 'cross-site', isVisit: true }),
    isForeign({ site: 'cross-site', isVisit: true, host: 'evil.example' }),
    isForeign({ origin: 'https://evil.example', isVisit: true }),
  ]).toEqual([false, false, true, true, true, true, true, true, false, true, true]);
});
