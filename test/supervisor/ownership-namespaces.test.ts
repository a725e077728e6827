/** Who owns a session is known although somebody looked, started or swore from where its processes cannot be seen. */
import { spawn } from 'node:child_process';
import { readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView, SettleView } from '../../src/api/session-view.ts';
import { launchIn } from '../support/launch.ts';
import { ownersOf, removeDatabase } from '../support/lost-store.ts';
import { isAlive, see, signalSeen } from '../support/processes.ts';
import type { Seen } from '../support/processes.ts';
import { CLI, createSandbox, finished } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.cleanUp());

interface Failure {
  readonly error: { readonly code: string; readonly message: string };
}

const START = ['run', '-d', '-s', 'web', '--', 'sleep', '61'];

const removeOwners = () => rmSync(ownersOf(sandbox), { recursive: true });

function emptyOwners(): void {
  for (const name of readdirSync(ownersOf(sandbox)).filter((each) => !each.startsWith('store-')))
    truncateSync(join(ownersOf(sandbox), name));
}

/** The first process of a pid namespace of its own. */
const PIDS_APART = ['--pid', '--fork', '--kill-child', '--mount-proc'];

/** Its exit code, of a command that is apart in this way. */
const unshared = (how: readonly string[], words: readonly string[]): Promise<number | null> =>
  finished(
    spawn('unshare', [...how, process.execPath, CLI, ...words], {
      env: sandbox.env,
      cwd: sandbox.root,
      stdio: 'ignore',
    }),
  ).then(({ code }) => code);

const apart = (...words: string[]) => unshared(PIDS_APART, words);

/** As systemd-nspawn does it: a boot id of its own is mounted over the kernel's. */
function withOwnBoot(how: readonly string[], ...words: string[]): Promise<number | null> {
  const file = sandbox.path('boot-id');
  writeFileSync(file, '11111111-2222-3333-4444-555555555555\n');
  const mount = `mount --bind ${file} /proc/sys/kernel/random/boot_id && exec "$@"`;
  return unshared(['--mount', ...how, 'sh', '-c', mount, 'sh'], words);
}

/** Its command dies with its keeper; what that had started does not. */
async function startLeaving(): Promise<{ keeper: Seen; survivor: Seen }> {
  const script = 'echo $$ > pid.new; mv pid.new pid; exec sleep 600';
  const { keeper } = await launchIn(sandbox, 'web', 'timeout', '900', 'sh', '-c', script);
  return { keeper, survivor: await sandbox.pidFrom('pid') };
}

it('with its store, all files of owners and its keeper lost, what a run left is ended before another begins', async () => {
  const { keeper, survivor } = await startLeaving();
  signalSeen(keeper, 'SIGKILL');
  removeDatabase(sandbox.home);
  removeOwners();
  expect((await sandbox.json<SessionView>(START)).run.epoch).toBe(2);
  expect(isAlive(survivor)).toBe(false);
});

it('with its store and what is in the files of owners lost, a run is on record again and can be ended', async () => {
  const { run, harness } = await launchIn(sandbox, 'web', 'sleep', '60');
  removeDatabase(sandbox.home);
  emptyOwners();
  expect((await sandbox.show('web')).run).toMatchObject({ id: run.id, liveness: 'alive' });
  await sandbox.json(['stop', 'web']);
  expect(isAlive(harness)).toBe(false);
});

describe('with its store lost', { tags: ['root'] }, () => {
  it.each([
    ['and all files of owners', removeOwners],
    ['and what is in the files of owners', emptyOwners],
    ['only', () => {}],
  ])('%s, a run is found although somebody apart was the first to look', async (_what, lose) => {
    const { run } = await launchIn(sandbox, 'web', 'sleep', '60');
    removeDatabase(sandbox.home);
    lose();
    expect(await apart('ls')).toBe(0);
    expect((await sandbox.show('web')).run).toMatchObject({ id: run.id, liveness: 'alive' });
    expect((await sandbox.json<Failure>(START, 4)).error.code).toBe('live_owner');
  });

  it('the latest run keeps the name, whoever apart looks first and cannot tell which of them live', async () => {
    for (const round of [1, 2, 3]) {
      const { keeper } = await launchIn(sandbox, 'web', 'sleep', '60');
      signalSeen(keeper, 'SIGKILL');
      expect((await sandbox.show('web')).run).toMatchObject({ epoch: round, outcome: 'lost' });
    }
    const { run } = await launchIn(sandbox, 'web', 'sleep', '60');
    removeDatabase(sandbox.home);
    expect(await apart('ls')).toBe(0);
    expect((await sandbox.show('web')).run).toMatchObject({ id: run.id, epoch: 4, liveness: 'alive' });
    expect((await sandbox.reeve(['why', 'web'])).stdout).toContain(
      'It may be alive where nobody from here can see, and was put on record again as run 4',
    );
  });

  it('and all files of owners, a start apart of another session hides no living run', async () => {
    const { run, harness } = await launchIn(sandbox, 'web', 'sleep', '60');
    removeDatabase(sandbox.home);
    removeOwners();
    expect(await apart('run', '-d', '-s', 'other', '--', 'true')).toBe(0);
    expect((await sandbox.json<Failure>(START, 4)).error.code).toBe('live_owner');
    expect((await sandbox.show('web')).run).toMatchObject({ id: run.id, liveness: 'alive' });
    await sandbox.json(['stop', 'web']);
    expect(isAlive(harness)).toBe(false);
  });

  it('and all files of owners, a start apart of the same session is refused', async () => {
    await launchIn(sandbox, 'web', 'sleep', '60');
    removeDatabase(sandbox.home);
    removeOwners();
    expect(await apart(...START)).toBe(7);
  });
});

describe('a container with a boot id of its own', { tags: ['root'] }, () => {
  it('and a pid namespace of its own takes no living run of the host for one of before a restart', async () => {
    const { run, harness } = await launchIn(sandbox, 'web', 'sleep', '60');
    expect(await withOwnBoot(PIDS_APART, 'ls')).toBe(0);
    expect(await withOwnBoot(PIDS_APART, 'settle')).toBe(7);
    expect(await withOwnBoot(PIDS_APART, ...START)).toBe(7);
    expect(await withOwnBoot(PIDS_APART, 'kill', 'web')).toBe(7);
    expect(await withOwnBoot(PIDS_APART, 'kill', 'web', '--assume-gone')).toBe(4);
    expect(isAlive(harness)).toBe(true);
    expect((await sandbox.show('web')).run).toMatchObject({ id: run.id, liveness: 'alive' });
    await sandbox.json(['stop', 'web']);
  });

  it('and a pid namespace of its own puts a run of the host on record when it is the first to open a new store', async () => {
    const { harness } = await launchIn(sandbox, 'web', 'sleep', '60');
    removeDatabase(sandbox.home);
    removeOwners();
    expect(await withOwnBoot(PIDS_APART, ...START)).toBe(7);
    expect((await sandbox.json<Failure>(START, 4)).error.code).toBe('live_owner');
    await sandbox.json(['stop', 'web']);
    expect(isAlive(harness)).toBe(false);
  });

  it('that sees the processes of the host judges its runs by them, and the host those of the container', async () => {
    const { harness } = await launchIn(sandbox, 'web', 'sleep', '60');
    expect(await withOwnBoot([], ...START)).toBe(4);
    expect(await withOwnBoot([], 'settle')).toBe(0);
    expect(isAlive(harness)).toBe(true);
    expect(await withOwnBoot([], 'stop', 'web')).toBe(0);
    expect(isAlive(harness)).toBe(false);
    expect((await sandbox.show('web')).run).toMatchObject({ outcome: 'stopped', proof: 'kernel' });

    expect(await withOwnBoot([], ...START)).toBe(0);
    expect((await sandbox.json<Failure>(START, 4)).error.code).toBe('live_owner');
    const { run } = await sandbox.show('web');
    expect(run.liveness).toBe('alive');
    signalSeen(see(run.keeperPid ?? 0), 'SIGKILL');
    expect((await sandbox.show('web')).run).toMatchObject({ outcome: 'lost', proof: 'not_seen' });
  });
});

describe('a run that was declared gone', { tags: ['root'] }, () => {
  it('is not, while somebody holds its emptied files', async () => {
    const { harness } = await launchIn(sandbox, 'web', 'sleep', '60');
    emptyOwners();
    expect(await apart('kill', 'web', '--assume-gone')).toBe(4);
    expect(isAlive(harness)).toBe(true);
    expect((await sandbox.show('web')).run.liveness).toBe('alive');
  });

  it('but lives, has no other beside it, and is ended by settle', async () => {
    const { harness, keeper } = await launchIn(sandbox, 'web', 'sleep', '60');
    removeOwners();
    expect(await apart('kill', 'web', '--assume-gone')).toBe(0);
    const { error } = await sandbox.json<Failure>(START, 4);
    expect(error.message).toContain('was declared gone, but it lives');
    expect(isAlive(harness)).toBe(true);
    const { settled } = await sandbox.json<SettleView>(['settle', 'web']);
    expect(settled).toMatchObject([{ session: 'web', outcome: 'lost' }]);
    expect([isAlive(harness), isAlive(keeper)]).toEqual([false, false]);
    expect((await sandbox.reeve(START)).code).toBe(0);
  });

  it('and whose keeper was killed, has no other beside what that left', async () => {
    const { keeper, survivor } = await startLeaving();
    removeOwners();
    signalSeen(keeper, 'SIGKILL');
    expect(await apart('kill', 'web', '--assume-gone')).toBe(0);
    expect((await sandbox.json<Failure>(START, 4)).error.message).toContain(`pid ${survivor.pid}`);
    await sandbox.json<SettleView>(['settle', 'web']);
    expect(isAlive(survivor)).toBe(false);
  });

  describe('while another host has begun the next one', () => {
    let first: Awaited<ReturnType<typeof launchIn>>;
    beforeEach(async () => {
      first = await launchIn(sandbox, 'web', 'sleep', '60');
      removeOwners();
      expect(await apart('kill', 'web', '--assume-gone')).toBe(0);
      expect(await apart('run', '-s', 'web', '--', 'true')).toBe(0);
      expect((await sandbox.show('web')).run.epoch).toBe(2);
      expect(isAlive(first.harness)).toBe(true);
    });

    it.each([
      ['settle without a name', () => ['settle']],
      ['settle by the name of the session', () => ['settle', 'web']],
      ['settle by the id of the run', () => ['settle', first.run.id]],
    ])('%s ends it, and says so', async (_what, words) => {
      const { settled } = await sandbox.json<SettleView>(words());
      expect(settled).toMatchObject([{ session: 'web', run: first.run.id, outcome: 'lost' }]);
      expect(settled[0]?.evidence[0]).toContain(`pid ${first.harness.pid}`);
      expect([isAlive(first.harness), isAlive(first.keeper)]).toEqual([false, false]);
      expect(await sandbox.json<SettleView>(words())).toEqual({ settled: [], remaining: [] });
    });

    it('doctor names it, and a start beside it is refused', async () => {
      const { code, stdout } = await sandbox.reeve(['doctor']);
      expect([code, stdout]).toEqual([1, expect.stringContaining(`run ${first.run.id} of web`)]);
      expect(stdout).toContain('reeve settle');
      const { error } = await sandbox.json<Failure>(START, 4);
      expect(error.message).toContain(`Run ${first.run.id} of web was declared gone, but it lives`);
      await sandbox.json(['settle']);
      expect((await sandbox.reeve(['doctor'])).stdout).not.toContain('eclared gone');
    });
  });
});
