/** A shared store that lost part of its history: a backup put back, a standby promoted that lagged. */
import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { failing } from '../support/failing-reads.ts';
import { launchIn } from '../support/launch.ts';
import { startPostgres } from '../support/postgres.ts';
import { eventually, isAlive } from '../support/processes.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let server: Awaited<ReturnType<typeof startPostgres>>;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

let here: Sandbox;
let there: Sandbox;
beforeEach(async () => {
  // Each stands for a machine of its own, where what the other's keepers hold is not to be seen.
  const apart = failing({ call: 'readdirSync', path: '/fd', code: 'ENOENT' });
  const store = { REEVE_STORE: await server.createDatabase(), ...apart.env };
  [here, there] = [createSandbox(store), createSandbox(store)];
});
afterEach(async () => {
  await here.cleanUp();
  await there.cleanUp();
});

interface Failure {
  readonly error: { readonly code: string; readonly details: Readonly<Record<string, unknown>> };
}

const backup = () => join(server.data, '../backup');

async function takeBackup(): Promise<void> {
  await server.halt();
  rmSync(backup(), { recursive: true, force: true });
  execFileSync('cp', ['-a', server.data, backup()]);
  await server.start();
}

/** With a new timeline, as every restore through recovery and every promotion begins one; or without. */
async function putBack(timeline: 'new' | 'same'): Promise<void> {
  await server.halt();
  rmSync(server.data, { recursive: true, force: true });
  execFileSync('cp', ['-a', backup(), server.data]);
  if (timeline === 'new') {
    // Nothing is in the archive: recovery ends at once, and a new timeline begins.
    writeFileSync(join(server.data, 'recovery.signal'), '');
    writeFileSync(join(server.data, 'postgresql.auto.conf'), `restore_command = 'false'\n`);
    execFileSync('chown', [
      '--reference',
      join(server.data, 'PG_VERSION'),
      join(server.data, 'recovery.signal'),
    ]);
  }
  await server.start();
}

it('gives out nothing until every host has said which of its runs live', async () => {
  await here.reeve(['run', '-s', 'web', '--', 'true']);
  await there.reeve(['run', '-s', 'other', '--', 'true']);
  await takeBackup();
  const { run, harness } = await launchIn(here, 'web', 'sleep', '60');
  expect(run.epoch).toBe(2);
  await putBack('new');
  const { error } = await there.json<Failure>(['run', '-d', '-s', 'web', '--', 'sleep', '61'], 7);
  expect(error).toMatchObject({ code: 'store_behind', details: { hosts: [run.host.split('/')[0]] } });
  expect((await there.reeve(['settle', '--host-gone', 'nobody'])).code).toBe(3);
  expect((await there.reeve(['settle', '--host-gone', ''])).code).toBe(2);
  const checks = JSON.parse((await there.reeve(['doctor', '--json'])).stdout) as {
    name: string;
    is: string;
  }[];
  expect(checks.find(({ name }) => name === 'hosts')?.is).toBe('bad');
  // Any command will do, where the run lives.
  expect((await here.show('web')).run).toMatchObject({ id: run.id, state: 'running', epoch: 2 });
  const refused = await there.reeve(['run', '-d', '-s', 'web', '--json', '--', 'sleep', '61']);
  expect([4, 7]).toContain(refused.code);
  expect((JSON.parse(refused.stdout) as Failure).error.code).not.toBe('store_behind');
  expect(isAlive(harness)).toBe(true);
  await here.json(['stop', 'web']);
  expect((await there.json<SessionView>(['run', '-d', '-s', 'web', '--', 'sleep', '62'])).run.epoch).toBe(3);
});

it('is found out by the host whose runs it has forgotten, also where no timeline tells', async () => {
  await here.reeve(['run', '-s', 'web', '--', 'true']);
  await takeBackup();
  const { run } = await launchIn(here, 'web', 'sleep', '60');
  await putBack('same');
  const { error } = await here.json<Failure>(['run', '-d', '-s', 'web', '--', 'sleep', '61'], 4);
  expect(error).toMatchObject({ code: 'live_owner', details: { owner: { run: run.id } } });
});

it('gets the outcome of a run that it has forgotten', async () => {
  await here.reeve(['run', '-s', 'web', '--', 'true']);
  await takeBackup();
  const wait = `until [ -e ${here.path('go')} ]; do sleep 0.05; done; exit 5`;
  const { run, keeper } = await launchIn(here, 'web', 'sh', '-c', wait);
  await putBack('same');
  writeFileSync(here.path('go'), '');
  await eventually('its keeper is gone', () => !isAlive(keeper), 60_000);
  expect((await here.show('web')).run).toMatchObject({ id: run.id, outcome: 'failed', exitCode: 5 });
});

it('puts a second living owner on record apart, so that it can be ended', async () => {
  await here.reeve(['run', '-s', 'web', '--', 'true']);
  await takeBackup();
  const first = await launchIn(here, 'web', 'sleep', '60');
  await putBack('same');
  // It has never seen what was lost, and no timeline tells it.
  const second = await launchIn(there, 'web', 'sleep', '61');
  const listed = await here.json<SessionView[]>(['ls', '--live']);
  expect(Object.fromEntries(listed.map((each) => [each.name, each.run.id]))).toEqual({
    web: second.run.id,
    'web-2': first.run.id,
  });
  expect((await here.reeve(['why', 'web-2'])).stdout).toContain('has another owner by now');
  await here.json(['stop', 'web-2']);
  expect([isAlive(first.harness), isAlive(second.harness)]).toEqual([false, true]);
});

it('that is another one is found out by a host that has only looked, and that was told of it before', async () => {
  const { run, harness } = await launchIn(here, 'web', 'sleep', '60');
  expect((await there.list()).map((each) => each.run.id)).toEqual([run.id]);
  // The second time it remembers what it was told of when it noticed the first.
  for (const round of [1, 2]) {
    await server.recreateDatabase(here.env['REEVE_STORE'] ?? '');
    const refused = await there.json<Failure>(['run', '-d', '-s', 'web', '--', 'sleep', '61'], 7);
    expect([round, refused.error.code]).toEqual([round, 'store_behind']);
    await here.list();
  }
  expect(isAlive(harness)).toBe(true);
  await here.json(['stop', 'web']);
});

it('that was put back from what pg_dump wrote is found out by a host that saw nothing of what was lost', async () => {
  await here.reeve(['run', '-s', 'web', '--', 'true']);
  await there.reeve(['run', '-s', 'other', '--', 'true']);
  const dump = server.dump(here.env['REEVE_STORE'] ?? '');
  const { run, harness } = await launchIn(here, 'web', 'sleep', '60');
  server.restore(here.env['REEVE_STORE'] ?? '', dump);
  const { error } = await there.json<Failure>(['run', '-d', '-s', 'web', '--', 'sleep', '61'], 7);
  expect(error).toMatchObject({ code: 'store_behind', details: { hosts: [run.host.split('/')[0]] } });
  expect((await here.show('web')).run).toMatchObject({ id: run.id, state: 'running', epoch: 2 });
  expect(isAlive(harness)).toBe(true);
});

it('gives no session away that another state directory of this user holds, whatever it has forgotten', async () => {
  there.env['HOME'] = here.root;
  await here.reeve(['run', '-s', 'before', '--', 'true']);
  await there.reeve(['run', '-s', 'other', '--', 'true']);
  await takeBackup();
  const { run, harness } = await launchIn(here, 'web', 'sleep', '60');
  await putBack('same');
  const { error } = await there.json<Failure>(['run', '-d', '-s', 'web', '--', 'sleep', '61'], 4);
  expect(error).toMatchObject({ code: 'live_owner', details: { home: here.home, owner: { run: run.id } } });
  expect(isAlive(harness)).toBe(true);
  await here.json(['stop', 'web']);
  expect((await there.json<SessionView>(['run', '-d', '-s', 'web', '--', 'sleep', '62'])).run.epoch).toBe(2);
});

it('that went back is found out by a host that has only looked', async () => {
  await here.reeve(['run', '-s', 'web', '--', 'true']);
  await takeBackup();
  const { harness } = await launchIn(here, 'web', 'sleep', '60');
  await there.list();
  await putBack('same');
  const { error } = await there.json<Failure>(['run', '-d', '-s', 'web', '--', 'sleep', '61'], 7);
  expect(error.code).toBe('store_behind');
  expect(isAlive(harness)).toBe(true);
});

it('waits for another state directory of this machine whose run is seen alive, whatever a person says', async () => {
  // As the same user, who may look into what the keeper holds.
  for (const each of [here, there])
    for (const name of ['NODE_OPTIONS', 'FAILING_READS']) delete each.env[name];
  const { run, harness } = await launchIn(here, 'web', 'sleep', '60');
  const [, id] = run.host.split('/');
  await there.list();
  await server.recreateDatabase(here.env['REEVE_STORE'] ?? '');
  expect((await there.reeve(['run', '-d', '-s', 'web', '--', 'sleep', '61'])).code).toBe(7);
  const { error } = await there.json<Failure>(['settle', '--host-gone', id ?? ''], 4);
  expect(error).toMatchObject({ code: 'live_owner', details: { run: run.id, home: here.home } });
  expect((await there.reeve(['run', '-d', '-s', 'web', '--', 'sleep', '61'])).code).toBe(7);
  expect(isAlive(harness)).toBe(true);
  await here.json(['stop', 'web']);
});

it('no longer waits for a host that a person calls gone', async () => {
  await here.reeve(['run', '-s', 'web', '--', 'true']);
  await there.reeve(['run', '-s', 'other', '--', 'true']);
  await takeBackup();
  await putBack('new');
  const start = ['run', '-d', '-s', 'web', '--', 'sleep', '60'];
  const [, id] = (await here.show('web')).run.host.split('/');
  // Both are of one machine and one name; having looked, this one has announced what lives here.
  const refused = await here.json<Failure>(start, 7);
  expect(refused.error.code).toBe('store_behind');
  const [, other] = (await here.show('other')).run.host.split('/');
  expect((await here.reeve(['settle', '--host-gone', id ?? ''])).code).toBe(2);
  expect(other).not.toBe(id);
  // By the name that both have it is this machine, which is not gone.
  const [name] = (await here.show('other')).run.host.split('/');
  const refusal = await here.json<Failure>(['settle', '--host-gone', name ?? ''], 2);
  expect(refusal.error.details).toEqual({ host: other });
  expect((await here.reeve(['settle', '--host-gone', other ?? ''])).code).toBe(0);
  expect((await here.json<SessionView>(start)).run.epoch).toBe(2);
});
