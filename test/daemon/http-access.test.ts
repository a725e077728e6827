/** Who may ask the daemon, and what becomes of those who may not. */
import { connect } from 'node:net';
import type { NetConnectOpts } from 'node:net';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchIn } from '../support/launch.ts';
import { eventually } from '../support/processes.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';
import { openDaemon, passFor, runWithToken, told } from './support.ts';
import type { Daemon, Question } from './support.ts';

const SECRET = 'environment-value-9f3b';
const PROMPT = 'prompt-text-77c1';

let sandbox: Sandbox;
let daemon: Daemon;
beforeAll(async () => {
  sandbox = createSandbox({ A_SECRET: SECRET });
  daemon = await openDaemon(sandbox);
});
afterAll(async () => {
  await daemon.stop();
  await sandbox.cleanUp();
});

const look = async (question: Question, path = '/v1/sessions') =>
  told(await daemon.ask('GET', path, question));
const loopback = (headers: Question['headers'] = {}, path?: string) =>
  look({ via: 'loopback', headers }, path);
const socket = (headers: Question['headers'] = {}, path?: string) => look({ headers }, path);

/** The bytes as they are, for what no client would send. */
const raw = (text: string) => rawOn({ host: '127.0.0.1', port: daemon.port }, text);

function rawOn(place: NetConnectOpts, text: string): Promise<string> {
  return new Promise((resolve) => {
    const connection = connect(place);
    let answer = '';
    connection.on('data', (chunk) => (answer += String(chunk)));
    // Who is refused before all was sent cannot send the rest; the answer is there all the same.
    connection.on('error', () => {});
    connection.once('close', () => resolve(answer));
    connection.write(text);
  });
}

describe('where a request is addressed to', () => {
  it('is the loopback by number or name, with the port', async () => {
    expect(await loopback({ host: `127.0.0.1:${daemon.port}` })).toBe('200 ok');
    expect(await loopback({ host: `localhost:${daemon.port}` })).toBe('200 ok');
  });

  it.each([
    ['another name', () => `reeve.example:${daemon.port}`],
    ['a name that begins like its own', () => `localhost.example:${daemon.port}`],
    ['a name that ends like its own', () => `evil-127.0.0.1:${daemon.port}`],
    ['no port', () => '127.0.0.1'],
    ['no port, by name', () => 'localhost'],
    ['another port', () => `127.0.0.1:${daemon.port + 1}`],
    ['IPv6', () => `[::1]:${daemon.port}`],
    ['every address', () => `0.0.0.0:${daemon.port}`],
    ['another address of the loopback', () => `127.0.0.2:${daemon.port}`],
    ['its own in capitals', () => `LOCALHOST:${daemon.port}`],
    ['its own with a dot behind', () => `localhost.:${daemon.port}`],
  ])('is refused with %s, token or not', async (_, host) => {
    expect(await loopback({ host: host() })).toBe('403 forbidden');
    expect(await loopback({ host: host(), authorization: null })).toBe('403 forbidden');
    expect(await loopback({ host: host(), authorization: null }, '/healthz')).toBe('403 forbidden');
  });

  it('is refused when it says two things, or nothing', async () => {
    const own = `host: 127.0.0.1:${daemon.port}\r\n`;
    const line = `authorization: Bearer ${daemon.token}\r\nconnection: close\r\n\r\n`;
    const statuses = await Promise.all(
      [`${own}host: evil.example\r\n`, `host: evil.example\r\n${own}`, '', 'host:\r\n'].map(async (hosts) =>
        (await raw(`GET /v1/sessions HTTP/1.1\r\n${hosts}${line}`)).slice(0, 12),
      ),
    );
    expect(statuses.filter((status) => !/^HTTP\/1\.1 40[03]$/.test(status))).toEqual([]);
    expect((await raw(`GET /v1/sessions HTTP/1.1\r\n${own}${line}`)).slice(0, 12)).toBe('HTTP/1.1 200');
  });

  it('cannot be hidden behind an absolute address', async () => {
    const answer = await raw(
      `GET http://127.0.0.1:${daemon.port}/v1/sessions HTTP/1.1\r\nhost: evil.example\r\nauthorization: Bearer ${daemon.token}\r\nconnection: close\r\n\r\n`,
    );
    expect(answer.slice(0, 12)).toBe('HTTP/1.1 403');
  });
});

describe('a page that sends a request', () => {
  it('is the daemon’s own', async () => {
    expect(await loopback({ origin: daemon.url, 'sec-fetch-site': 'same-origin' })).toBe('200 ok');
    expect(await loopback({ origin: `http://localhost:${daemon.port}` })).toBe('200 ok');
    expect(await loopback({ 'sec-fetch-site': 'none' })).toBe('200 ok');
  });

  it.each([
    ['of another site', () => ({ origin: 'https://evil.example' })],
    ['without an origin', () => ({ origin: 'null' })],
    ['of another port', () => ({ origin: `http://127.0.0.1:${daemon.port + 1}` })],
    ['of another scheme', () => ({ origin: `https://127.0.0.1:${daemon.port}` })],
    ['of an origin that begins like its own', () => ({ origin: `${daemon.url}.evil.example` })],
    ['of an origin that is empty', () => ({ origin: '' })],
    ['of another site, by what the browser says', () => ({ 'sec-fetch-site': 'cross-site' })],
    ['of the same site, by what the browser says', () => ({ 'sec-fetch-site': 'same-site' })],
    ['of what the browser may say one day', () => ({ 'sec-fetch-site': 'unheard-of' })],
  ])('is refused when it is one %s, whatever it shows', async (_, headers) => {
    const pass = { cookie: await passFor(daemon) };
    expect(await loopback(headers())).toBe('403 forbidden');
    expect(await loopback({ ...headers(), ...pass })).toBe('403 forbidden');
    expect(await loopback(headers(), '/')).toBe('403 forbidden');
    const act = await daemon.ask('DELETE', '/v1/sessions/none', { via: 'loopback', headers: headers() });
    expect(told(act)).toBe('403 forbidden');
  });

  it('is refused over the socket, which no browser reaches', async () => {
    expect(await socket({ origin: daemon.url })).toBe('403 forbidden');
    expect(await socket({ origin: 'null' })).toBe('403 forbidden');
    expect(await socket({ host: 'whatever.example' })).toBe('200 ok');
  });

  it('is not told in a preflight that it may', async () => {
    const answer = await daemon.ask('OPTIONS', '/v1/run', {
      via: 'loopback',
      headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
    });
    expect(told(answer)).toBe('403 forbidden');
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  it('is kept from loading or being framed by anything else, in every answer', async () => {
    const { paths } = (await daemon.ask('GET', '/openapi.json')).json<{ paths: Record<string, object> }>();
    const page = (await daemon.ask('GET', '/', { via: 'loopback' })).text;
    const assets = [...page.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path]) => path ?? '');
    expect(assets.length).toBeGreaterThan(1);
    const asked = [
      ...Object.keys(paths).map((path) => path.replaceAll(/\{\w+\}/g, 'none')),
      '/',
      '/s/none',
      '/reviews',
      '/open?key=none',
      '/docs',
      '/docs.css',
      '/openapi.json',
      '/healthz',
      '/metrics',
      '/v1/none',
      '/none',
      '/%00',
      ...assets,
    ];
    const askers = [{}, { authorization: null }, { origin: 'https://evil.example' }];
    for (const path of asked) {
      for (const headers of askers) {
        const answer = await daemon.ask('HEAD', path, { via: 'loopback', headers });
        expect({ path, headers, ...answer.headers }).toMatchObject({
          path,
          'content-security-policy': expect.stringMatching(/default-src 'self'.*frame-ancestors 'none'/),
          'x-content-type-options': 'nosniff',
          'referrer-policy': 'no-referrer',
          'cache-control': 'no-store',
        });
      }
    }
  });

  it('may lead a person to the page, which holds nothing, and to nothing else', async () => {
    const coming = {
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'document',
    };
    const visits = ['/', '/reviews', '/s/web'].map((path) =>
      daemon.ask('GET', path, { via: 'loopback', headers: { ...coming, authorization: null } }),
    );
    expect((await Promise.all(visits)).map(({ status }) => status)).toEqual([200, 200, 200]);
    const pass = { cookie: await passFor(daemon) };
    for (const path of ['/v1/sessions', '/healthz', '/metrics', '/docs', '/openapi.json', '/v1/none'])
      expect(await loopback({ ...coming, ...pass }, path)).toBe('403 forbidden');
    const post = await daemon.ask('POST', '/', {
      via: 'loopback',
      headers: { ...coming, ...pass },
      body: {},
    });
    expect(told(post)).toBe('403 forbidden');
    expect(await loopback({ ...coming, 'sec-fetch-mode': 'no-cors' }, '/')).toBe('403 forbidden');
  });
});

describe('the token', () => {
  it('opens over the loopback, and nothing like it does', async () => {
    const { token } = daemon;
    const swapped = token.startsWith('A') ? `B${token.slice(1)}` : `A${token.slice(1)}`;
    expect(await loopback()).toBe('200 ok');
    expect(await loopback({ authorization: `bearer ${token}` })).toBe('200 ok');
    for (const authorization of [
      null,
      '',
      'Bearer',
      'Bearer ',
      `Bearer ${swapped}`,
      `Bearer ${token.slice(0, -1)}`,
      `Bearer ${token}x`,
      `Bearer ${token} ${token}`,
      `Bearer ${'x'.repeat(5_000)}`,
      `Basic ${Buffer.from(`reeve:${token}`).toString('base64')}`,
      token,
    ]) {
      expect({ authorization, is: await loopback({ authorization }) }).toEqual({
        authorization,
        is: '401 unauthorised',
      });
    }
  });

  it('is not taken from the address', async () => {
    const { token } = daemon;
    expect(await loopback({ authorization: null }, `/v1/sessions?token=${token}&access_token=${token}`)).toBe(
      '401 unauthorised',
    );
  });

  it('is not needed over the socket; but what is shown there and opens nothing is refused', async () => {
    expect(await socket()).toBe('200 ok');
    expect(await socket({ authorization: `Bearer ${daemon.token}` })).toBe('200 ok');
    for (const authorization of [
      'Bearer wrong',
      'Bearer ',
      `bearer r-none.${'x'.repeat(43)}`,
      `Bearer r-none.${'x'.repeat(500)}`,
      'Bearer r-none.not!a!token',
      'Basic cmVldmU6',
    ]) {
      expect({ authorization, is: await socket({ authorization }) }).toEqual({
        authorization,
        is: '401 unauthorised',
      });
    }
  });

  it('guards everything but the page and a word on whether it lives', async () => {
    const open = await Promise.all(
      ['/v1/sessions', '/v1/daemon', '/openapi.json', '/docs', '/metrics', '/v1/events', '/v1/none'].map(
        (path) => loopback({ authorization: null }, path),
      ),
    );
    expect([...new Set(open)]).toEqual(['401 unauthorised']);
    for (const authorization of [null, 'Bearer wrong', 'Bearer r-made.up']) {
      const health = await daemon.ask('GET', '/healthz', { via: 'loopback', headers: { authorization } });
      expect({ authorization, health: health.json() }).toEqual({ authorization, health: { status: 'well' } });
    }
  });

  it('is in a file for this user alone, as are the socket and the directory', () => {
    const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);
    expect({
      directory: mode(daemon.path('')),
      socket: mode(daemon.path('socket')),
      token: mode(daemon.path('token')),
      record: mode(daemon.path('daemon.json')),
      log: mode(daemon.path('log')),
      home: mode(sandbox.home),
    }).toEqual({ directory: '700', socket: '600', token: '600', record: '600', log: '600', home: '700' });
    expect(daemon.token).toMatch(/^[\w-]{43}$/);
  });
});

describe('what is sent', () => {
  const post = async (type: string | null, body: unknown, path = '/v1/run') =>
    told(await daemon.ask('POST', path, { headers: { 'content-type': type }, body }));

  it.each([
    [null],
    ['text/plain'],
    ['application/x-www-form-urlencoded'],
    ['multipart/form-data; boundary=x'],
    ['application/jsonp'],
    ['application/json;'],
    ['text/plain; application/json'],
  ])('is JSON and says so: %s does nothing', async (type) => {
    await launchIn(sandbox, 'kept', 'sleep', '60');
    expect(await post(type, '{}', '/v1/sessions/kept/kill')).toBe('400 usage');
    expect((await sandbox.show('kept')).run.state).toBe('running');
    await sandbox.json(['kill', 'kept']);
  });

  it('is JSON for a link too', async () => {
    expect([await post(null, '', '/v1/link'), await post('text/plain', '{}', '/v1/link')]).toEqual([
      '400 usage',
      '400 usage',
    ]);
  });

  it.each(['', '{', 'null', '[]', '"text"', '{"argv":["true"],', '\u0000'])(
    'is refused as a mistake of the sender when it is %j',
    async (body) => {
      expect(await post('application/json', body)).toBe('400 usage');
    },
  );

  it('has a limit, told beforehand or found on the way', async () => {
    const limit = 1024 * 1024;
    const head =
      'POST /v1/run HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nconnection: close\r\n';
    const place = { path: daemon.path('socket') };
    const answers = await Promise.all([
      // Not a byte of it is waited for.
      rawOn(place, `${head}content-length: ${limit + 1}\r\n\r\n`),
      // Its last piece is one byte too many, and there is no end of it.
      rawOn(
        place,
        `${head}transfer-encoding: chunked\r\n\r\n${(limit + 1).toString(16)}\r\n${'x'.repeat(limit + 1)}\r\n`,
      ),
    ]);
    expect(answers.map((answer) => [answer.slice(9, 12), /"code":"(\w+)"/.exec(answer)?.[1]])).toEqual([
      ['413', 'too_large'],
      ['413', 'too_large'],
    ]);
    const most = JSON.stringify({ unknown: 'x'.repeat(limit - 14) });
    expect([most.length, await post('application/json', most)]).toEqual([limit, '400 usage']);
  });

  it('has a limit for its headers and its address too', async () => {
    expect(await socket({ 'x-long': 'y'.repeat(20_000) })).toBe('431');
    expect(await socket({}, `/v1/sessions?ids=${'a'.repeat(20_000)}`)).toBe('431');
    expect(await socket({}, `/v1/sessions?ids=${'a'.repeat(14_000)}`)).toBe('400 usage');
    expect(await socket({}, `/v1/sessions/${'a'.repeat(5_000)}`)).toBe('400 usage');
  });

  it.each([
    ['GET', '/v1/sessions/..%2f..%2f..%2fetc%2fpasswd', '404 not_found'],
    ['GET', '/../../../../etc/passwd', '404 not_found'],
    ['GET', '/..%2f..%2fdaemon%2ftoken', '404 not_found'],
    ['GET', '/s/..%2f..%2fdaemon%2ftoken', '200'],
    ['GET', '//v1/sessions', '404 not_found'],
    ['GET', '/v1/sessions/%zz', '404 not_found'],
    ['GET', '/v1/sessions/%', '404 not_found'],
    ['GET', '/v1/sessions/%ff%fe', '404 not_found'],
    ['GET', '/v1/sessions/', '404 not_found'],
    ['GET', '/v1/sessions/%20', '404 not_found'],
    ['GET', '/v1/sessions/%25', '404 not_found'],
    ['PUT', '/v1/sessions', '404 not_found'],
    ['PATCH', '/v1/sessions', '404 not_found'],
    ['TRACE', '/v1/sessions', '404 not_found'],
    ['OPTIONS', '/v1/sessions', '404 not_found'],
    ['DELETE', '/v1/sessions', '404 not_found'],
    ['GET', '/v1/run', '404 not_found'],
  ])('is an error of its own when it is odd: %s %s', async (method, path, expected) => {
    expect(told(await daemon.ask(method, path))).toBe(expected);
  });

  it('with a NUL in a session’s name reaches none that only begins like it', async () => {
    const { run } = await launchIn(sandbox, 'a', 'sleep', '60');
    for (const [method, path, body] of [
      ['POST', '/v1/sessions/a%00b/kill', {}],
      ['POST', '/v1/sessions/a%00/stop', {}],
      ['POST', `/v1/sessions/${run.id}%00/kill`, {}],
      ['POST', '/v1/sessions/a%00/resume', { onLive: 'retire' }],
      ['DELETE', '/v1/sessions/a%00', undefined],
      ['GET', '/v1/sessions/a%00', undefined],
    ] as const)
      expect(told(await daemon.ask(method, path, { body }))).toBe('404 not_found');
    expect((await sandbox.show('a')).run).toMatchObject({ id: run.id, state: 'running' });
    await sandbox.json(['kill', 'a']);
    await sandbox.json(['rm', 'a']);
  });
});

it('neither the log nor the figures contain a prompt, a value of the environment, or a token', async () => {
  const run = { argv: ['sh', '-c', `: ${PROMPT}; exec sleep 60`], session: 'quiet', cwd: sandbox.root };
  const post = (path: string, body: unknown, headers = {}) =>
    daemon.ask('POST', path, { body, headers: { 'content-type': 'application/json', ...headers } });
  const { bearer } = await runWithToken(sandbox, 'told');
  await Promise.all([
    post('/v1/run', run),
    post('/v1/run', { ...run, argv: [`no-such-${PROMPT}`], session: 'never' }),
    post('/v1/run', { ...run, argv: [`nul\0${PROMPT}`] }),
    post('/v1/run', { ...run, cwd: `/none/${PROMPT}` }),
    post('/v1/run', { ...run, cwd: `${sandbox.root}\0${PROMPT}` }),
    post('/v1/run', { ...run, unknown: PROMPT }),
    post('/v1/run', { ...run, session: `${PROMPT} !` }),
    post('/v1/run', `{"argv":["${PROMPT}"`),
    post('/v1/sessions/quiet/send', { text: PROMPT }),
    post('/v1/sessions/quiet/resume', { prompt: `${PROMPT}\0`, onLive: 'retire' }),
    post(`/v1/sessions/${PROMPT}/stop`, {}),
    post('/v1/heartbeat', {}, { authorization: `${bearer}x` }),
    post('/v1/heartbeat', {}, { authorization: bearer }),
    daemon.ask('GET', `/v1/sessions/${PROMPT}`, { headers: { authorization: `Bearer ${PROMPT}` } }),
    daemon.ask('GET', `/v1/events?after=${PROMPT}`, { headers: { accept: 'text/event-stream' } }),
    daemon.ask('GET', `/open?key=${PROMPT}`, { via: 'loopback' }),
    loopback({ host: `${PROMPT}.example`, cookie: `reeve=${PROMPT}` }),
  ]);
  const stream = await daemon.stream('/v1/sessions/quiet/logs?follow=true');
  await sandbox.json(['kill', 'quiet']);
  await stream.ended;
  await sandbox.json(['kill', 'told']);
  const figures = (await daemon.ask('GET', '/metrics')).text;
  const health = (await daemon.ask('GET', '/healthz')).text;
  const log = readFileSync(daemon.path('log'), 'utf8');
  const token = bearer.split('.')[1] ?? 'none';
  for (const [name, text] of Object.entries({ figures, health, log })) {
    const found = [PROMPT, SECRET, daemon.token, token].filter((secret) => text.includes(secret));
    expect({ name, found }).toEqual({ name, found: [] });
  }
  // None of these was a failure of the daemon's own.
  expect(log.split('\n').filter((line) => line.includes('failed'))).toEqual([]);
});

it.each([
  ['nothing', ''],
  ['another length', 'short\n'],
  ['what no header can carry', `${'é'.repeat(43)}\n`],
  ['two of them', `${'a'.repeat(43)}\n${'b'.repeat(43)}\n`],
])('a token file that holds %s is replaced, and closed to others', async (_, content) => {
  const before = daemon.token;
  await daemon.stop();
  writeFileSync(daemon.path('token'), content, { mode: 0o644 });
  await daemon.restart();
  expect(daemon.token).toMatch(/^[\w-]{43}$/);
  expect([before, content.trim()]).not.toContain(daemon.token);
  expect(statSync(daemon.path('token')).mode & 0o777).toBe(0o600);
  expect(await loopback()).toBe('200 ok');
});

it('token and port outlive a daemon that was killed', async () => {
  const { token, port } = daemon;
  await daemon.kill();
  await daemon.restart();
  expect({ token: daemon.token, port: daemon.port }).toEqual({ token, port });
});

describe('somebody who has nothing to show', () => {
  it('is not read from: a run’s made-up token says next to nothing', async () => {
    const announce = (path: string, length: number) =>
      raw(
        `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1:${daemon.port}\r\nauthorization: Bearer r-made.up\r\n` +
          `content-type: application/json\r\ncontent-length: ${length}\r\nconnection: close\r\n\r\n`,
      );
    // Not a byte of them is waited for.
    const answers = await Promise.all(
      ['/v1/submit', '/v1/usage/add', '/v1/reviews/rev-1/submit'].map((path) => announce(path, 5_000)),
    );
    expect(answers.map((answer) => answer.slice(0, 12))).toEqual(Array(3).fill('HTTP/1.1 413'));
  });

  it('keeps nobody out by connections that ask nothing, or half of something', async () => {
    const place = { host: '127.0.0.1', port: daemon.port };
    const held = Array.from({ length: 600 }, (_, index) => {
      const connection = connect(place, () => {
        if (index % 2 === 0) connection.write('GET /healthz HTTP/1.1\r\nhost: 127.0.0.1');
      });
      connection.on('error', () => {});
      return connection;
    });
    await Promise.all(
      held.map((each) => new Promise((resolve) => each.once('connect', resolve).once('close', resolve))),
    );
    expect(await loopback()).toBe('200 ok');
    expect(await socket()).toBe('200 ok');
    for (const each of held) each.destroy();
  });

  it('cannot make the daemon hold more than it can: what is too much together is put off', async () => {
    const { bearer } = await runWithToken(sandbox, 'large');
    const length = 6 * 1024 * 1024;
    const sending = Array.from({ length: 12 }, () => {
      const connection = connect({ path: daemon.path('socket') });
      connection.on('error', () => {});
      connection.write(
        `POST /v1/submit HTTP/1.1\r\nhost: x\r\nauthorization: ${bearer}\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n{`,
      );
      return {
        connection,
        status: new Promise<string>((resolve) => connection.once('data', (chunk) => resolve(String(chunk)))),
      };
    });
    const busy = await Promise.any(sending.map(({ status }) => status));
    expect(busy).toMatch(/^HTTP\/1\.1 409 [^]*"busy"/);
    for (const { connection } of sending) connection.destroy();
    await eventually(
      'there is room again',
      async () =>
        (await daemon.ask('POST', '/v1/submit', { headers: { authorization: bearer }, body: { data: 'x' } }))
          .status === 200,
    );
    await sandbox.json(['kill', 'large']);
  });
});
