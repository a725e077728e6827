/** Who listens for what is written, on a connection that is lost, or to a server that is away. */
import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { connectPostgres } from '../../src/store/postgres-connect.ts';
import { planFrom } from '../../src/store/postgres-parameters.ts';
import { watchPostgres } from '../../src/store/postgres-watch.ts';
import { startPostgres } from '../support/postgres.ts';
import type { PostgresServer } from '../support/postgres.ts';
import { eventually } from '../support/processes.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

async function sql(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

describe('who watches', () => {
  /** By connections of this name, which may be made to wait; and those that could not be made are counted. */
  async function watching(url: string, listener: () => void) {
    const plan = planFrom(url, {});
    const state = { tries: 0, made: 0, failures: 0, mayConnect: Promise.resolve() };
    const connect = async () => {
      state.tries += 1;
      await state.mayConnect;
      try {
        const client = await connectPostgres(plan, { applicationName: 'watching', queryTimeoutMs: 5_000 });
        state.made += 1;
        return client;
      } catch (error) {
        state.failures += 1;
        throw error;
      }
    };
    const stop = await watchPostgres({ connect, lastSeq: async () => 0 }, listener);
    return { state, stop };
  }
  const watchers = (url: string) =>
    sql(url, `select pid from pg_stat_activity where application_name = 'watching'`);
  const killWatchers = (url: string) =>
    sql(url, `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'watching'`);

  test('and whose connection is lost has another one, and is told, for something may have been written', async () => {
    const url = await server.createDatabase();
    let calls = 0;
    const { stop } = await watching(url, () => (calls += 1));
    await killWatchers(url);
    await eventually('it is told', () => calls > 0);
    calls = 0;
    await sql(url, 'notify reeve_written');
    await eventually('it is told of what is written', () => calls > 0);
    stop();
  });

  test('tries again and again while the server is away', async () => {
    const url = await server.createDatabase();
    let calls = 0;
    const { state, stop } = await watching(url, () => (calls += 1));
    await server.halt();
    await eventually('a try in vain', () => state.failures > 0);
    await server.start();
    await eventually('it is told', () => calls > 0);
    stop();
  });

  test('and stops while a connection is made leaves none', async () => {
    const url = await server.createDatabase();
    let calls = 0;
    const { state, stop } = await watching(url, () => (calls += 1));
    let letConnect = () => {};
    state.mayConnect = new Promise<void>((resolve) => (letConnect = resolve));
    await killWatchers(url);
    await eventually('another is made', () => state.tries === 2);
    stop();
    letConnect();
    await eventually('it is made', () => state.made === 2);
    await eventually('it is ended', async () => (await watchers(url)).length === 0);
    expect(calls).toBe(0);
  });

  describe('by a connection that the test has in its hand', () => {
    afterEach(() => {
      vi.useRealTimers();
    });
    const connected = async () => {
      const options = { applicationName: 'watching', queryTimeoutMs: 5_000 };
      return connectPostgres(planFrom(await server.createDatabase(), {}), options);
    };
    const lastSeq = async () => 0;

    test('and stops makes no other connection', async () => {
      const client = await connected();
      const gone = once(client, 'end');
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      const stop = await watchPostgres({ connect: async () => client, lastSeq }, () => {});
      stop();
      await gone;
      await turn();
      // Whoever is to connect again waits a while first.
      expect(vi.getTimerCount()).toBe(0);
    });

    test('and cannot listen is told why, and leaves no connection', async () => {
      const client = await connected();
      let isOver = false;
      client.once('end', () => (isOver = true));
      const mute = Object.assign(client, { query: () => Promise.reject(new Error('It does not listen.')) });
      const watch = watchPostgres({ connect: async () => mute, lastSeq }, () => {});
      await expect(watch).rejects.toThrow('It does not listen.');
      expect(isOver).toBe(true);
    });
  });
});

describe('who watches where listening hears nothing', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  /** Its time is the test's: `nextLook` is when it asks the store again. */
  async function asking(url: string, disguise: (client: pg.Client) => pg.Client = (client) => client) {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const state = { calls: 0, connections: 0, lastSeq: async () => 0 };
    const connect = async () => {
      const options = { applicationName: 'asking', queryTimeoutMs: 5_000 };
      const client = await connectPostgres(planFrom(url, {}), options);
      state.connections += 1;
      client.once('end', () => (state.connections -= 1));
      return disguise(client);
    };
    const source = { connect, lastSeq: () => state.lastSeq() };
    const stop = await watchPostgres(source, () => (state.calls += 1));
    return { state, stop, nextLook: () => vi.advanceTimersToNextTimerAsync() };
  }
  /** A pooler numbers its clients itself. */
  const pooled = (client: pg.Client) => Object.assign(client, { processID: 0 });
  const away = () => Promise.reject(new Error('The store is away.'));

  test('keeps no connection, asks again and again, and is told once of what was written', async () => {
    const { state, stop, nextLook } = await asking(await server.createDatabase(), pooled);
    expect(state.connections).toBe(0);
    await nextLook();
    expect(state.calls).toBe(0);
    state.lastSeq = async () => 1;
    await nextLook();
    await nextLook();
    expect(state.calls).toBe(1);
    stop();
  });

  test('asks on while the store is away, and is told only of what was written meanwhile', async () => {
    const { state, stop, nextLook } = await asking(await server.createDatabase(), pooled);
    state.lastSeq = away;
    await nextLook();
    await nextLook();
    state.lastSeq = async () => 0;
    await nextLook();
    expect(state.calls).toBe(0);
    state.lastSeq = away;
    await nextLook();
    state.lastSeq = async () => 1;
    await nextLook();
    expect(state.calls).toBe(1);
    stop();
  });

  test('is not told after it stopped, nor is the store asked any more', async () => {
    const { state, stop, nextLook } = await asking(await server.createDatabase(), pooled);
    state.lastSeq = async () => {
      stop();
      return 1;
    };
    await nextLook();
    await nextLook();
    expect([state.calls, vi.getTimerCount()]).toStrictEqual([0, 0]);
  });

  test('asks a standby too, which knows no listening', async () => {
    const standby = await startPostgres({ standbyOf: server });
    try {
      const { state, stop, nextLook } = await asking(standby.url('postgres'));
      state.lastSeq = async () => 1;
      await nextLook();
      expect(state.calls).toBe(1);
      stop();
    } finally {
      vi.useRealTimers();
      await standby.stop();
    }
  });
});
