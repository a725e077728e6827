/** A few connections for many: who waits for one gets it or is told, and nothing is left open. */
import type pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { connectPostgres } from '../../src/store/postgres-connect.ts';
import { Unreached } from '../../src/store/postgres-errors.ts';
import { planFrom } from '../../src/store/postgres-parameters.ts';
import { PostgresPool } from '../../src/store/postgres-pool.ts';
import { startPostgres } from '../support/postgres.ts';
import type { PostgresServer } from '../support/postgres.ts';
import { see, signalSeen } from '../support/processes.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

function poolOf(limit: number): PostgresPool {
  const plan = planFrom(server.url('postgres'), {});
  return new PostgresPool(
    () => connectPostgres(plan, { applicationName: 'test', queryTimeoutMs: 5_000 }),
    limit,
  );
}

const LATER = () => performance.now() + 60_000;
const one = async (client: pg.Client) => (await client.query('select 1 as one')).rows;

/** Uses a connection until it is told to let go of it. */
async function holding(pool: PostgresPool): Promise<{ letGo: () => void; done: Promise<void> }> {
  let letGo = () => {};
  const over = new Promise<void>((resolve) => (letGo = resolve));
  const done = new Promise<Promise<void>>((resolve) => {
    const using: Promise<void> = pool.use(LATER(), () => {
      resolve(using);
      return over;
    });
  });
  return { letGo, done: done.then((using) => using) };
}

test('who has waited too long for a connection is told, and its turn is the next one’s', async () => {
  const pool = poolOf(1);
  const { letGo, done } = await holding(pool);
  const late = expect(pool.use(performance.now(), one)).rejects.toThrow(Unreached);
  const next = pool.use(LATER(), one);
  letGo();
  await Promise.all([done, late]);
  expect(await next).toEqual([{ one: 1 }]);
  await pool.close();
});

test('it is closed when everything that was lent is back, and lends nothing any more', async () => {
  const pool = poolOf(2);
  const { letGo, done } = await holding(pool);
  const order: string[] = [];
  const closing = pool.close().then(() => order.push('closed'));
  await expect(pool.use(LATER(), one)).rejects.toThrow(/closed/);
  letGo();
  await done.then(() => order.push('back'));
  await closing;
  expect(order).toEqual(['back', 'closed']);
});

test('it is closed also when the server has fallen silent on what is idle', async () => {
  const pool = poolOf(1);
  const [row] = await pool.use(LATER(), async (client) => {
    return (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows;
  });
  const backend = see(row?.pid ?? 0);
  onTestFinished(() => signalSeen(backend, 'SIGCONT'));
  signalSeen(backend, 'SIGSTOP');
  await pool.close();
});
