/** A store that can only be read is looked at all the same, from where there would be something to put on record. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { installStandIns } from '../fixtures/stand-in-harness.ts';
import type { StandIns } from '../fixtures/stand-in-harness.ts';
import { launchReporting, unread } from '../fixtures/stand-in-reports.ts';
import { launchByCommand } from '../support/launch.ts';
import { startPostgres } from '../support/postgres.ts';
import type { PostgresServer } from '../support/postgres.ts';
import { eventually, isAlive, signalSeen } from '../support/processes.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let server: PostgresServer;
let standby: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
  standby = await startPostgres({ standbyOf: server });
});
afterAll(async () => {
  await standby.stop();
  await server.stop();
});

let sandbox: Sandbox;
let standIns: StandIns;
let primary: string;
beforeEach(async () => {
  primary = await server.createDatabase();
  sandbox = createSandbox({ REEVE_STORE: primary });
  standIns = installStandIns(sandbox, 'claude');
});
afterEach(() => sandbox.cleanUp());

const LOOKS = [['ls'], ['show', 'a'], ['why', 'a'], ['logs', 'a'], ['usage'], ['ls', '--all']] as const;

async function query(url: string, text: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

const events = (url: string) => query(url, 'select max(seq) as seq from reeve.events');

/** The same store by an address with which nothing can be written. */
const readOnly = {
  'a hot standby': async () => {
    const address = primary.replace(`:${server.port}/`, `:${standby.port}/`);
    const [written] = await events(primary);
    await eventually('the standby has it all', async () => {
      const [copied] = await events(address).catch(() => []);
      return copied?.['seq'] === written?.['seq'];
    });
    return address;
  },
  'a role that may only read': async () => {
    const role = `looker_${randomUUID().slice(0, 8)}`;
    await query(
      primary,
      `create role ${role} login; grant usage on schema reeve to ${role}; grant select on all tables in schema reeve to ${role}`,
    );
    return primary.replace('//reeve@', `//${role}@`);
  },
};

it('the keeper of a run that ends while its store takes no writes waits until it does', async () => {
  const script = `until test -e ${sandbox.path('go')}; do sleep 0.05; done`;
  const { run, keeper } = await launchByCommand(sandbox, 'a', 'sh', '-c', script);
  const takesWrites = (is: 'off' | 'on') =>
    query(
      server.url('postgres'),
      `alter database ${new URL(primary).pathname.slice(1)} set default_transaction_read_only = ${is}`,
    );
  await takesWrites('on');
  writeFileSync(sandbox.path('go'), '');
  const exit = join(sandbox.home, 'runs', run.id, 'exit.json');
  await eventually('the run has ended', () => existsSync(exit));
  const [session] = await sandbox.list();
  expect([session?.status, isAlive(keeper)]).toEqual(['unknown', true]);
  await takesWrites('off');
  await eventually('its keeper is gone', () => !isAlive(keeper), 30_000);
  const ends = await query(primary, `select actor from reeve.events where kind = 'run.ended'`);
  expect(ends).toEqual([{ actor: 'keeper' }]);
});

describe.each(Object.entries(readOnly))('by %s', (_, addressOf) => {
  async function looked(): Promise<SessionView> {
    const env = { REEVE_STORE: await addressOf() };
    for (const words of LOOKS) {
      const result = await sandbox.reeve(words, { env });
      expect([words, result.code, result.stderr.match(/refused|read-only/)]).toEqual([words, 0, null]);
    }
    const [session] = JSON.parse((await sandbox.reeve(['ls', '--json'], { env })).stdout) as SessionView[];
    if (session === undefined) throw new Error('No session is listed.');
    return session;
  }

  it('a run that lives here is shown alive, and nothing can be started', async () => {
    const { run } = await launchByCommand(sandbox, 'a', 'sleep', '60');
    expect(await looked()).toMatchObject({ status: 'working', run: { id: run.id, liveness: 'alive' } });
    const env = { REEVE_STORE: await addressOf() };
    for (const words of [
      ['run', '-s', 'b', '--', 'true'],
      ['stop', 'a'],
      ['settle', '--host-gone', 'x'],
    ])
      expect((await sandbox.reeve(words, { env })).code).not.toBe(0);
    await sandbox.json(['stop', 'a']);
  });

  it('what a harness reported is left for who may write it, and what it does is unknown', async () => {
    const nativeId = randomUUID();
    const { pid, spool } = await launchReporting({ sandbox, standIns }, nativeId);
    await sandbox.list();
    await standIns.tell(pid, 'hook UserPromptSubmit {"prompt":"go"}');
    expect(await looked()).toMatchObject({ status: 'unknown', run: { liveness: 'alive' } });
    expect(unread(spool)).toHaveLength(1);
    expect((await sandbox.list())[0]?.status).toBe('working');
    await sandbox.json(['stop', 'a']);
  });

  it('the end of a run is left, and what it left behind too, for who can put it on record', async () => {
    writeFileSync(sandbox.path('pid'), '');
    const script = 'echo $$ > pid; exec sleep 600';
    const { keeper } = await launchByCommand(sandbox, 'a', 'timeout', '900', 'sh', '-c', script);
    await eventually('it tells its pid', () => readFileSync(sandbox.path('pid'), 'utf8').endsWith('\n'));
    const survivor = await sandbox.pidFrom('pid');
    signalSeen(keeper, 'SIGKILL');
    await eventually('its keeper is dead', () => !isAlive(keeper));
    expect(await looked()).toMatchObject({ status: 'unknown' });
    const env = { REEVE_STORE: await addressOf() };
    expect((await sandbox.reeve(['show', 'a'], { env })).stdout).toContain('takes no writes');
    expect(isAlive(survivor)).toBe(true);
    expect((await sandbox.show('a')).run.outcome).toBe('lost');
    expect(isAlive(survivor)).toBe(false);
  });
});
