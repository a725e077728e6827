import { mkdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { EventsView } from '../../src/api/http-views.ts';
import { eventually, isAlive, see, signalSeen } from '../support/processes.ts';
import type { Seen } from '../support/processes.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

interface Served {
  readonly pid: number;
  readonly url: string;
}

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(async () => {
  await sandbox.json(['serve', 'stop']);
  await sandbox.cleanUp();
});

const serve = (...flags: string[]) => sandbox.json<Served>(['serve', '--detach', ...flags]);
const work = (session: string) =>
  sandbox.json<{ run: { pid: number; keeperPid: number } }>([
    'run',
    '-d',
    '-s',
    session,
    '--',
    'sleep',
    '600',
  ]);

async function killed(daemon: Served): Promise<void> {
  const process = see(daemon.pid);
  signalSeen(process, 'SIGKILL');
  await eventually('the daemon is dead', () => !isAlive(process));
}

describe('one daemon a state directory', () => {
  it('answers when --detach returns, and says who it is', async () => {
    const { pid, url } = await serve();
    expect(isAlive(see(pid))).toBe(true);
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const status = await sandbox.json<Served & { parts: Record<string, { is: string }> }>([
      'serve',
      'status',
    ]);
    expect(status).toMatchObject({ pid, url, parts: { store: { is: 'good' } } });
    expect(await sandbox.json(['serve', 'stop'])).toEqual({ wasRunning: true });
    expect(await sandbox.json(['serve', 'stop'])).toEqual({ wasRunning: false });
    expect(await sandbox.json(['serve', 'status'], 3)).toMatchObject({ error: { code: 'no_daemon' } });
  });

  it('a second one says who is there and exits 4, in the background and in the terminal', async () => {
    const { pid } = await serve();
    for (const flags of [['--detach'], []]) {
      expect(await sandbox.json(['serve', ...flags], 4)).toMatchObject({
        error: { code: 'daemon_running', details: { pid } },
      });
    }
    expect((await sandbox.json<Served>(['serve', 'status'])).pid).toBe(pid);
  });

  it('of ten cold starts at once, one is left', async () => {
    const ends = await Promise.all(
      Array.from({ length: 10 }, () => sandbox.reeve(['serve', '-d', '--json'])),
    );
    expect(ends.map(({ code }) => code).toSorted((a, b) => Number(a) - Number(b))).toEqual([
      0,
      ...Array.from({ length: 9 }, () => 4),
    ]);
    const winner = ends.find(({ code }) => code === 0);
    const { pid } = JSON.parse(winner?.stdout ?? '') as Served;
    expect((await sandbox.json<Served>(['serve', 'status'])).pid).toBe(pid);
    for (const { code, stdout } of ends) {
      if (code === 4) expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'daemon_running' } });
    }
  });

  it('is not started inside a run, with which it would end', async () => {
    const inside = await sandbox.reeve(['serve', '--detach', '--json'], { env: { REEVE_RUN: 'r-1' } });
    expect(inside.code).toBe(2);
    expect(JSON.parse(inside.stdout)).toMatchObject({ error: { code: 'inside_own_run' } });
  });

  it('says so when the port that was asked for cannot be had, and leaves no daemon', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const address = other.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    expect((await sandbox.reeve(['serve', '--detach', '--port', String(port)])).code).toBe(1);
    expect((await sandbox.reeve(['serve', 'status'])).code).toBe(3);
    // The one that is there is not given up for it.
    const { pid } = await serve();
    const refused = await sandbox.reeve(['serve', '--detach', '--replace', '--port', String(port)]);
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('another program listens there'),
    });
    expect(await sandbox.json(['serve', 'status'])).toMatchObject({ pid });
    other.close();
  });

  it('keeps socket, token, record and log for this user alone', async () => {
    await serve();
    const modes = ['', 'socket', 'token', 'daemon.json', 'log'].map(
      (name) => statSync(join(sandbox.home, 'daemon', name)).mode & 0o777,
    );
    expect(modes).toEqual([0o700, 0o600, 0o600, 0o600, 0o600]);
  });
});

describe('a daemon that is killed', () => {
  it('ends no run; the next one has the same address and token, and goes on', async () => {
    const first = await serve();
    const { run } = await work('a');
    const harness = see(run.pid);
    const token = readFileSync(join(sandbox.home, 'daemon', 'token'), 'utf8');
    await killed(first);
    expect(isAlive(harness)).toBe(true);
    expect((await sandbox.show('a')).status).toBe('working');
    const second = await serve();
    expect(second.url).toBe(first.url);
    expect(readFileSync(join(sandbox.home, 'daemon', 'token'), 'utf8')).toBe(token);
    expect(isAlive(harness)).toBe(true);
    await sandbox.json(['stop', 'a']);
    expect(isAlive(harness)).toBe(false);
  });

  it('is replaced by an upgrade without touching a run', async () => {
    const first = await serve();
    const { run } = await work('a');
    const [harness, keeper] = [see(run.pid), see(run.keeperPid)];
    const second = await serve('--replace');
    expect(second.pid).not.toBe(first.pid);
    expect(second.url).toBe(first.url);
    expect([harness, keeper].map(isAlive)).toEqual([true, true]);
  });

  it('ended the runs that it started itself neither', async () => {
    const daemon = await serve();
    const cwd = sandbox.path('project');
    mkdirSync(cwd);
    const token = readFileSync(join(sandbox.home, 'daemon', 'token'), 'utf8').trim();
    const response = await fetch(`${daemon.url}/v1/run`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ argv: ['sleep', '600'], session: 'a', cwd }),
    });
    expect(response.status).toBe(200);
    const { run } = (await response.json()) as { run: { pid: number } };
    const harness = see(run.pid);
    await killed(daemon);
    expect(isAlive(harness)).toBe(true);
    expect((await sandbox.show('a')).run.liveness).toBe('alive');
    await serve();
    await sandbox.json(['stop', 'a']);
    expect(isAlive(harness)).toBe(false);
  });
});

describe('what ticks', () => {
  it('finds a death that nobody recorded and nobody asked for', async () => {
    const daemon = await serve();
    const { run } = await work('a');
    const tree: Seen[] = [see(run.keeperPid), see(run.pid)];
    for (const each of tree) signalSeen(each, 'SIGKILL');
    const token = readFileSync(join(sandbox.home, 'daemon', 'token'), 'utf8').trim();
    const ended = await eventually('its end is on record', async () => {
      const response = await fetch(`${daemon.url}/v1/events?after=0`, {
        headers: { authorization: `Bearer ${token}` },
      });
      const { events } = (await response.json()) as EventsView;
      return events.find(({ kind }) => kind === 'run.ended');
    });
    expect(ended).toMatchObject({ session: 'a', kind: 'run.ended', actor: 'reconcile' });
  });
});
