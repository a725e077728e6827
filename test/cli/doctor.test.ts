/** What `reeve doctor` says where something is missing; it is content in commands.test.ts. */
import { spawn } from 'node:child_process';
import { chmodSync, chownSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView, SettleView } from '../../src/api/session-view.ts';
import type { Check } from '../../src/supervisor/doctor.ts';
import { failing } from '../support/failing-reads.ts';
import { launchIn } from '../support/launch.ts';
import { startPostgres } from '../support/postgres.ts';
import type { PostgresServer } from '../support/postgres.ts';
import { eventually, isAlive, see, signalSeen } from '../support/processes.ts';
import { CLI, createSandbox, finished } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.cleanUp());

/** `reeve doctor`, started by these words. */
async function examined(...before: string[]): Promise<{ code: number | null; checks: readonly Check[] }> {
  const [program, ...rest] = [...before, process.execPath, CLI, 'doctor', '--json'] as const;
  const place = { cwd: sandbox.root, env: sandbox.env };
  const { code, stdout } = await finished(
    spawn(program, rest, { ...place, stdio: ['ignore', 'pipe', 'inherit'] }),
  );
  return { code, checks: JSON.parse(stdout) as Check[] }; // What `doctor --json` prints.
}

const storeOf = (checks: readonly Check[]) => checks.find(({ name }) => name === 'store');

describe('a store on PostgreSQL', () => {
  let server: PostgresServer;
  let owner: string;
  beforeAll(async () => {
    server = await startPostgres();
    await query(server.url('postgres'), 'create role limited login');
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    owner = await server.createDatabase();
    sandbox.env['REEVE_STORE'] = owner;
    await sandbox.list();
    await query(owner, 'grant usage on schema reeve to limited');
    await query(owner, 'grant select, insert, update, delete on all tables in schema reeve to limited');
    await query(owner, 'grant usage, select on all sequences in schema reeve to limited');
    sandbox.env['REEVE_STORE'] = owner.replace('//reeve@', '//limited@');
  });

  async function query(url: string, text: string): Promise<void> {
    const client = new pg.Client(url);
    await client.connect();
    try {
      await client.query(text);
    } finally {
      await client.end();
    }
  }

  it('is good for a role that may write, and nothing is written', async () => {
    const { code, checks } = await examined();
    expect([code, storeOf(checks)?.is]).toEqual([0, 'good']);
    expect(await sandbox.list()).toEqual([]);
  });

  it.each([
    'insert on reeve.runs',
    'insert on reeve.events',
    'update on reeve.runs',
    'delete on reeve.events',
    'all on sequence reeve.events_seq_seq',
  ])('is bad for a role without %s, with the reason and what to do', async (right) => {
    await query(owner, `revoke ${right} from limited`);
    const { code, checks } = await examined();
    expect([code, storeOf(checks)?.is]).toEqual([1, 'bad']);
    expect(storeOf(checks)?.says).toMatch(
      /can be read, but not written: .*permission denied.*allowed to write/,
    );
  });

  it('that takes no more writes leaves the end of a command in doubt, until it does again', async () => {
    const { run } = await sandbox.json<SessionView>(['run', '-d', '-s', 'a', '--', 'sleep', '60']);
    const harness = see(run.pid ?? 0);
    await query(owner, 'revoke update on reeve.runs from limited');
    signalSeen(harness, 'SIGKILL');
    await eventually('the command is dead', () => !isAlive(harness));
    expect(await sandbox.show('a')).toMatchObject({ status: 'unknown', run: { liveness: 'unknown' } });
    expect(await sandbox.json<SettleView>(['settle', 'a'], 7)).toMatchObject({
      remaining: [{ session: 'a', because: expect.stringMatching(/permission denied.*give back the right/) }],
    });
    await query(owner, 'grant update on reeve.runs to limited');
    await eventually('the end is on record', async () => (await sandbox.show('a')).run.signal === 'SIGKILL');
  });
});

it('a store in a file that can only be read is bad', async () => {
  // A user of this test's own; whoever is not root already is one.
  const user = String(60_000 + (process.pid % 5_000));
  const isRoot = process.getuid?.() === 0;
  const ordinary = isRoot ? ['setpriv', '--reuid', user, '--regid', user, '--clear-groups'] : [];
  if (isRoot) chownSync(sandbox.root, Number(user), Number(user));
  expect((await examined(...ordinary)).code).toBe(0);
  chmodSync(join(sandbox.home, 'reeve.db'), 0o400);
  const { code, checks } = await examined(...ordinary);
  chmodSync(join(sandbox.home, 'reeve.db'), 0o600);
  expect([code, storeOf(checks)?.is]).toEqual([1, 'bad']);
  expect(storeOf(checks)?.says).toMatch(/belong to you/);
});

it('a limit too low for the mark of a run is told', { tags: ['linux'] }, async () => {
  const { code, checks } = await examined('bash', '-c', 'ulimit -x 5; exec "$@"', 'bash');
  expect([code, checks.find(({ name }) => name === 'mark')]).toEqual([
    0,
    { name: 'mark', is: 'poor', says: expect.stringMatching(/is 5,.*empty their environment/) },
  ]);
});

it('a live run of which something cannot be read is told of as `ls` does, and its log with the reason', async () => {
  const { run } = await launchIn(sandbox, 'web', 'sleep', '60');
  const hooks = failing({ call: 'readdirSync', path: `${run.id}/hooks`, code: 'EACCES' });
  expect((await sandbox.reeve(['ls'], hooks)).stdout).toMatch(/\? +web +unknown/);
  const told = await sandbox.reeve(['doctor', '--json'], hooks);
  const runs = (JSON.parse(told.stdout) as Check[]).find(({ name }) => name === 'runs');
  expect(runs).toMatchObject({ is: 'poor', says: expect.stringMatching(/web \(.*EACCES/) });
  const log = failing({ call: 'openSync', path: `${run.id}/output.log`, code: 'EACCES' });
  expect(await sandbox.reeve(['logs', 'web'], log)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^reeve: The log of web cannot be read \(EACCES\).*\n.*try again\.\n$/),
  });
});
