/** A state directory that cannot be used is left as it is, and the true reason is told. */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CLI, createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.cleanUp());

interface Failure {
  readonly error: { readonly code: string; readonly message: string };
}

describe('a state directory that', () => {
  it('is a file is refused, and the file is left as it is', async () => {
    writeFileSync(sandbox.home, 'precious');
    expect(await sandbox.reeve(['ls'])).toMatchObject({ code: 1, stdout: '' });
    expect(readFileSync(sandbox.home, 'utf8')).toBe('precious');
    spawnSync('rm', [sandbox.home]);
  });

  it('cannot be written to is refused with a sentence', async () => {
    // Nothing can be created below /proc, by root neither.
    const { error } = JSON.parse(
      (await sandbox.reeve(['ls', '--json'], { env: { REEVE_HOME: '/proc/reeve' } })).stdout,
    );
    expect(error.code).toBe('state_directory');
  });

  it('others could enter is closed to them', async () => {
    mkdirSync(sandbox.home, { mode: 0o755 });
    chmodSync(sandbox.home, 0o755);
    await sandbox.reeve(['ls']);
    expect(statSync(sandbox.home).mode & 0o777).toBe(0o700);
  });

  it('others could enter, and that holds their files, is neither used nor closed to them', async () => {
    mkdirSync(sandbox.home, { mode: 0o755 });
    chmodSync(sandbox.home, 0o755);
    writeFileSync(join(sandbox.home, 'theirs'), '');
    expect((await sandbox.json<Failure>(['ls'], 1)).error.code).toBe('state_directory');
    expect(statSync(sandbox.home).mode & 0o777).toBe(0o755);
    spawnSync('rm', [join(sandbox.home, 'theirs')]);
  });

  // Only root can make one; not to be passed over where it counts.
  it(
    'is another user’s, and that anybody may write to, is refused for that reason',
    { tags: ['root'] },
    async () => {
      mkdirSync(sandbox.home);
      chmodSync(sandbox.home, 0o777);
      chmodSync(sandbox.root, 0o755);
      const user = String(60_000 + (process.pid % 5_000));
      const ids = ['--reuid', user, '--regid', user, '--clear-groups'];
      const words = [...ids, process.execPath, CLI, 'ls', '--json'];
      const { status, stdout } = spawnSync('setpriv', words, { env: sandbox.env, encoding: 'utf8' });
      const { error } = JSON.parse(stdout) as Failure;
      expect([status, error.code]).toEqual([1, 'state_directory']);
      expect(error.message).toContain('belongs to another user');
      expect(statSync(sandbox.home).mode & 0o777).toBe(0o777);
    },
  );

  it('cannot be opened because too many files are open is refused for that reason', () => {
    const answers = [...Array(12).keys()].map((more) => {
      const script = `ulimit -n ${17 + more}; exec "$0" "$@"`;
      const words = ['-c', script, process.execPath, CLI, 'ls', '--json'];
      return spawnSync('sh', words, { env: sandbox.env, encoding: 'utf8' });
    });
    // With the fewest, Node itself does not start.
    const refusals = answers.flatMap(({ status, stdout }) =>
      status === 0 || stdout === '' ? [] : [JSON.parse(stdout) as Failure],
    );
    const ofStore = refusals.filter(({ error }) => error.message.includes(join(sandbox.home, 'reeve.db')));
    expect(ofStore.length).toBeGreaterThan(0);
    for (const { error } of ofStore) {
      expect(error.code).toBe('store_unavailable');
      expect(error.message).toContain('too many files are open');
    }
  });

  it('holds a database that is not ours is refused, untouched', async () => {
    mkdirSync(sandbox.home);
    const path = join(sandbox.home, 'reeve.db');
    writeFileSync(path, 'this is not a database, and it is long enough to be looked at as one. '.repeat(40));
    const before = readFileSync(path);
    expect((await sandbox.json<Failure>(['ls'], 1)).error.code).toBe('store_damaged');
    expect(readFileSync(path)).toEqual(before);
    spawnSync('rm', [path]);
  });
});

it('everything in it is for its user alone, whatever the umask, and the harness has the user’s own umask', async () => {
  const script = 'umask 002; exec "$0" "$@"';
  const words = ['-c', script, process.execPath, CLI, 'run', '--session', 'web', '--', 'sh', '-c', 'umask'];
  const { stdout } = spawnSync('sh', words, { env: sandbox.env, encoding: 'utf8' });
  expect(stdout.trim()).toBe('0002');
  await sandbox.reeve(['run', '--detach', '--session', 'long', '--', 'sleep', '60']);
  const open = readdirSync(sandbox.home, { recursive: true, withFileTypes: true })
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => (statSync(path).mode & 0o077) !== 0);
  expect(open).toEqual([]);
  await sandbox.json(['kill', 'long']);
});

it('a database that others could read, as an earlier Reeve made it, is closed to them', async () => {
  await sandbox.reeve(['ls']);
  const database = join(sandbox.home, 'reeve.db');
  chmodSync(database, 0o644);
  await sandbox.reeve(['ls']);
  expect((statSync(database).mode & 0o777).toString(8)).toBe('600');
});

it('root’s daemon does not serve a state directory of another user', { tags: ['root'] }, async () => {
  await sandbox.reeve(['ls']);
  // Where its log would be.
  const victim = sandbox.path('victim');
  mkdirSync(join(sandbox.home, 'daemon'), { recursive: true });
  symlinkSync(victim, join(sandbox.home, 'daemon/log'));
  chownSync(sandbox.home, 60_001, 60_001);
  for (const words of [['serve', '--detach'], ['serve'], ['open', '--print']]) {
    const refused = await sandbox.json<Failure>(words, 1);
    expect(refused.error.message).toContain('belongs to another user');
  }
  expect(existsSync(victim)).toBe(false);
  chownSync(sandbox.home, process.getuid?.() ?? 0, process.getgid?.() ?? 0);
});

describe('a place that depends on the current directory', () => {
  const PLACES = [
    ['an empty HOME', { HOME: '' }, 1, 'state_directory'],
    ['a relative HOME', { HOME: 'me' }, 1, 'state_directory'],
    ['a relative REEVE_HOME', { REEVE_HOME: 'state' }, 2, 'usage'],
    ['a relative XDG_STATE_HOME', { XDG_STATE_HOME: 'state' }, 2, 'usage'],
  ] as const;

  it.for(PLACES)('is refused: %s', async ([, place, exitCode, code]) => {
    const { REEVE_HOME: _home, XDG_STATE_HOME: _state, ...environment } = sandbox.env;
    const answers = ['one', 'two'].map((name) => {
      const cwd = join(sandbox.root, name);
      mkdirSync(cwd, { recursive: true });
      const words = [CLI, 'run', '--detach', '--session', 'web', '--json', '--', 'sleep', '600'];
      const { status, stdout } = spawnSync(process.execPath, words, {
        cwd,
        env: { ...environment, ...place },
        encoding: 'utf8',
      });
      return [status, (JSON.parse(stdout) as Failure).error.code, readdirSync(cwd)];
    });
    expect(answers).toEqual([
      [exitCode, code, []],
      [exitCode, code, []],
    ]);
  });

  it('is not refused where nothing is kept there', async () => {
    const state = join(sandbox.root, 'xdg');
    mkdirSync(state, { mode: 0o700 });
    expect(await sandbox.reeve(['ls'], { env: { HOME: '', XDG_STATE_HOME: state } })).toMatchObject({
      code: 0,
    });
  });
});
