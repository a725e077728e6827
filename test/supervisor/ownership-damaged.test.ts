/** Who owns a session is known although files of owners are damaged or closed, or a keeper cannot be looked at. */
import { execFileSync, spawn } from 'node:child_process';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { failing } from '../support/failing-reads.ts';
import { launchIn } from '../support/launch.ts';
import { ownersOf, removeDatabase } from '../support/lost-store.ts';
import { eventually, isAlive, see, signalSeen } from '../support/processes.ts';
import { createSandbox, finished } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.cleanUp());

const owners = () => ownersOf(sandbox);

interface Failure {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly details: { readonly owner?: { readonly run: string } };
  };
}

it('a pipe in the place of a file of owners keeps nobody waiting, and its run is known by the other files', async () => {
  const { run } = await launchIn(sandbox, 'web', 'sleep', '60');
  const file = readdirSync(owners()).find((name) => name.startsWith('session-')) ?? '';
  renameSync(join(owners(), file), sandbox.path('aside'));
  await finished(spawn('mkfifo', [join(owners(), file)]));
  removeDatabase(sandbox.home);
  const { error } = await sandbox.json<Failure>(['run', '-d', '-s', 'web', '--', 'sleep', '61'], 4);
  expect(error.details.owner?.run).toBe(run.id);
  rmSync(join(owners(), file));
});

describe('a file of owners that cannot be read', () => {
  const START = ['run', '-d', '-s', 'web', '--', 'sleep', '61'];
  const closed = (kind: string) => {
    const path = join(owners(), readdirSync(owners()).find((name) => name.startsWith(kind)) ?? '');
    renameSync(path, sandbox.path('aside'));
    mkdirSync(path);
    return path;
  };

  it.each(['session-', 'installed-', 'id-'])(
    '%s: nobody is ended for a takeover that is then refused',
    async (kind) => {
      const { harness, keeper } = await launchIn(sandbox, 'web', 'sleep', '60');
      const path = closed(kind);
      const { error } = await sandbox.json<Failure>([...START.slice(0, 2), '--force', ...START.slice(2)], 7);
      expect([error.code, isAlive(harness), isAlive(keeper)]).toEqual(['unproven', true, true]);
      rmSync(path, { recursive: true });
      renameSync(sandbox.path('aside'), path);
      expect((await sandbox.show('web')).run).toMatchObject({ liveness: 'alive', outcome: null });
    },
  );

  it.each(['session-', 'installed-', 'id-'])(
    '%s: a run is ended all the same, and its keeper with it',
    async (kind) => {
      const { harness, keeper } = await launchIn(sandbox, 'web', 'sleep', '60');
      const path = closed(kind);
      await sandbox.json(['stop', 'web']);
      expect([isAlive(harness), isAlive(keeper)]).toEqual([false, false]);
      expect((await sandbox.show('web')).run.outcome).toBe('stopped');
      rmSync(path, { recursive: true });
      expect((await sandbox.json<SessionView>(START)).run.epoch).toBe(2);
    },
  );

  it('fails no other session once the store is lost as well', async () => {
    const { run } = await launchIn(sandbox, 'web', 'sleep', '60');
    await launchIn(sandbox, 'other', 'sleep', '62');
    for (const name of readdirSync(owners())) {
      const path = join(owners(), name);
      if (!readFileSync(path, 'utf8').includes(run.id)) continue;
      rmSync(path);
      mkdirSync(path);
    }
    removeDatabase(sandbox.home);
    expect((await sandbox.json<SessionView[]>(['ls'])).map(({ name }) => name).toSorted()).toEqual([
      'other',
      'web',
    ]);
    // From the hands of its keeper.
    expect((await sandbox.json<Failure>(START, 4)).error.details.owner?.run).toBe(run.id);
    await sandbox.json(['stop', 'other']);
    await sandbox.json(['stop', 'web']);
  });
});

it.each([
  ['emptied', (path: string) => writeFileSync(path, '')],
  ['removed', (path: string) => rmSync(path)],
  ['cut short', (path: string) => truncateSync(path, 60)],
])(
  'what a killed keeper left is ended before a second owner starts, although its file by name was %s',
  async (_how, damage) => {
    const { keeper } = await launchIn(
      sandbox,
      'web',
      'sh',
      '-c',
      'setsid sleep 60 & echo $! > left; exec sleep 60',
    );
    const left = await sandbox.pidFrom('left');
    signalSeen(keeper, 'SIGKILL');
    await eventually('the keeper is gone', () => !isAlive(keeper));
    damage(join(owners(), readdirSync(owners()).find((name) => name.startsWith('session-')) ?? ''));
    removeDatabase(sandbox.home);
    const next = await sandbox.json<SessionView>(['run', '-d', '-s', 'web', '--', 'sleep', '61']);
    expect([next.run.epoch, isAlive(left)]).toEqual([2, false]);
  },
);

it.each(['{}', '[]', '5', 'null', '{"id":1}'])(
  'what was seen of a store is damaged when it is %s, and nothing is concluded from it',
  async (text) => {
    await sandbox.reeve(['run', '-s', 'web', '--', 'true']);
    const file = readdirSync(owners()).find((name) => name.startsWith('store-')) ?? '';
    writeFileSync(join(owners(), file), text);
    const { error } = await sandbox.json<Failure>(['run', '-d', '-s', 'web', '--', 'true'], 7);
    expect([error.code, error.message.includes('cannot be read')]).toEqual(['unproven', true]);
    rmSync(join(owners(), file));
  },
);

it('a keeper that could not be looked at is not taken for gone', async () => {
  const { run, keeper } = await launchIn(sandbox, 'web', 'sleep', '60');
  removeDatabase(sandbox.home);
  const fault = failing({ call: 'openSync', path: `/proc/${keeper.pid}/stat`, code: 'EACCES' });
  const { stdout } = await sandbox.reeve(['ls', '--json'], fault);
  expect((JSON.parse(stdout) as SessionView[]).map((each) => [each.run.id, each.status])).toEqual([
    [run.id, 'unknown'],
  ]);
  expect((await sandbox.reeve(['run', '-d', '-s', 'web', '--', 'sleep', '61'], fault)).code).toBe(7);
  expect((await sandbox.list()).map((each) => [each.run.id, each.status])).toEqual([[run.id, 'working']]);
});

describe('a keeper whose hands could not be looked into', () => {
  const START = ['run', '-d', '-s', 'web', '--', 'sleep', '61'];
  // Closed to the user whose it is, as one that was started with other groups.
  const faultOf = (pid: number, code: string) =>
    failing({ call: 'readdirSync', path: `/proc/${pid}/fd`, code });

  it.each(['EMFILE', 'EACCES'])('(%s) is not taken for one that holds nothing', async (code) => {
    const { run, keeper } = await launchIn(sandbox, 'web', 'sleep', '60');
    removeDatabase(sandbox.home);
    rmSync(owners(), { recursive: true });
    const fault = faultOf(keeper.pid, code);
    expect((await sandbox.reeve(['ls'], fault)).code).toBe(0);
    expect((await sandbox.reeve(START, fault)).code).toBe(7);
    const { error } = await sandbox.json<Failure>(START, 4);
    expect(error.details.owner?.run).toBe(run.id);
  });

  it('is not in the way of anybody when it is on its way out', async () => {
    // The system call that ends one thread: the kernel then shows the process as one that is exiting, for as long as another lives.
    const exitThread = { x64: 60, arm64: 93, riscv64: 93 }[process.arch as 'x64']; // Other processors give undefined.
    const program = `use threads; $0 = 'reeve-keeper-x'; threads->create(sub { 1 while <STDIN> }); syscall(${exitThread}, 0)`;
    const exiting = spawn('perl', ['-e', program], { stdio: ['pipe', 'ignore', 'ignore'] });
    const seen = see(exiting.pid ?? 0);
    await eventually('it is exiting', () =>
      /^State:\tZ/m.test(readFileSync(`/proc/${seen.pid}/status`, 'utf8')),
    );
    await sandbox.reeve(['run', '-s', 'web', '--', 'true']);
    expect((await sandbox.reeve(START, faultOf(seen.pid, 'EMFILE'))).code).toBe(7);
    expect((await sandbox.reeve(START, faultOf(seen.pid, 'EACCES'))).code).toBe(0);
    signalSeen(seen, 'SIGKILL');
  });

  it('is not in the way of anybody as long as the files say what it holds', async () => {
    const { keeper } = await launchIn(sandbox, 'other', 'sleep', '60');
    await sandbox.reeve(['run', '-s', 'web', '--', 'true']);
    expect((await sandbox.reeve(START, faultOf(keeper.pid, 'EACCES'))).code).toBe(0);
  });
});

describe('files of owners that cannot be read at all', () => {
  const LOST = {
    'the directory is a file': () => {
      renameSync(owners(), sandbox.path('aside'));
      writeFileSync(owners(), '');
      return () => {
        rmSync(owners());
        renameSync(sandbox.path('aside'), owners());
      };
    },
    'what was seen of the store is a pipe': () => {
      const path = join(owners(), readdirSync(owners()).find((name) => name.startsWith('store-')) ?? '');
      rmSync(path);
      execFileSync('mkfifo', [path]);
      return () => rmSync(path);
    },
  } as const;

  it.each(Object.entries(LOST))(
    '(%s) keep nobody from looking and ending, and from starting',
    async (_, lose) => {
      const { run, harness } = await launchIn(sandbox, 'web', 'sleep', '60');
      const other = await launchIn(sandbox, 'other', 'sleep', '60');
      const giveBack = lose();
      const list = await sandbox.reeve(['ls', '--json']);
      expect((JSON.parse(list.stdout) as SessionView[]).map(({ name }) => name).toSorted()).toEqual([
        'other',
        'web',
      ]);
      expect(list.stderr).toContain('Until then nothing is started');
      for (const words of [
        ['-s', 'third'],
        ['--force', '-s', 'web'],
      ]) {
        const { code } = await sandbox.reeve(['run', '-d', ...words, '--', 'sleep', '60']);
        expect(code).not.toBe(0);
      }
      expect([isAlive(harness), isAlive(other.harness)]).toEqual([true, true]);
      await sandbox.json(['stop', 'web', '--grace', '1']);
      await sandbox.json(['kill', 'other']);
      expect([isAlive(harness), isAlive(other.harness)]).toEqual([false, false]);
      expect((await sandbox.show('web')).run).toMatchObject({ id: run.id, outcome: 'stopped' });
      giveBack();
      await sandbox.json(['run', '-d', '-s', 'web', '--', 'true']);
    },
  );
});

it('files of owners that cannot be used are not done without', async () => {
  mkdirSync(sandbox.path('.local/state'), { recursive: true });
  writeFileSync(owners(), '');
  const { error } = await sandbox.json<Failure>(['run', '-d', '-s', 'web', '--', 'sleep', '60'], 1);
  expect(error.code).toBe('state_directory');
  rmSync(owners());
});
