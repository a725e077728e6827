/** Whether the daemon and its parts are well: off is a choice, broken a failure, unreadable not knowing. */
import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createHealth, isWell } from '../../src/daemon/health.ts';
import type { PartHealth } from '../../src/daemon/health.ts';
import { startLoop } from '../../src/daemon/loop.ts';
import { startPostgres } from '../support/postgres.ts';
import { eventually } from '../support/processes.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';
import { openDaemon, told } from './support.ts';
import type { Daemon } from './support.ts';

describe('a part', () => {
  it('is as it was last reported, and since when it is so is kept while it stays so', () => {
    let now = 0;
    const health = createHealth(() => now);
    const at = (ms: number) => new Date(ms).toISOString();
    health.report('one', 'good', 'first');
    now = 1;
    health.report('one', 'good', 'second');
    health.report('two', 'off', 'not wanted');
    expect(health.parts()).toEqual({
      one: { is: 'good', says: 'second', since: at(0) },
      two: { is: 'off', says: 'not wanted', since: at(1) },
    });
    now = 2;
    health.report('one', 'broken', 'third');
    expect(health.parts()['one']).toEqual({ is: 'broken', says: 'third', since: at(2) });
  });

  it.each([
    ['good', true],
    ['off', true],
    ['broken', false],
    ['unreadable', false],
  ] as const)('that is %s leaves the whole well: %s', (is, expected) => {
    const other: PartHealth = { is: 'good', says: '', since: '' };
    expect(isWell({ other, part: { ...other, is } })).toBe(expected);
  });

  it('that fails is broken until it succeeds, is told once, and holds up no other', async () => {
    const health = createHealth();
    const log: string[] = [];
    let [isBroken, rounds, others] = [true, 0, 0];
    const loop = startLoop(
      [
        {
          name: 'one',
          everyMs: 1,
          round: async () => {
            rounds += 1;
            if (isBroken) throw new Error('no luck');
            return 'luck';
          },
        },
        { name: 'two', everyMs: 1, round: async () => `round ${(others += 1)}` },
      ],
      health,
      (text) => log.push(text),
    );
    await eventually('both went several rounds', () => rounds > 3 && others > 3);
    expect(health.parts()).toMatchObject({ one: { is: 'broken', says: 'no luck' }, two: { is: 'good' } });
    isBroken = false;
    await eventually('it is good again', () => health.parts()['one']?.is === 'good');
    await loop.close();
    expect(log).toEqual(['one: no luck']);
  });

  it('that is poked while it is at work goes another round at once', async () => {
    const health = createHealth();
    const finish: (() => void)[] = [];
    const round = () => new Promise<string>((resolve) => finish.push(() => resolve('done')));
    const loop = startLoop([{ name: 'one', everyMs: 3_600_000, round }], health, () => {});
    loop.poke('one');
    loop.poke('one');
    loop.poke('none');
    finish[0]?.();
    await eventually('the second round', () => finish.length === 2);
    finish[1]?.();
    await loop.close();
    expect(finish).toHaveLength(2);
  });
});

interface Healthz {
  readonly status: string;
  readonly parts: Readonly<Record<string, PartHealth>>;
}

const look = async (daemon: Daemon) => {
  const answer = await daemon.ask('GET', '/healthz');
  const { status, parts } = answer.json<Healthz>();
  return {
    http: answer.status,
    status,
    ...Object.fromEntries(Object.entries(parts).map(([name, { is }]) => [name, is])),
  };
};
const WELL = {
  http: 200,
  status: 'well',
  events: 'good',
  notices: 'good',
  notifications: 'off',
  sessions: 'good',
  configuration: 'good',
  figures: 'good',
  program: 'good',
  budgets: 'good',
  ledger: 'good',
  reviews: 'good',
  store: 'good',
};

describe('a daemon', () => {
  let sandbox: Sandbox;
  let daemon: Daemon;
  afterEach(async () => {
    await daemon.stop();
    await sandbox.cleanUp();
  });

  it('whose parts are good is well, and `serve status` says the same', async () => {
    sandbox = createSandbox();
    daemon = await openDaemon(sandbox);
    await eventually('every part had its first round', async () => {
      const now = await look(daemon);
      return Object.keys(WELL).every((name) => name in now);
    });
    expect(await look(daemon)).toEqual(WELL);
    const status = await sandbox.json<{ pid: number; url: string; parts: Healthz['parts'] }>([
      'serve',
      'status',
    ]);
    expect([status.pid, status.url, Object.keys(status.parts).toSorted()]).toEqual([
      daemon.pid,
      daemon.url,
      Object.keys(WELL)
        .filter((name) => name !== 'http' && name !== 'status')
        .toSorted(),
    ]);
  });
});

describe('a daemon whose database is moved away', () => {
  it('serves it no longer, for others begin another one, and there would be two owners', async () => {
    const sandbox = createSandbox();
    const daemon = await openDaemon(sandbox);
    await sandbox.json(['run', '-d', '-s', 'a', '--', 'sleep', '600']);
    const files = ['reeve.db', 'reeve.db-wal', 'reeve.db-shm'].map((name) => join(sandbox.home, name));
    for (const file of files) renameSync(file, `${file}.away`);
    expect((await look(daemon)).http).toBe(503);
    const body = { argv: ['sleep', '600'], session: 'a', cwd: sandbox.root };
    expect(told(await daemon.ask('POST', '/v1/run', { body }))).toBe('503 store_unavailable');
    await daemon.stop();
    for (const file of files) rmSync(file, { force: true });
    for (const file of files) renameSync(`${file}.away`, file);
    expect((await sandbox.show('a')).status).toBe('working');
    await sandbox.cleanUp();
  });
});

describe('a daemon whose store goes away', () => {
  let server: Awaited<ReturnType<typeof startPostgres>>;
  let sandbox: Sandbox;
  let daemon: Daemon;
  beforeAll(async () => {
    server = await startPostgres();
    sandbox = createSandbox({ REEVE_STORE: await server.createDatabase() });
    daemon = await openDaemon(sandbox);
  });
  afterAll(async () => {
    await daemon.stop();
    await sandbox.cleanUp();
    await server.stop();
  });

  it('says that it is unreadable while it is away, and is well and at work again when it is back', async () => {
    await sandbox.json(['run', '--detach', '-s', 'a', '--', 'sleep', '60']);
    await eventually('it is well', async () => (await look(daemon)).http === 200);
    const won = async () =>
      /^reeve_claims_won_total (\d+)$/m.exec((await daemon.ask('GET', '/metrics')).text)?.[1];
    await eventually('the claim is counted', async () => (await won()) === '1');
    const stream = await daemon.stream('/v1/events', { headers: { accept: 'text/event-stream' } });
    await server.halt();
    const away = await eventually('it is unwell', async () => {
      const now = await look(daemon);
      return now.http === 503 && now;
    });
    expect(away).toMatchObject({ status: 'unwell', store: 'unreadable' });
    const answer = await daemon.ask('GET', '/v1/sessions');
    expect([answer.status, answer.json().error.code]).toEqual([503, 'store_unavailable']);
    // Looked at, and ended, it can be all the same.
    expect(await sandbox.json(['serve', 'status'])).toMatchObject({ parts: { store: { is: 'unreadable' } } });
    await eventually(
      'its parts are broken',
      async () => 'broken' === ((await look(daemon)) as Record<string, unknown>)['sessions'],
    );
    await server.start();
    await eventually('it is well again', async () => (await look(daemon)).http === 200);
    expect(await look(daemon)).toEqual(WELL);
    stream.close();
    const next = await daemon.stream('/v1/events', { headers: { accept: 'text/event-stream' } });
    await eventually('it is connected', () => next.text() !== '');
    await sandbox.json(['run', '--detach', '-s', 'b', '--', 'sleep', '60']);
    await eventually('a reader is told', () =>
      next.events<{ kind: string; session: string }>().some(({ session }) => session === 'b'),
    );
    await eventually('the next claim is counted too', async () => (await won()) === '2');
    next.close();
  });
});
