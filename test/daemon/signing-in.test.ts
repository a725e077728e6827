/** How a browser is signed in and out, and that nobody else is by it. */
import { once } from 'node:events';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchIn } from '../support/launch.ts';
import { eventually, see, signalSeen } from '../support/processes.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';
import { openDaemon, passFor, runWithToken, told } from './support.ts';
import type { Daemon, Question } from './support.ts';

let sandbox: Sandbox;
let daemon: Daemon;
beforeAll(async () => {
  sandbox = createSandbox();
  daemon = await openDaemon(sandbox);
});
afterAll(async () => {
  await daemon.stop();
  await sandbox.cleanUp();
});

const loopback = async (headers: Question['headers'] = {}, path = '/v1/sessions') =>
  told(await daemon.ask('GET', path, { via: 'loopback', headers }));

describe('a link', () => {
  it('gives the page a cookie that opens, and that only this machine’s page sends', async () => {
    const { url } = (await daemon.ask('POST', '/v1/link', { body: {} })).json<{ url: string }>();
    expect(url.startsWith(`${daemon.url}/open?key=`)).toBe(true);
    const path = url.slice(daemon.url.length);
    const answer = await daemon.ask('GET', path, { via: 'loopback', headers: { authorization: null } });
    expect({ status: answer.status, to: answer.headers.location }).toEqual({ status: 303, to: '/' });
    const [cookie = ''] = answer.headers['set-cookie'] ?? [];
    expect(cookie.split('; ').slice(1)).toEqual(
      expect.arrayContaining(['Path=/', 'HttpOnly', 'SameSite=Strict']),
    );
    const pass = cookie.split(';')[0] ?? '';
    expect(await loopback({ cookie: pass })).toBe('200 ok');
    expect(await loopback({ cookie: `other=1; ${pass}; more=2` })).toBe('200 ok');
    expect(pass).not.toContain(daemon.token);
    for (const wrong of [
      `x${pass}`,
      `${pass}x`,
      pass.slice(0, -1),
      'reeve=',
      `reeve=${daemon.token}`,
      'other=1',
    ])
      expect({ wrong, is: await loopback({ cookie: wrong }) }).toEqual({ wrong, is: '401 unauthorised' });

    const again = await daemon.ask('GET', path, { via: 'loopback', headers: { authorization: null } });
    expect({ status: again.status, cookie: again.headers['set-cookie'] }).toEqual({
      status: 401,
      cookie: undefined,
    });
  });

  it('that nobody made opens nothing', async () => {
    for (const path of ['/open', '/open?key=', '/open?key=made-up', `/open?key=${daemon.token}`]) {
      const answer = await daemon.ask('GET', path, { via: 'loopback', headers: { authorization: null } });
      expect({ status: answer.status, cookie: answer.headers['set-cookie'] }).toEqual({
        status: 401,
        cookie: undefined,
      });
    }
  });

  it('has a code that signs in as well, once, and is told to nobody by a guess', async () => {
    const { code, url } = (await daemon.ask('POST', '/v1/link', { body: {} })).json<{
      code: string;
      url: string;
    }>();
    const signIn = (body: unknown, headers: Question['headers'] = {}) =>
      daemon.ask('POST', '/sign-in', { via: 'loopback', headers: { authorization: null, ...headers }, body });
    expect(told(await signIn({ code: 'WRONGONE' }))).toBe('401 unauthorised');
    expect(told(await signIn({}))).toBe('401 unauthorised');
    expect(told(await signIn(null))).toBe('401 unauthorised');
    expect(told(await signIn({ code }, { 'content-type': 'text/plain' }))).toBe('400 usage');
    expect(told(await signIn({ code }, { origin: 'https://evil.example' }))).toBe('403 forbidden');
    expect(told(await signIn({ code: 'x'.repeat(5_000) }))).toBe('413 too_large');
    const json = { 'content-type': 'application/json' };
    for (const text of ['x', '', '{"code":', '\ufeff\0', Buffer.from([0xff, 0xfe])])
      expect(told(await signIn(text, json))).toBe('400 usage');
    expect(readFileSync(daemon.path('log'), 'utf8')).not.toContain('failed');
    const answer = await signIn({ code });
    expect(await loopback({ cookie: answer.headers['set-cookie']?.[0]?.split(';')[0] ?? '' })).toBe('200 ok');
    expect(told(await signIn({ code }))).toBe('401 unauthorised');
    const link = await daemon.ask('GET', url.slice(daemon.url.length), { via: 'loopback' });
    expect(link.status).toBe(401);
  });

  it('is made over the socket only, and not for a run', async () => {
    const ask = async (question: Question) =>
      told(await daemon.ask('POST', '/v1/link', { body: {}, ...question }));
    expect(await ask({ via: 'loopback' })).toBe('403 forbidden');
    expect(await ask({ via: 'loopback', headers: { cookie: await passFor(daemon) } })).toBe('403 forbidden');
    const { bearer } = await runWithToken(sandbox, 'linker');
    expect(await ask({ headers: { authorization: bearer } })).toBe('403 forbidden');
    await sandbox.json(['kill', 'linker']);
  });

  it('never stands in a command line: the browser is given a file of this user’s alone', async () => {
    const bin = sandbox.path('bin');
    mkdirSync(bin);
    const seen = sandbox.path('browser-argv');
    writeFileSync(join(bin, 'xdg-open'), `#!/bin/sh\nprintf '%s\\n' "$@" > '${seen}'\n`, { mode: 0o755 });
    const env = { DISPLAY: ':9', PATH: `${bin}:${sandbox.env['PATH']}` };
    const { stdout } = await sandbox.reeve(['open'], { env });
    const argv = readFileSync(seen, 'utf8').trim();
    const file = fileURLToPath(argv);
    expect(dirname(file)).toBe(daemon.path(''));
    expect((statSync(file).mode & 0o777).toString(8)).toBe('600');
    const url = /url=([^"]+)/.exec(readFileSync(file, 'utf8'))?.[1] ?? '';
    const key = new URL(url).searchParams.get('key') ?? '';
    expect(key).toMatch(/^[\w-]{32}$/);
    expect(`${argv}${stdout}`).not.toContain(key);
    const answer = await daemon.ask('GET', url.slice(daemon.url.length), {
      via: 'loopback',
      headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', authorization: null },
    });
    expect(answer.status).toBe(303);
  });
});

describe('signing out', () => {
  it('ends every browser’s cookie and stream, and nobody else’s', async () => {
    const cookie = await passFor(daemon);
    const accept = { accept: 'text/event-stream' };
    const [ofBrowser, ofProgram] = await Promise.all([
      daemon.stream('/v1/events', { via: 'loopback', headers: { ...accept, cookie } }),
      daemon.stream('/v1/events', { via: 'loopback', headers: accept }),
    ]);
    expect(await sandbox.json(['open', '--sign-out'])).toMatchObject({ signedOut: expect.any(Number) });
    await ofBrowser.ended;
    expect(await loopback({ cookie })).toBe('401 unauthorised');
    expect(await loopback()).toBe('200 ok');
    await launchIn(sandbox, 'after', 'sleep', '60');
    await eventually('the program is told', () => ofProgram.events().length > 0);
    ofProgram.close();
    await sandbox.json(['kill', 'after']);
  });
});

describe('a browser that was signed in', () => {
  afterAll(() => sandbox.json(['serve', 'stop']));
  const portOf = async () => (await sandbox.json<{ url: string }>(['serve', 'status'])).url;

  it('is so for a daemon that takes over at once', async () => {
    const cookie = await passFor(daemon);
    await sandbox.json(['serve', '--detach', '--replace']);
    expect([await portOf(), await loopback({ cookie })]).toEqual([daemon.url, '200 ok']);
  });

  // For a while anybody may have listened where its page asks, and been shown the cookie.
  it('is so no more after a daemon that was killed', async () => {
    const cookie = await passFor(daemon);
    const { pid } = await sandbox.json<{ pid: number }>(['serve', 'status']);
    signalSeen(see(pid), 'SIGKILL');
    await sandbox.json(['serve', '--detach']);
    expect([await portOf(), await loopback({ cookie })]).toEqual([daemon.url, '401 unauthorised']);
  });

  it('is so no more where another program has the port, and the log says where the page is', async () => {
    const cookie = await passFor(daemon);
    await sandbox.json(['serve', 'stop']);
    const squatter = createServer().listen(daemon.port, '127.0.0.1');
    await once(squatter, 'listening');
    const { url } = await sandbox.json<{ url: string }>(['serve', '--detach']);
    squatter.close();
    await once(squatter, 'close');
    expect(url).not.toBe(daemon.url);
    expect(readFileSync(daemon.path('log'), 'utf8')).toContain(
      `every browser has to be signed in anew (reeve open); it is at port ${new URL(url).port}`,
    );
    const answer = await fetch(`${url}/v1/sessions`, { headers: { cookie } });
    expect(answer.status).toBe(401);
  });
});
