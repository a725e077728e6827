/** Who owns a session outlives the store that says so: lost, emptied, rolled back, or remade with its whole directory. */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { launchByCommand, launchIn } from '../support/launch.ts';
import { ownersOf, removeDatabase as removeDatabaseIn } from '../support/lost-store.ts';
import { eventually, isAlive, signalSeen } from '../support/processes.ts';
import { createSandbox, finished } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.cleanUp());

const owners = () => ownersOf(sandbox);
const removeDatabase = (home = sandbox.home) => removeDatabaseIn(home);

interface Failure {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly details: { readonly owner?: { readonly run: string; readonly pid: number | null } };
  };
}

const LOSSES: readonly [how: string, lose: () => void][] = [
  ['whose database was removed', removeDatabase],
  ['whose state directory was removed', () => rmSync(sandbox.home, { recursive: true, force: true })],
  [
    'whose state directory was removed and made anew',
    () => {
      rmSync(sandbox.home, { recursive: true, force: true });
      mkdirSync(sandbox.home, { mode: 0o700 });
    },
  ],
  [
    'whose database was emptied',
    () => {
      removeDatabase();
      writeFileSync(join(sandbox.home, 'reeve.db'), '');
    },
  ],
  [
    'that lost its directory and the files of owners with it',
    () => {
      rmSync(sandbox.home, { recursive: true, force: true });
      rmSync(owners(), { recursive: true, force: true });
    },
  ],
  [
    'whose database was removed and whose files of owners were put aside',
    () => {
      renameSync(owners(), sandbox.path('aside'));
      removeDatabase();
    },
  ],
  [
    'whose directory was put aside with the files of owners',
    () => {
      renameSync(owners(), sandbox.path('owners-aside'));
      renameSync(sandbox.home, sandbox.path('home-aside'));
    },
  ],
];

describe.each(LOSSES)('a session %s', (_how, lose) => {
  it('has the owner that it had, and no second one', async () => {
    const { run, harness } = await launchIn(sandbox, 'web', 'sleep', '60');
    lose();
    const { error } = await sandbox.json<Failure>(['run', '-d', '-s', 'web', '--', 'sleep', '61'], 4);
    expect(error).toMatchObject({ code: 'live_owner', details: { owner: { run: run.id } } });
    expect(isAlive(harness)).toBe(true);
    // It is on record again, with all that can be done about it.
    expect((await sandbox.show('web')).run).toMatchObject({ id: run.id, state: 'running', epoch: 1 });
    expect(await sandbox.json(['stop', 'web'])).toMatchObject({
      run: { outcome: 'stopped', proof: 'kernel' },
    });
    expect(isAlive(harness)).toBe(false);
    const next = await sandbox.json<SessionView>(['run', '-d', '-s', 'web', '--', 'sleep', '62']);
    expect(next.epoch).toBe(2);
    // Whatever identity the state directory has by now, the run was its own.
    expect((await sandbox.show('web')).runs.map(({ host }) => host)).toEqual([next.run.host, next.run.host]);
  });

  it('is listed by whoever only looks', async () => {
    const { run } = await launchIn(sandbox, 'web', 'sleep', '60');
    lose();
    expect((await sandbox.list()).map((each) => each.run.id)).toEqual([run.id]);
  });

  it('gets the outcome of the run that it had forgotten', async () => {
    const { run, keeper } = await launchIn(
      sandbox,
      'web',
      'sh',
      '-c',
      `until [ -e ${sandbox.path('go')} ]; do sleep 0.05; done; exit 3`,
    );
    lose();
    await sandbox.list();
    writeFileSync(sandbox.path('go'), '');
    await eventually('its keeper is gone', () => !isAlive(keeper));
    expect((await sandbox.show('web')).run).toMatchObject({ id: run.id, outcome: 'failed', exitCode: 3 });
  });
});

describe('a state directory that was moved under a living run', () => {
  const moved = () => {
    renameSync(sandbox.home, sandbox.path('moved'));
    sandbox.env['REEVE_HOME'] = sandbox.path('moved');
  };
  afterEach(() => {
    renameSync(sandbox.path('moved'), sandbox.home);
    sandbox.env['REEVE_HOME'] = sandbox.home;
  });

  it('and then lost its database, has the owner that it had', async () => {
    const { run, harness } = await launchIn(sandbox, 'web', 'sleep', '60');
    moved();
    removeDatabase(sandbox.path('moved'));
    const { error } = await sandbox.json<Failure>(['run', '-d', '-s', 'web', '--', 'sleep', '61'], 4);
    expect(error).toMatchObject({ code: 'live_owner', details: { owner: { run: run.id } } });
    expect(await sandbox.json(['stop', 'web'])).toMatchObject({ run: { outcome: 'stopped' } });
    expect(isAlive(harness)).toBe(false);
  });

  it('while an older copy of it took its place, has no second owner from there', async () => {
    await sandbox.reeve(['run', '-s', 'other', '--', 'true']);
    cpSync(sandbox.home, sandbox.path('copy'), { recursive: true });
    const { run } = await launchIn(sandbox, 'web', 'sleep', '60');
    moved();
    sandbox.env['REEVE_HOME'] = sandbox.path('copy');
    const { error } = await sandbox.json<Failure>(['run', '-d', '-s', 'web', '--', 'sleep', '61'], 4);
    expect(error).toMatchObject({ code: 'live_owner', details: { owner: { run: run.id } } });
    expect(await sandbox.json(['stop', 'web'])).toMatchObject({ run: { outcome: 'stopped' } });
  });
});

it('a run of a state directory that was moved is put on record in one place only when the old one is used anew', async () => {
  const { run } = await launchIn(sandbox, 'web', 'sleep', '60');
  const moved = { env: { REEVE_HOME: sandbox.path('moved') } };
  renameSync(sandbox.home, sandbox.path('moved'));
  removeDatabase(sandbox.path('moved'));
  expect((await sandbox.list()).map((each) => each.run.id)).toEqual([run.id]);
  expect(JSON.parse((await sandbox.reeve(['ls', '--all', '--json'], moved)).stdout)).toEqual([]);
  const refused = await sandbox.reeve(['run', '-d', '-s', 'web', '--', 'sleep', '61'], moved);
  expect(refused).toMatchObject({ code: 4, stderr: expect.stringContaining(run.id) });
});

describe('a run whose keeper was killed and whose command lives on', () => {
  it('is not looked for by a file from before a restart of the machine', async () => {
    const script = 'echo $$ > pid.new; mv pid.new pid; exec sleep 600';
    const { keeper } = await launchIn(sandbox, 'web', 'timeout', '900', 'sh', '-c', script);
    const survivor = await sandbox.pidFrom('pid');
    signalSeen(keeper, 'SIGKILL');
    await eventually('the keeper is gone', () => !isAlive(keeper));
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    for (const name of readdirSync(owners()).filter((each) => each.startsWith('session-'))) {
      const file = join(owners(), name);
      writeFileSync(file, readFileSync(file, 'utf8').replaceAll(boot, randomUUID()));
    }
    removeDatabase();
    expect(await sandbox.list()).toEqual([]);
    signalSeen(survivor, 'SIGKILL');
  });

  it.each([
    ['the database was removed', () => removeDatabase()],
    ['the state directory was removed', () => rmSync(sandbox.home, { recursive: true, force: true })],
  ])('is on record again after %s, and over before a new one begins', async (_how, lose) => {
    const script = 'echo $$ > pid.new; mv pid.new pid; exec sleep 600';
    const { keeper } = await launchIn(sandbox, 'web', 'timeout', '900', 'sh', '-c', script);
    const survivor = await sandbox.pidFrom('pid');
    signalSeen(keeper, 'SIGKILL');
    await eventually('the keeper is gone', () => !isAlive(keeper));
    expect(isAlive(survivor)).toBe(true);
    lose();
    const started = await sandbox.json<SessionView>(['run', '-d', '-s', 'web', '--', 'sleep', '61']);
    expect(started.run.epoch).toBe(2);
    expect(isAlive(survivor)).toBe(false);
    const runs = (await sandbox.show('web')).runs.map(({ outcome }) => outcome);
    expect(runs).toStrictEqual(['lost', null]);
  });
});

it('what is left when the keeper, the store and the files of owners are all gone is named by doctor', async () => {
  const script = 'echo $$ > pid.new; mv pid.new pid; exec sleep 600';
  const { run, keeper } = await launchIn(sandbox, 'web', 'timeout', '900', 'sh', '-c', script);
  const survivor = await sandbox.pidFrom('pid');
  signalSeen(keeper, 'SIGKILL');
  await eventually('the keeper is gone', () => !isAlive(keeper));
  rmSync(sandbox.home, { recursive: true, force: true });
  rmSync(owners(), { recursive: true, force: true });
  const checks = await sandbox.json<{ name: string; is: string; says: string }[]>(['doctor']);
  const found = checks.find(({ name }) => name === 'leftovers');
  expect(found?.is).toBe('poor');
  expect(found?.says).toContain(`pid ${survivor.pid} (sleep, of ${run.id})`);
  signalSeen(survivor, 'SIGKILL');
  await eventually('it is gone', () => !isAlive(survivor));
  const after = await sandbox.json<{ name: string }[]>(['doctor']);
  expect(after.map(({ name }) => name)).not.toContain('leftovers');
});

describe('a database restored from before a resume', () => {
  it('learns of the run that it does not know, and gives out no epoch twice', async () => {
    await sandbox.reeve(['run', '-s', 'web', '--', 'true']);
    const copy = sandbox.path('copy.db');
    cpSync(join(sandbox.home, 'reeve.db'), copy);
    const { run } = await launchIn(sandbox, 'web', 'sleep', '60');
    expect(run.epoch).toBe(2);
    removeDatabase();
    cpSync(copy, join(sandbox.home, 'reeve.db'));
    const { error } = await sandbox.json<Failure>(['run', '-d', '-s', 'web', '--', 'sleep', '61'], 4);
    expect(error.details.owner?.run).toBe(run.id);
    await sandbox.json(['stop', 'web']);
    const next = await sandbox.json<SessionView>(['run', '-d', '-s', 'web', '--', 'sleep', '62']);
    expect(next.run.epoch).toBe(3);
  });

  it('that another run of the session owned then, which is gone, has the living one as its owner', async () => {
    const first = await launchByCommand(sandbox, 'web', 'sleep', '60');
    const copy = sandbox.path('copy.db');
    await sandbox.list();
    cpSync(join(sandbox.home, 'reeve.db'), copy);
    const start = ['run', '-d', '--force', '-s', 'web', '--', 'sleep', '61'];
    const { run } = await sandbox.json<SessionView>(start);
    expect(isAlive(first.harness)).toBe(false);
    removeDatabase();
    cpSync(copy, join(sandbox.home, 'reeve.db'));
    const { error } = await sandbox.json<Failure>(['run', '-d', '-s', 'web', '--', 'sleep', '62'], 4);
    expect(error.details.owner?.run).toBe(run.id);
    const web = await sandbox.show('web');
    expect(web).toMatchObject({ argv: ['sleep', '61'], run: { id: run.id, state: 'running' } });
    expect(web.runs.map(({ id, state }) => [id, state])).toEqual([
      [first.run.id, 'ended'],
      [run.id, 'running'],
    ]);
    expect(await sandbox.json(['stop', 'web'])).toMatchObject({ run: { id: run.id, outcome: 'stopped' } });
  });

  it('does not give out the epoch of a run that is over and that it has forgotten', async () => {
    await sandbox.reeve(['run', '-s', 'web', '--', 'true']);
    const copy = sandbox.path('copy.db');
    cpSync(join(sandbox.home, 'reeve.db'), copy);
    for (let epoch = 2; epoch <= 4; epoch += 1) await sandbox.reeve(['run', '-s', 'web', '--', 'true']);
    removeDatabase();
    cpSync(copy, join(sandbox.home, 'reeve.db'));
    const next = await sandbox.json<SessionView>(['run', '-d', '-s', 'web', '--', 'sleep', '60']);
    expect(next.run.epoch).toBe(5);
    expect((await sandbox.json<SessionView>(['run', '-d', '-s', 'new', '--', 'sleep', '60'])).run.epoch).toBe(
      5,
    );
  });
});

it('a copy of the state directory, used after the original was made anew, knows how a run ended there', async () => {
  const wait = `until [ -e ${sandbox.path('go')} ]; do sleep 0.02; done; exit 5`;
  const { run, keeper } = await launchIn(sandbox, 'web', 'sh', '-c', wait);
  const copy = sandbox.path('copied');
  cpSync(sandbox.home, copy, { recursive: true });
  rmSync(sandbox.home, { recursive: true });
  expect((await sandbox.list()).map((each) => each.run.id)).toEqual([run.id]);
  writeFileSync(sandbox.path('go'), '');
  await eventually('its keeper is gone', () => !isAlive(keeper));
  const original = sandbox.home;
  for (const home of [copy, original]) {
    sandbox.env['REEVE_HOME'] = home;
    expect((await sandbox.show('web')).run).toMatchObject({ id: run.id, outcome: 'failed', exitCode: 5 });
  }
});

describe('a copy of the store in another state directory', () => {
  const copyTo = (name: string, ...parts: readonly string[]) => {
    const home = sandbox.path(name);
    mkdirSync(home, { mode: 0o700 });
    for (const part of readdirSync(sandbox.home).filter((each) => parts.some((is) => each.startsWith(is))))
      cpSync(join(sandbox.home, part), join(home, part), { recursive: true });
    return { env: { REEVE_HOME: home } };
  };

  it('gives a session no second owner while a run of it lives in either', async () => {
    await sandbox.reeve(['run', '-s', 'web', '--', 'true']);
    const copy = copyTo('copy', 'reeve.db');
    const start = ['run', '-d', '--json', '-s', 'web', '--', 'sleep', '60'];
    const there = await sandbox.reeve(start, copy);
    expect(there.code).toBe(0);
    const { error } = await sandbox.json<Failure>(start.toSpliced(2, 1), 4);
    expect(error.code).toBe('live_owner');
    expect(await sandbox.reeve(['stop', 'web'], copy)).toMatchObject({ code: 0 });
    await sandbox.json(start.toSpliced(2, 1));
    expect((await sandbox.reeve(start, copy)).code).toBe(4);
  });

  it('gives it none either when the files of owners were lost as well', async () => {
    await sandbox.reeve(['run', '-s', 'web', '--', 'true']);
    const copy = copyTo('copy', 'reeve.db');
    const { run } = await launchIn(sandbox, 'web', 'sleep', '60');
    rmSync(owners(), { recursive: true });
    const there = await sandbox.reeve(['run', '-d', '--json', '-s', 'web', '--', 'sleep', '61'], copy);
    expect(there.code).toBe(4);
    expect(JSON.parse(there.stdout)).toMatchObject({ error: { details: { owner: { run: run.id } } } });
  });

  it('does not end what the original started, also with the records of it', async () => {
    const { harness } = await launchIn(sandbox, 'web', 'sleep', '60');
    const copy = copyTo('copy', 'reeve.db', 'runs');
    expect((await sandbox.reeve(['stop', 'web'], copy)).code).toBe(7);
    expect(isAlive(harness)).toBe(true);
    expect((await sandbox.show('web')).run).toMatchObject({ state: 'running' });
  });
});

describe('a lock', () => {
  it('decides between two that were claimed in two stores at once', async () => {
    const [go, ran] = [sandbox.path('go'), sandbox.path('ran')];
    const early = sandbox.start(['run', '-d', '-s', 'web', '--', 'touch', ran], {
      env: { ...sandbox.env, REEVE_CHECKPOINT: `launch.started=wait:${go}` },
    });
    const done = finished(early);
    await eventually('it is on record, and not let go', () => existsSync(`${go}.reached`));
    removeDatabase();
    // Its directory would tell of it, and the second be refused.
    const runs = join(sandbox.home, 'runs');
    for (const each of readdirSync(runs)) rmSync(join(runs, each, 'announcement'));
    const { run, harness } = await launchIn(sandbox, 'web', 'sleep', '60');
    writeFileSync(go, '');
    expect((await done).code).not.toBe(0);
    expect(existsSync(ran)).toBe(false);
    expect(isAlive(harness)).toBe(true);
    expect((await sandbox.show('web')).run.id).toBe(run.id);
  });

  it('goes with its keeper: nothing is left of it when the run is over', async () => {
    await sandbox.reeve(['run', '-s', 'a', '--', 'true']);
    await launchIn(sandbox, 'b', 'sleep', '60');
    await sandbox.json(['stop', 'b']);
    expect(readdirSync(owners()).filter((name) => name.startsWith('session-'))).toEqual([]);
  });

  it('of a keeper that was killed is no obstacle', async () => {
    const { keeper, harness } = await launchIn(sandbox, 'web', 'sleep', '60');
    signalSeen(keeper, 'SIGKILL');
    await eventually('both are gone', () => !isAlive(keeper) && !isAlive(harness));
    expect((await sandbox.json<SessionView>(['run', '-d', '-s', 'web', '--', 'sleep', '61'])).epoch).toBe(2);
  });

  it('is not inherited by the command, nor is any other descriptor', async () => {
    const { harness } = await launchIn(sandbox, 'web', 'sleep', '60');
    expect(readdirSync(`/proc/${harness.pid}/fd`).toSorted()).toEqual(['0', '1', '2']);
  });

  it('that somebody holds who cannot be seen is a live owner', async () => {
    await launchIn(sandbox, 'web', 'sleep', '60');
    const file = readdirSync(owners()).find((name) => name.startsWith('session-')) ?? '';
    await sandbox.json(['stop', 'web']);
    // As a keeper in a container does, whose processes are not to be seen from here.
    const holder = spawn('flock', [
      '--no-fork',
      join(owners(), file),
      'sh',
      '-c',
      'echo held; exec sleep 60',
    ]);
    await new Promise((resolve) => holder.stdout.once('data', resolve));
    const { error } = await sandbox.json<Failure>(['run', '-d', '-s', 'web', '--', 'sleep', '61'], 4);
    expect(error.code).toBe('live_owner');
    holder.kill();
  });

  it('that cannot be read stands in the way', async () => {
    const { run } = await launchIn(sandbox, 'web', 'sleep', '60');
    const file = readdirSync(owners()).find((name) => name.startsWith('session-')) ?? '';
    expect(existsSync(join(owners(), file))).toBe(true);
    await sandbox.json(['stop', 'web']);
    mkdirSync(join(owners(), file));
    const { error } = await sandbox.json<Failure>(['run', '-d', '-s', 'web', '--', 'sleep', '61'], 7);
    expect(error.code).toBe('unproven');
    rmSync(join(owners(), file), { recursive: true });
    expect((await sandbox.show('web')).run.id).toBe(run.id);
  });
});

it('a database that was cut short is refused, and the way on that is named gives no second owner', async () => {
  const { run } = await launchByCommand(sandbox, 'web', 'sleep', '60');
  await sandbox.reeve(['ls']);
  for (const name of readdirSync(sandbox.home).filter((each) => each.startsWith('reeve.db-')))
    rmSync(join(sandbox.home, name));
  truncateSync(join(sandbox.home, 'reeve.db'), 700);
  expect((await sandbox.json<Failure>(['ls'], 1)).error.code).toBe('store_damaged');
  removeDatabase();
  expect((await sandbox.list()).map((each) => each.run.id)).toEqual([run.id]);
});
