/** While it runs: each process of a run killed, stopped or starved, and what the record then says. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { spawn, spawnSync } from 'node:child_process';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { DatabaseSync } from '@photostructure/sqlite';
import { launchIn, MISBEHAVE } from '../support/launch.ts';
import { eventually, isAlive, isExecuting, see, signalSeen } from '../support/processes.ts';
import type { Seen } from '../support/processes.ts';
import { CLI, createSandbox, finished } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.cleanUp());

const launch = (name: string, ...command: string[]) => launchIn(sandbox, name, ...command);

const ended = (name: string) =>
  eventually(`${name} ends`, async () => {
    const { run } = await sandbox.show(name);
    return run.state === 'ended' && run;
  });

describe('a killed harness', () => {
  it('is a failure that names the signal, without anybody asking', async () => {
    const { harness, keeper } = await launch('a', 'sleep', '60');
    signalSeen(harness, 'SIGKILL');
    await eventually('the keeper has finalised', () => !isAlive(keeper));
    expect(await ended('a')).toMatchObject({ outcome: 'failed', exitCode: null, signal: 'SIGKILL' });
  });

  it('takes its escaped grandchild with it', async () => {
    const { harness } = await launch('a', 'perl', MISBEHAVE, 'wiped', 'tag', 'escapee');
    const escapee = await sandbox.pidFrom('escapee');
    signalSeen(harness, 'SIGKILL');
    expect((await ended('a')).outcome).toBe('failed');
    expect(isAlive(escapee)).toBe(false);
  });

  it('that the kernel killed for want of memory is told as such', { tags: ['root'] }, async () => {
    // A memory cgroup (v1 or v2, whichever is there) that holds 20 MB, and a command that asks for 200.
    const greedy = 'my @a; push @a, "x" x 1_000_000 for 1 .. 200; sleep 60';
    const limit = sandbox.path('limit');
    writeFileSync(limit, MEMORY_LIMIT);
    const command = ['sh', limit, `reeve-test-${process.pid}`, 'perl', '-e', greedy];
    await sandbox.json(['run', '--detach', '-s', 'a', '--', ...command]);
    const run = await ended('a');
    expect({ outcome: run.outcome, signal: run.signal }).toEqual({ outcome: 'failed', signal: 'SIGKILL' });
    expect(run.reason).toMatch(/out of memory/);
  });
});

it('a keeper that the kernel killed for want of memory is told as such', { tags: ['root'] }, async () => {
  const limit = sandbox.path('limit');
  writeFileSync(limit, MEMORY_LIMIT);
  const { keeper } = await launch('a', 'sleep', '60');
  // The kernel kills somebody while it runs; that the keeper was meant is as near as a test can come.
  spawnSync('sh', [
    limit,
    `reeve-test-${process.pid}-keeper`,
    'perl',
    '-e',
    'my @a; push @a, "x" x 1_000_000 for 1 .. 200',
  ]);
  signalSeen(keeper, 'SIGKILL');
  const run = await ended('a');
  expect(run.outcome).toBe('lost');
  expect(run.reason).toMatch(/out of memory/);
});

/** Joins a cgroup with a hard memory limit, removed again when it is empty, and becomes the command. */
const MEMORY_LIMIT = `name=$1; shift
for base in /sys/fs/cgroup/memory /sys/fs/cgroup; do
  [ -e $base/memory.limit_in_bytes ] || [ -e $base/cgroup.subtree_control ] || continue
  mkdir $base/$name || continue
  (while sleep 0.2; do rmdir $base/$name 2>/dev/null && exit; [ -d $base/$name ] || exit; done) &
  echo 20000000 > $base/$name/memory.limit_in_bytes 2>/dev/null || echo 20000000 > $base/$name/memory.max || continue
  echo 0 > $base/$name/memory.swap.max 2>/dev/null
  echo $$ > $base/$name/cgroup.procs
  exec "$@"
done
exit 99
`;

describe('a killed keeper', () => {
  it.each(['cgroup', 'subreaper', 'marks'])(
    '(%s) means the run is lost, and nothing of it is left',
    async (containment) => {
      sandbox.env['REEVE_CONTAINMENT'] = containment;
      const { harness, keeper } = await launch('a', 'perl', MISBEHAVE, 'escaped', 'tag', 'escapee');
      const escapee = await sandbox.pidFrom('escapee');
      signalSeen(keeper, 'SIGKILL');
      const run = await ended('a');
      expect({ outcome: run.outcome, exitCode: run.exitCode, signal: run.signal }).toEqual({
        outcome: 'lost',
        exitCode: null,
        signal: null,
      });
      expect([isAlive(harness), isAlive(escapee)]).toEqual([false, false]);
      const next = await sandbox.json<SessionView>(['run', '--detach', '-s', 'a', '--', 'sleep', '60']);
      expect(next.epoch).toBe(2);
    },
  );

  it('takes its harness with it at once, even one that wiped its environment', async () => {
    sandbox.env['REEVE_CONTAINMENT'] = 'subreaper';
    const { harness, keeper } = await launch('a', 'env', '-i', '/bin/sleep', '60');
    signalSeen(keeper, 'SIGKILL');
    await eventually('the harness is dead before anybody looked', () => !isAlive(harness));
    expect((await ended('a')).outcome).toBe('lost');
  });

  it('with a cgroup leaves not even what escaped from everything else', { tags: ['root'] }, async () => {
    const { keeper, run } = await launch('a', 'perl', MISBEHAVE, 'wiped', 'tag', 'escapee');
    expect(run.containment).toBe('cgroup');
    const escapee = await sandbox.pidFrom('escapee');
    signalSeen(keeper, 'SIGKILL');
    await ended('a');
    expect(isAlive(escapee)).toBe(false);
  });

  it.each([
    ['before it starts the harness', 'keeper.released', 'lost', null],
    ['after it started the harness', 'keeper.executing', 'lost', null],
    ['before it records the exit', 'keeper.exited', 'lost', null],
    ['after it recorded the exit', 'keeper.recorded', 'failed', 7],
  ])('%s leaves what is true on record', async (_when, point, outcome, exitCode) => {
    await sandbox.reeve(['run', '--detach', '-s', 'a', '--', 'sh', '-c', 'exit 7'], {
      env: { REEVE_CHECKPOINT: `${point}=kill` },
    });
    const run = await ended('a');
    expect({ outcome: run.outcome, exitCode: run.exitCode }).toEqual({ outcome, exitCode });
  });

  it.each(['finalise.begun', 'finalise.swept', 'finalise.ended'])(
    'in the middle of finalising, at %s, leaves the rest to the next reader',
    async (point) => {
      await sandbox.reeve(['run', '--detach', '-s', 'a', '--', 'sh', '-c', 'exit 7'], {
        env: { REEVE_CHECKPOINT: `${point}=kill` },
      });
      expect(await ended('a')).toMatchObject({ outcome: 'failed', exitCode: 7 });
    },
  );
});

it('a keeper that is stopped for long leaves its run in doubt, and its late words change nothing', async () => {
  const { harness, keeper } = await launch('a', 'sleep', '60');
  signalSeen(keeper, 'SIGSTOP');
  signalSeen(harness, 'SIGKILL');
  await eventually('the harness is dead', () => !isAlive(harness));
  const seen = await sandbox.show('a');
  expect(seen.run).toMatchObject({ state: 'running', liveness: 'unknown' });
  expect({ status: seen.status, doubt: seen.doubt }).toEqual({
    status: 'unknown',
    doubt: expect.any(String),
  });
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
  signalSeen(keeper, 'SIGCONT');
  await eventually('the old keeper is gone', () => !isAlive(keeper));
  const { epoch, run, runs } = await sandbox.show('a');
  expect({ epoch, id: run.id, status: run.liveness }).toEqual({
    epoch: 2,
    id: taken.run.id,
    status: 'alive',
  });
  expect(runs[0]?.outcome).toBe('superseded');
});

describe('a harness that exits while', () => {
  it('the store is locked is finalised once it is free', async () => {
    const { harness } = await launch('a', 'sleep', '60');
    const database = new DatabaseSync(join(sandbox.home, 'reeve.db'));
    database.exec('begin immediate');
    signalSeen(harness, 'SIGTERM');
    await eventually('the exit is recorded', () => existsSync(exitRecord('a')));
    database.exec('rollback');
    database.close();
    expect(await ended('a')).toMatchObject({ outcome: 'failed', signal: 'SIGTERM' });
  });

  it('its exit record is broken is lost, and the record is left as it is', async () => {
    const { harness } = await launch('a', 'sleep', '60');
    const { keeper } = { keeper: see((await sandbox.show('a')).run.keeperPid ?? 0) };
    signalSeen(keeper, 'SIGKILL');
    await eventually('harness and keeper are dead', () => !isAlive(keeper) && !isAlive(harness));
    const path = exitRecord('a');
    writeFileSync(path, '{"version":1,"co');
    const run = await ended('a');
    expect(run.outcome).toBe('lost');
    expect(run.reason).toContain('exit.json');
    expect(readFileSync(path, 'utf8')).toBe('{"version":1,"co');
  });

  it('its run directory is gone has its end on record all the same', async () => {
    const { harness, keeper } = await launch('a', 'sleep', '60');
    rmSync(join(exitRecord('a'), '..'), { recursive: true });
    signalSeen(harness, 'SIGTERM');
    await eventually('the keeper gave up', () => !isAlive(keeper));
    expect(await ended('a')).toMatchObject({ outcome: 'failed', signal: 'SIGTERM' });
  });
});

function exitRecord(name: string): string {
  const directories = new DatabaseSync(join(sandbox.home, 'reeve.db'), { readOnly: true });
  try {
    const row = directories.prepare('select current_run_id as id from sessions where name = ?').get(name);
    return join(sandbox.home, 'runs', (row as { id: string }).id, 'exit.json');
  } finally {
    directories.close();
  }
}

describe.each(['cgroup', 'subreaper'])(
  'what a harness leaves behind (%s) is ended also when',
  (containment) => {
    beforeEach(() => {
      sandbox.env['REEVE_CONTAINMENT'] = containment;
    });
    const leave = () => launch('a', 'sh', '-c', `perl ${MISBEHAVE} leaver tag escapee; read line < go`);

    async function letGo(keeper: Seen): Promise<void> {
      writeFileSync(sandbox.path('go'), 'on\n');
      await eventually('the keeper is gone', () => !isAlive(keeper));
    }

    beforeEach(() => {
      spawnSync('mkfifo', [sandbox.path('go')]);
    });

    it('the state directory was removed meanwhile; and none is made anew', async () => {
      const { keeper } = await leave();
      const escapee = await sandbox.pidFrom('escapee');
      rmSync(sandbox.home, { recursive: true });
      await letGo(keeper);
      expect(isAlive(escapee)).toBe(false);
      expect(existsSync(sandbox.home)).toBe(false);
    });

    it('a newer Reeve has taken the store over', async () => {
      const { keeper } = await leave();
      const escapee = await sandbox.pidFrom('escapee');
      const database = new DatabaseSync(join(sandbox.home, 'reeve.db'));
      const { user_version: version } = database.prepare('pragma user_version').get() as {
        user_version: number;
      };
      database.exec(`pragma user_version = ${version + 1}`);
      await letGo(keeper);
      expect(isAlive(escapee)).toBe(false);
      database.exec(`pragma user_version = ${version}`);
      database.close();
      expect((await ended('a')).outcome).toBe('completed');
    });

    it('the finaliser is killed before it can do anything', async () => {
      sandbox.env['REEVE_CHECKPOINT'] = 'finalise.begun=kill';
      const { keeper } = await leave();
      delete sandbox.env['REEVE_CHECKPOINT'];
      const escapee = await sandbox.pidFrom('escapee');
      await letGo(keeper);
      expect(isAlive(escapee)).toBe(false);
      const run = await ended('a');
      expect(run.outcome).toBe('completed');
    });
  },
);

it('a nested run is asked to end before it is killed, and its own end is on record', async () => {
  const inner = `trap "echo asked > asked; exit 0" TERM; echo $$ > inner; while :; do sleep 0.05; done`;
  const outer = `${process.execPath} ${CLI} run --detach -s inner -- sh -c '${inner}'; while [ ! -e inner ]; do sleep 0.01; done`;
  expect((await sandbox.reeve(['run', '-s', 'outer', '--', 'sh', '-c', outer])).code).toBe(0);
  expect(existsSync(sandbox.path('asked'))).toBe(true);
  const run = await ended('inner');
  expect(run.outcome).not.toBe('never_started');
  expect(isExecuting(Number(readFileSync(sandbox.path('inner'), 'utf8')))).toBe(false);
});

it('a harness that leaves thousands of children is finalised by its keeper', async () => {
  const script =
    'for (1 .. 3000) { my $c = fork; last unless defined $c; if (!$c) { sleep 60; exit } } exit 0';
  const { run } = await sandbox.json<SessionView>(['run', '--detach', '-s', 'a', '--', 'perl', '-e', script]);
  await eventually('the keeper is done', () => !isExecuting(run.keeperPid ?? 0), 40_000);
  expect((await ended('a')).outcome).toBe('completed');
});

it('another user’s dead run is unknown, whatever can be seen of it', { tags: ['root'] }, async () => {
  const { keeper, harness } = await launch('a', 'sleep', '60');
  signalSeen(keeper, 'SIGKILL');
  await eventually('both are dead', () => !isAlive(keeper) && !isAlive(harness));
  // The store is handed to nobody; the run's directory stays root's.
  spawnSync('chown', ['nobody', sandbox.root, sandbox.home, join(sandbox.home, 'runs')]);
  for (const file of ['reeve.db', 'reeve.db-wal', 'reeve.db-shm', 'installation.json'])
    spawnSync('chown', ['nobody', join(sandbox.home, file)]);
  const looked = spawnSync(
    'setpriv',
    ['--reuid', '65534', '--clear-groups', process.execPath, CLI, 'show', '--json', 'a'],
    {
      env: sandbox.env,
      cwd: '/',
      encoding: 'utf8',
    },
  );
  expect(JSON.parse(looked.stdout)).toMatchObject({ status: 'unknown', run: { state: 'running' } });
  expect((await ended('a')).outcome).toBe('lost');
});

describe('a harness on record', () => {
  it('that wiped its environment is ended with its run when its keeper is killed, marks or not', async () => {
    sandbox.env['REEVE_CONTAINMENT'] = 'marks';
    const { harness, keeper } = await launch('a', 'env', '-i', '/bin/sleep', '60');
    signalSeen(keeper, 'SIGKILL');
    // Until it is collected, even a zombie vouches for the session by its number.
    await eventually('the keeper is collected', () => !existsSync(`/proc/${keeper.pid}`));
    expect(isAlive(harness)).toBe(true);
    const next = await sandbox.json<SessionView>(['run', '--detach', '-s', 'a', '--', 'sleep', '60']);
    expect(isAlive(harness)).toBe(false);
    expect(next.epoch).toBe(2);
  });
});

it('where no kernel’s count can prove it, the record does not say proven', async () => {
  sandbox.env['REEVE_CONTAINMENT'] = 'marks';
  await launch('a', 'sleep', '60');
  const stopped = await sandbox.reeve(['stop', 'a']);
  expect(stopped.code).toBe(0);
  expect(stopped.stdout).not.toContain('proven');
});

it(
  'a reader whose clock counts from another boot, or whose /proc is another’s, leaves a run alone',
  { tags: ['root'] },
  async () => {
    const { harness } = await launch('a', 'sleep', '60');
    const inside = (...flags: string[]) =>
      spawnSync('unshare', [...flags, '--fork', process.execPath, CLI, 'show', 'a'], {
        env: sandbox.env,
        cwd: sandbox.root,
      });
    expect(inside('--time', '--boottime', '100000').status).toBe(0);
    expect(inside('--pid').status).toBe(7);
    expect(isAlive(harness)).toBe(true);
    expect((await sandbox.show('a')).status).toBe('working');
  },
);

it(
  'a run that cannot be seen from here is not assumed gone while the kernel says that its keeper holds it',
  { tags: ['root'] },
  async () => {
    const { harness, keeper } = await launch('a', 'sleep', '60');
    const inside = () =>
      spawnSync(
        'unshare',
        ['--pid', '--fork', '--mount-proc', process.execPath, CLI, 'kill', 'a', '--assume-gone'],
        { env: sandbox.env, cwd: sandbox.root },
      ).status;
    expect(inside()).toBe(4);
    expect(isAlive(harness)).toBe(true);
    expect((await sandbox.show('a')).status).toBe('working');
    signalSeen(keeper, 'SIGKILL');
    await eventually('its harness is dead', () => !isAlive(harness));
    expect(inside()).toBe(0);
  },
);

it('reading the store fails with unknown (7), and nothing is ended for it', async () => {
  const { harness } = await launch('a', 'sleep', '60');
  const result = await sandbox.reeve(['show', 'a'], {
    env: { REEVE_STORE: 'postgres://127.0.0.1:1/nothing', REEVE_STORE_WAIT: '1' },
  });
  expect(result.code).toBe(7);
  expect(isAlive(harness)).toBe(true);
  expect((await sandbox.show('a')).status).toBe('working');
});

it('many deaths at once are doubted, not believed, until asked for one by one', async () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  const keepers: Seen[] = [];
  for (const name of names) keepers.push((await launch(name, 'sleep', '60')).keeper);
  for (const keeper of keepers.slice(0, 5)) signalSeen(keeper, 'SIGKILL');
  await eventually('five keepers are dead', () => keepers.slice(0, 5).every((keeper) => !isAlive(keeper)));
  const statuses = (await sandbox.list()).map(({ status }) => status);
  expect(statuses.toSorted()).toEqual(['unknown', 'unknown', 'unknown', 'unknown', 'unknown', 'working']);
  expect((await sandbox.show('a')).run.outcome).toBe('lost');
  const afterwards = (await sandbox.list()).map(({ name, status }) => `${name} ${status}`);
  expect(afterwards.toSorted()).toEqual(['a lost', 'b lost', 'c lost', 'd lost', 'e lost', 'f working']);
});

it('a look-alike stranger survives everything that is done to the run', async () => {
  const strangers = [{}, { REEVE_RUN: 'r-0000000000000000' }, { REEVE_HOME: sandbox.home }].map((mark) => {
    const child = spawn('sleep', ['60'], {
      cwd: sandbox.root,
      env: { PATH: sandbox.env['PATH'], ...mark },
      detached: true,
    });
    return see(child.pid ?? 0);
  });
  try {
    await launch('a', 'sleep', '60');
    await sandbox.json(['run', '--detach', '--force', '-s', 'a', '--', 'sleep', '60']);
    await sandbox.json(['stop', 'a']);
    await sandbox.json(['run', '--detach', '-s', 'a', '--', 'sleep', '60']);
    await sandbox.json(['kill', 'a']);
    expect(strangers.map(isAlive)).toEqual([true, true, true]);
  } finally {
    for (const stranger of strangers) signalSeen(stranger, 'SIGKILL');
  }
});

it('the launcher’s own pipes closed do not end a detached run', async () => {
  const launcher = sandbox.start(['run', '--detach', '-s', 'a', '--', 'perl', MISBEHAVE, 'talker', 'tag']);
  launcher.stdout?.destroy();
  launcher.stderr?.destroy();
  await finished(launcher);
  const before = (await sandbox.show('a')).run;
  const log = before.logPath ?? '';
  await eventually('it goes on writing', () => readFileSync(log, 'utf8').includes('line 50 '));
  expect(isExecuting(before.pid ?? 0)).toBe(true);
});
