/** The same commands on a PostgreSQL store: the ways in hold no rules, and neither does the engine. */
import { existsSync, writeFileSync } from 'node:fs';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { insideRun } from '../support/credentials.ts';
import { launchIn } from '../support/launch.ts';
import { startPostgres } from '../support/postgres.ts';
import { eventually, isAlive, signalSeen } from '../support/processes.ts';
import { createSandbox, finished } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let server: Awaited<ReturnType<typeof startPostgres>>;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

let sandbox: Sandbox;
beforeEach(async () => {
  sandbox = createSandbox({ REEVE_STORE: await server.createDatabase() });
});
afterEach(() => sandbox.cleanUp());

async function query(text: string): Promise<void> {
  const client = new pg.Client(sandbox.env['REEVE_STORE']);
  await client.connect();
  await client.query(text);
  await client.end();
}

it('one start of twenty wins, is taken over, fenced, stopped and told', async () => {
  const starts = await Promise.all(
    Array.from({ length: 20 }, () => sandbox.reeve(['run', '--detach', '-s', 'a', '--', 'sleep', '60'])),
  );
  const codes = starts.map(({ code }) => code).toSorted((a, b) => Number(a) - Number(b));
  expect(codes).toEqual([0, ...Array.from({ length: 19 }, () => 4)]);
  const first = await sandbox.show('a');
  const taken = await sandbox.json<SessionView>([
    'run',
    '--detach',
    '--force',
    '-s',
    'a',
    '--',
    'sleep',
    '60',
  ]);
  expect(taken.epoch).toBe(2);
  const forged = await sandbox.reeve(['heartbeat'], {
    env: { REEVE_RUN: first.run.id, REEVE_TOKEN: 'late' },
  });
  expect(forged.code).toBe(5);
  await sandbox.json(['stop', 'a']);
  expect((await sandbox.show('a')).runs.map(({ outcome }) => outcome)).toEqual(['superseded', 'stopped']);
  expect((await sandbox.reeve(['why', 'a'])).stdout).toContain(first.run.id);
  expect(await sandbox.json(['rm', 'a'])).toEqual({ removed: ['a'] });
});

it('a submission is accepted once, and a late one is kept', async () => {
  const { env } = await insideRun(sandbox, 'a');
  writeFileSync(sandbox.path('f'), 'found');
  const submit = async (...flags: readonly string[]) => {
    const { code, stdout } = await sandbox.reeve(['submit', '--data', 'f', '--json', ...flags], { env });
    return { code, json: JSON.parse(stdout) as { again?: boolean; error?: { details: unknown } } };
  };
  const all = await Promise.all(Array.from({ length: 5 }, () => submit()));
  expect(all.filter(({ code, json }) => code === 0 && json.again === false)).toHaveLength(1);
  expect(all.filter(({ code, json }) => code === 0 && json.again === true)).toHaveLength(4);
  const spent = ['usage', 'add', '--model', 'm', '--input', '5', '--key', 'k'];
  for (let times = 0; times < 2; times += 1) expect((await sandbox.reeve(spent, { env })).code).toBe(0);
  const next = await insideRun(sandbox, 'a', '--force', '--grace', '0');
  writeFileSync(sandbox.path('f'), 'found later');
  const late = await submit();
  expect(late).toMatchObject({
    code: 5,
    json: { error: { details: { current: next.run.id, kept: expect.stringMatching(/^sub-/) } } },
  });
  expect((await sandbox.reeve(spent, { env })).code).toBe(5);
  const list = (await sandbox.reeve(['submit', 'ls', 'a', '--refused'])).stdout;
  expect(list.trim().split('\n')).toHaveLength(1);
});

it('a run ends by itself, and one whose keeper is killed is lost', async () => {
  expect((await sandbox.reeve(['run', '-s', 'a', '--', 'sh', '-c', 'exit 5'])).code).toBe(5);
  expect((await sandbox.show('a')).run).toMatchObject({ outcome: 'failed', exitCode: 5 });
  const { keeper, harness } = await launchIn(sandbox, 'b', 'sleep', '60');
  signalSeen(keeper, 'SIGKILL');
  await eventually('both are dead', () => !isAlive(keeper) && !isAlive(harness));
  expect((await sandbox.show('b')).run.outcome).toBe('lost');
});

it('a foreground run whose database is dropped ends with the code of its command', async () => {
  const script = 'echo > begun; while [ ! -e go ]; do sleep 0.05; done; exit 6';
  const run = finished(sandbox.start(['run', '-s', 'a', '--', 'sh', '-c', script]));
  await eventually('it runs', () => existsSync(sandbox.path('begun')));
  const dropped = new URL(sandbox.env['REEVE_STORE'] ?? '');
  sandbox.env['REEVE_STORE'] = await server.createDatabase();
  await query(`drop database ${dropped.pathname.slice(1)} with (force)`);
  writeFileSync(sandbox.path('go'), '');
  const { code, stderr } = await run;
  expect([code, stderr]).toEqual([6, expect.stringContaining('exited with code 6')]);
}, 120_000);

it('a run on a host that is not this one is unknown, stands in the way, and only a person’s word ends it', async () => {
  await launchIn(sandbox, 'a', 'sleep', '60');
  await sandbox.json(['stop', 'a']);
  await query(
    `update reeve.runs set state = 'running', ending = null, outcome = null, ended_at = null,
     keeper = regexp_replace(replace(keeper, '"boot":"', '"boot":"other-'), '"host":"[^"]*"', '"host":"other/1"')`,
  );
  const session = await sandbox.show('a');
  expect({ status: session.status, liveness: session.run.liveness }).toEqual({
    status: 'unknown',
    liveness: 'unknown',
  });
  for (const [code, ...args] of [
    [4, 'run', '-s', 'a', '--', 'true'],
    [4, 'run', '--force', '-s', 'a', '--', 'true'],
    [7, 'stop', 'a'],
    [7, 'rm', 'a'],
  ]) {
    expect((await sandbox.reeve(args.map(String))).code).toBe(code);
  }
  await sandbox.json(['kill', '--assume-gone', 'a']);
  expect((await sandbox.show('a')).run.outcome).toBe('lost');
});

it('an address without a server is unknown (7), in one sentence without the password', async () => {
  const result = await sandbox.reeve(['ls'], {
    env: { REEVE_STORE: 'postgres://me:secret@127.0.0.1:1/reeve', REEVE_STORE_WAIT: '1' },
  });
  expect(result.code).toBe(7);
  expect(result.stderr).not.toContain('secret');
});
