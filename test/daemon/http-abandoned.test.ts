/** Callers that leave in the middle, and a daemon that does: neither leaves the other without a word. */
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { eventually } from '../support/processes.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';
import { openDaemon, told } from './support.ts';
import type { Daemon } from './support.ts';

let sandbox: Sandbox;
let daemon: Daemon;
beforeEach(async () => {
  sandbox = createSandbox();
  daemon = await openDaemon(sandbox);
});
afterEach(async () => {
  await daemon.stop();
  await sandbox.cleanUp();
});

it('what never becomes a request has an answer as safe as any other', async () => {
  const host = `Host: 127.0.0.1:${daemon.port}`;
  for (const [text, status] of [
    ['nonsense\r\n\r\n', 400],
    [`GET / HTTP/1.1\r\n${host}\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    [`GET / HTTP/1.1\r\n${host}\r\nExpect: wonders\r\n\r\n`, 417],
    ['GET / HTTP/1.1\r\n\r\n', 400],
    ['GET / HTTP/1.1\r\nHost:\r\n\r\n', 400],
    ['GET / HTTP/1.1\r\nHost: a b\xff/\r\n\r\n', 400],
    ['GET / HTTP/1.0\r\n\r\n', 400],
    [`OPTIONS * HTTP/1.1\r\n${host}\r\n\r\n`, 400],
    [`GET * HTTP/1.1\r\n${host}\r\n\r\n`, 400],
    [`GET http://[/ HTTP/1.1\r\n${host}\r\n\r\n`, 400],
    [`POST http:// HTTP/1.1\r\n${host}\r\nContent-Length: 100000\r\n\r\nx`, 400],
    [`CONNECT elsewhere:443 HTTP/1.1\r\n${host}\r\n\r\n`, 501],
  ] as const) {
    const socket = connect(daemon.port, '127.0.0.1');
    let answer = '';
    socket.on('data', (chunk) => (answer += String(chunk)));
    // Who is refused before all was sent cannot send the rest; the answer is there all the same.
    socket.on('error', () => {});
    socket.write(text, 'latin1');
    await new Promise((resolve) => socket.once('close', resolve));
    expect([text, answer.slice(0, 12)]).toEqual([text, `HTTP/1.1 ${status}`]);
    for (const header of [
      'content-security-policy: ',
      'x-content-type-options: nosniff',
      "frame-ancestors 'none'",
      'referrer-policy: no-referrer',
      'cache-control: no-store',
    ])
      expect(answer).toContain(header);
  }
});

describe('a request that is broken off in its body', () => {
  const LENGTH = ['content-length: 1000', '{"argv":["tr'] as const;
  const CHUNKED = ['transfer-encoding: chunked', '5\r\n{"arg\r\n'] as const;

  it.each([
    ['/v1/run', ...LENGTH],
    ['/v1/run', ...CHUNKED],
    ['/v1/submit', ...LENGTH],
    ['/sign-in', ...LENGTH],
    ['/sign-in', ...CHUNKED],
  ])('to %s with %s leaves no stack trace in the log', async (path, header, body) => {
    const socket = connect(daemon.path('socket'));
    socket.on('error', () => {});
    socket.write(
      `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n${header}\r\n\r\n${body}`,
    );
    // What was written is read in order, and one connection is accepted after the other.
    await daemon.ask('GET', '/v1/daemon');
    socket.destroy();
    expect(told(await daemon.ask('GET', '/v1/daemon'))).toBe('200 ok');
    // All that it had to say is in its log once it is gone.
    await daemon.stop();
    expect(readFileSync(daemon.path('log'), 'utf8').split('\n').filter(Boolean)).toEqual([
      expect.stringContaining('reeve serves'),
    ]);
  });
});

describe('a daemon that ends while something is being done for somebody', () => {
  const stubborn = async () => {
    const script = 'trap "" TERM; echo ready; while :; do sleep 1; done';
    const words = ['run', '--detach', '-s', 'stubborn', '--', 'sh', '-c', script];
    const { run } = await sandbox.json<SessionView>(words);
    await eventually('it ignores SIGTERM', () => readFileSync(run.logPath ?? '', 'utf8').includes('ready'));
  };
  const intent = () =>
    eventually('the intent is on record', async () => (await sandbox.show('stubborn')).run.reason !== null);

  it.each(['socket', 'loopback'] as const)(
    'answers over the %s that it did not finish, and what was begun is on record',
    async (via) => {
      await stubborn();
      const asked = daemon.ask('POST', '/v1/sessions/stubborn/stop', { via, body: { graceSeconds: 60 } });
      await intent();
      const [answer] = await Promise.all([asked, daemon.stop()]);
      expect(told(answer)).toBe('503 daemon_stopping');
      expect(answer.json().error.hint).toContain('on record');
      expect((await sandbox.show('stubborn')).run).toMatchObject({ state: 'running', liveness: 'alive' });
      await sandbox.json(['kill', 'stubborn']);
      expect((await sandbox.show('stubborn')).run.outcome).toBe('stopped');
    },
  );

  it('finishes first what takes no more than a moment', async () => {
    await stubborn();
    const asked = daemon.ask('POST', '/v1/sessions/stubborn/stop', { body: { graceSeconds: 2 } });
    await intent();
    const [answer] = await Promise.all([asked, daemon.stop()]);
    expect(told(answer)).toBe('200 ok');
    expect((await sandbox.show('stubborn')).run.outcome).toBe('stopped');
  });
});
