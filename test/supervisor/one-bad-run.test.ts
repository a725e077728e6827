/** What is wrong with one run is told of that run, and keeps nobody from looking at the others. */
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DatabaseSync } from '@photostructure/sqlite';
import { removeCgroup } from '../../src/process/cgroup.ts';
import { openContext } from '../../src/supervisor/context.ts';
import { overview } from '../../src/supervisor/overview.ts';
import { launchIn } from '../support/launch.ts';
import type { Launched } from '../support/launch.ts';
import { eventually, isAlive, signalSeen } from '../support/processes.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

/** Many commands one after another, on a machine that may be busy: only turns a hang into a failure. */
const LIMIT_MS = 240_000;

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.cleanUp(), LIMIT_MS);

async function lose({ keeper }: Launched): Promise<void> {
  signalSeen(keeper, 'SIGKILL');
  await eventually('the keeper is gone', () => !isAlive(keeper));
}

/** What every look says of both; each look alone would do what is to be done about them. */
async function looks(): Promise<Record<string, string>[]> {
  const listed = async () => (await sandbox.list()).map(({ name, run }) => [name, run.liveness]);
  const shown = async () =>
    Promise.all(['good', 'bad'].map(async (name) => [name, (await sandbox.show(name)).run.liveness]));
  const topped = async () => {
    const context = await openContext({ environment: sandbox.env });
    try {
      return (await overview(context, { range: 'all' })).map(({ name, run }) => [name, run.liveness]);
    } finally {
      await context.store.close();
    }
  };
  const said: Record<string, string>[] = [];
  for (const look of [topped, listed, shown]) said.push(Object.fromEntries(await look()));
  expect((await sandbox.reeve(['doctor'])).stdout).toContain('runs');
  return said;
}

/** Returns the path of the cgroup that it really has, if it has one. */
function changeContainment({ run }: Launched, path: string): string | undefined {
  const database = new DatabaseSync(`${sandbox.home}/reeve.db`);
  const row = database.prepare('select containment from runs where id = ?').get(run.id);
  database
    .prepare('update runs set containment = ? where id = ?')
    .run(JSON.stringify({ by: 'cgroup', path }), run.id);
  database.close();
  return (JSON.parse(String(row?.['containment'])) as { path?: string }).path; // As the store writes it.
}

const thrice = <T>(value: T): T[] => [value, value, value];

/** Makes a part of its own cgroup threaded, and goes there with a program of two threads. */
const THREADED = String.raw`
  use threads;
  open my $own, '<', '/proc/self/cgroup'; my ($path) = map { /^0::(.*)/ ? $1 : () } <$own>;
  open my $mounts, '<', '/proc/self/mountinfo'; my ($place) = map { / - cgroup2 / ? (split ' ')[4] : () } <$mounts>;
  my $below = "$place$path/below";
  sub put { open my $file, '>', $_[0] or die $!; print $file "$_[1]\n"; close $file or die $!; }
  mkdir $below or die $!;
  put("$below/cgroup.type", 'threaded');
  threads->create(sub { sleep 600 });
  put("$below/cgroup.threads", $$);
  put('ready', $$);
  sleep 600;
`;

describe(
  'a harness that has made a part of its cgroup threaded',
  { tags: ['root'], timeout: LIMIT_MS },
  () => {
    it('is looked at and stopped as any other', async () => {
      await launchIn(sandbox, 'good', 'sleep', '60');
      await launchIn(sandbox, 'bad', 'perl', '-e', THREADED);
      const inside = await sandbox.pidFrom('ready');
      expect(await looks()).toEqual(thrice({ good: 'alive', bad: 'alive' }));
      await sandbox.json(['stop', 'bad']);
      expect(isAlive(inside)).toBe(false);
    });

    it('is ended by whoever looks when its keeper is killed', async () => {
      await launchIn(sandbox, 'good', 'sleep', '60');
      const bad = await launchIn(sandbox, 'bad', 'perl', '-e', THREADED);
      const inside = await sandbox.pidFrom('ready');
      await lose(bad);
      expect(await looks()).toEqual(thrice({ good: 'alive', bad: 'dead' }));
      expect(isAlive(inside)).toBe(false);
    });
  },
);

it(
  'a run whose cgroup cannot be read is unknown when its keeper is killed, and says why',
  { timeout: LIMIT_MS },
  async () => {
    await launchIn(sandbox, 'good', 'sleep', '60');
    const bad = await launchIn(sandbox, 'bad', 'sleep', '60');
    // What should be files are directories: no user whatsoever can read them.
    const path = sandbox.path(`reeve-${bad.run.id}`);
    for (const name of ['cgroup.procs', 'cgroup.events']) mkdirSync(`${path}/${name}`, { recursive: true });
    const own = changeContainment(bad, path);
    await lose(bad);
    await eventually('the real one can be removed', () => {
      if (own !== undefined) removeCgroup(own);
      return own === undefined || !existsSync(own);
    });
    expect(await looks()).toEqual(thrice({ good: 'alive', bad: 'unknown' }));
    expect((await sandbox.reeve(['why', 'bad'])).stdout).toContain('EISDIR');
    expect((await sandbox.reeve(['run', '-s', 'bad', '--on-live', 'retire', '--', 'true'])).code).toBe(7);
    await sandbox.json(['stop', '--assume-gone', 'bad']);
  },
);

it(
  'a pipe that a command put in the place of its exit record keeps nobody waiting',
  async () => {
    await launchIn(sandbox, 'good', 'sleep', '60');
    const script = 'mkfifo "$REEVE_HOME/runs/$REEVE_RUN/exit.json"; touch piped; exec sleep 60';
    const bad = await launchIn(sandbox, 'bad', 'sh', '-c', script);
    await eventually('the pipe is there', () => existsSync(sandbox.path('piped')));
    await lose(bad);
    expect(await looks()).toStrictEqual(thrice({ good: 'alive', bad: 'unknown' }));
    rmSync(`${sandbox.home}/runs/${bad.run.id}/exit.json`);
    expect((await sandbox.show('bad')).run).toMatchObject({ outcome: 'lost' });
  },
  LIMIT_MS,
);
