/** The daemon's own beginning and end: it comes up whole or says why not, and nothing depends on it. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { eventually, isAlive, see, signalSeen, startedWith } from '../support/processes.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';
import { openDaemon } from './support.ts';
import type { Failure } from './support.ts';

let sandbox: Sandbox;
const homes: string[] = [];
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(async () => {
  // Only a test that failed leaves one.
  for (const home of homes.splice(0))
    for (const stray of startedWith(`REEVE_HOME=${home}`)) signalSeen(stray, 'SIGKILL');
  await sandbox.cleanUp();
});

/** What `serve` says when it cannot, in the background and here; neither may stay. */
async function refused(home: string, ...flags: readonly string[]): Promise<readonly string[]> {
  homes.push(home);
  const codes: string[] = [];
  for (const how of [['--detach'], []]) {
    const words = ['serve', '--json', ...how, ...flags];
    const { code, stdout } = await sandbox.reeve(words, { env: { REEVE_HOME: home } });
    const { error } = JSON.parse(stdout) as Failure;
    codes.push(`${code} ${error.code}`);
  }
  await eventually('no daemon is left', () => startedWith(`REEVE_HOME=${home}`).length === 0);
  return codes;
}

describe('a daemon that cannot start', () => {
  const homeOf = (socketBytes: number) => {
    const fixed = Buffer.byteLength(join(sandbox.root, '/daemon/socket'));
    return join(sandbox.root, 'x'.repeat(socketBytes - fixed - 1));
  };

  it('because the path of its socket is too long says so, and ends', async () => {
    expect(await refused(homeOf(108))).toEqual(['1 failed', '1 state_directory']);
    expect(await refused(homeOf(160))).toEqual(['1 failed', '1 state_directory']);
  });

  it('is none as long as the path is not too long', async () => {
    const env = { REEVE_HOME: homeOf(process.platform === 'darwin' ? 103 : 107) };
    expect((await sandbox.reeve(['serve', '--detach', '--json'], { env })).code).toBe(0);
    expect(statSync(join(env.REEVE_HOME, 'daemon', 'socket')).mode & 0o777).toBe(0o600);
    expect((await sandbox.reeve(['serve', 'stop', '--json'], { env })).code).toBe(0);
  });

  it('because its port is taken says so, and ends', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const address = other.address();
    const port = typeof address === 'object' ? String(address?.port) : '';
    expect(await refused(sandbox.home, '--port', port)).toEqual(['1 failed', '1 failed']);
    other.close();
  });

  it('because its token cannot be read or written says so, and ends', async () => {
    mkdirSync(join(sandbox.home, 'daemon', 'token'), { recursive: true, mode: 0o700 });
    writeFileSync(join(sandbox.home, 'daemon', 'token', 'something'), '');
    expect(await refused(sandbox.home)).toEqual(['1 failed', '7 unproven']);
    rmSync(join(sandbox.home, 'daemon'), { recursive: true });
  });

  it.each([
    '',
    '{}',
    'null',
    '7',
    '[]',
    '{"process":{}}',
    '{"process":{"pid":1},"port":"80"}',
    '{"port":-5}',
  ])('is not one that finds a record of nobody: %j', async (record) => {
    mkdirSync(join(sandbox.home, 'daemon'), { recursive: true, mode: 0o700 });
    writeFileSync(join(sandbox.home, 'daemon', 'daemon.json'), record);
    expect((await sandbox.json<Failure>(['serve', 'status'], 3)).error.code).toBe('no_daemon');
    expect(await sandbox.json(['serve', 'stop'])).toEqual({ wasRunning: false });
    const daemon = await openDaemon(sandbox);
    expect((await daemon.ask('GET', '/healthz')).status).toBe(200);
    await daemon.stop();
  });
});

describe('one daemon a state directory', () => {
  it('of six that start at once one serves, and the others say who', async () => {
    const starts = await Promise.all(
      Array.from({ length: 6 }, () => sandbox.reeve(['serve', '--detach', '--json'])),
    );
    expect(starts.map(({ code }) => code).toSorted((a, b) => Number(a) - Number(b))).toEqual([
      0, 4, 4, 4, 4, 4,
    ]);
    const { pid } = await sandbox.json<{ pid: number }>(['serve', 'status']);
    const told = starts
      .filter(({ code }) => code === 4)
      .map(({ stdout }) => (JSON.parse(stdout) as Failure).error.details['pid']);
    expect(told).toEqual(Array.from({ length: 5 }, () => pid));
    expect(await sandbox.json(['serve', 'stop'])).toEqual({ wasRunning: true });
    expect(await sandbox.json(['serve', 'stop'])).toEqual({ wasRunning: false });
  });

  it('one that was killed leaves nothing that keeps the next one out', async () => {
    const daemon = await openDaemon(sandbox);
    await daemon.kill();
    expect(existsSync(daemon.path('socket'))).toBe(true);
    expect((await sandbox.json<Failure>(['serve', 'status'], 3)).error.code).toBe('no_daemon');
    await daemon.restart();
    expect((await daemon.ask('GET', '/healthz')).status).toBe(200);
    await daemon.stop();
    expect(existsSync(daemon.path('socket'))).toBe(false);
  });

  it('inside a run it is refused, for it would end with that', async () => {
    const { code, stdout } = await sandbox.reeve(['serve', '--detach', '--json'], {
      env: { REEVE_RUN: 'r-x' },
    });
    expect([code, (JSON.parse(stdout) as Failure).error.code]).toEqual([2, 'inside_own_run']);
  });
});

describe('runs and the daemon', () => {
  it('a run that was started over HTTP outlives the daemon, however that ends', async () => {
    const daemon = await openDaemon(sandbox);
    const start = async (session: string) => {
      const body = { argv: ['sleep', '60'], session, cwd: sandbox.root };
      const { run } = (await daemon.ask('POST', '/v1/run', { body })).json<SessionView>();
      return see(run.pid ?? 0);
    };
    const first = await start('a');
    await daemon.kill();
    expect(isAlive(first)).toBe(true);
    await daemon.restart();
    const second = await start('b');
    await daemon.stop();
    expect([first, second].map(isAlive)).toEqual([true, true]);
    expect((await sandbox.list()).map(({ name, status }) => [name, status])).toEqual([
      ['a', 'working'],
      ['b', 'working'],
    ]);
  });

  it('of ten starts of one session over HTTP and by hand at once, one wins', async () => {
    const daemon = await openDaemon(sandbox);
    const body = { argv: ['sleep', '60'], session: 'a', cwd: sandbox.root };
    const outcomes = await Promise.all([
      ...Array.from({ length: 7 }, () =>
        daemon
          .ask('POST', '/v1/run', { body })
          .then((answer) => (answer.status === 200 ? 'won' : answer.json().error.code)),
      ),
      ...Array.from({ length: 3 }, () =>
        sandbox
          .reeve(['run', '--detach', '-s', 'a', '--', 'sleep', '60'])
          .then(({ code }) => (code === 0 ? 'won' : code === 4 ? 'live_owner' : String(code))),
      ),
    ]);
    expect(outcomes.toSorted()).toEqual([...Array.from({ length: 9 }, () => 'live_owner'), 'won']);
    await daemon.stop();
  });
});

it('streams that are open end with the daemon, which is gone at once', async () => {
  const daemon = await openDaemon(sandbox);
  await sandbox.json(['run', '--detach', '-s', 'a', '--', 'sleep', '60']);
  const streams = [
    await daemon.stream('/v1/events', { headers: { accept: 'text/event-stream' } }),
    await daemon.stream('/v1/events', { via: 'loopback', headers: { accept: 'text/event-stream' } }),
    await daemon.stream('/v1/sessions/a/logs?follow=true'),
  ];
  const before = Date.now();
  await daemon.stop();
  await Promise.all(streams.map(({ ended }) => ended));
  // Less than what it would take to have to kill it.
  expect(Date.now() - before).toBeLessThan(4_000);
});

it('two hundred readers and askers at once are all answered', async () => {
  const daemon = await openDaemon(sandbox);
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, index) =>
      daemon.ask('GET', '/v1/sessions', { via: index % 2 === 0 ? 'socket' : 'loopback' }),
    ),
  );
  expect([...new Set(answers.map(({ status }) => status))]).toEqual([200]);
  await daemon.stop();
});
