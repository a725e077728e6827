/** Who listens for what is written, on a connection that is lost, or to a server that is away. */
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
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
});
