/** Hooks and shims as a person installs them: what is written, what is said, and that a plain `claude` is then claimed. */
import { randomUUID } from 'node:crypto';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import type {
  HookReport,
  HookStatus,
  ShimChanges,
  ShimStates,
} from '../../src/supervisor/harness-settings.ts';
import { installStandIns } from '../fixtures/stand-in-harness.ts';
import type { StandIns } from '../fixtures/stand-in-harness.ts';
import { eventually, isAlive } from '../support/processes.ts';
import { CLI, createSandbox, finished } from '../support/sandbox.ts';
import type { Finished, Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
let standIns: StandIns;
beforeEach(() => {
  sandbox = createSandbox();
  standIns = installStandIns(sandbox, 'claude', 'codex', 'gemini', 'opencode', 'code');
});
afterEach(async () => {
  standIns.endOutsiders();
  await sandbox.cleanUp();
});

interface Failure {
  readonly error: { readonly code: string; readonly message: string };
}

const read = (name: string) => readFileSync(sandbox.path(name), 'utf8');

describe('hooks', () => {
  it('are installed, seen, and removed again without a trace, as JSON', async () => {
    mkdirSync(sandbox.path('.claude'));
    const before = '{\n  // mine\n  "model": "opus"\n}\n';
    writeFileSync(sandbox.path('.claude/settings.json'), before);
    expect(await sandbox.json<HookStatus[]>(['hooks', 'status', 'claude'], 1)).toEqual([
      { target: 'claude', path: sandbox.path('.claude/settings.json'), is: 'absent' },
    ]);
    const [installed] = await sandbox.json<HookReport[]>(['hooks', 'install', 'claude']);
    expect(installed).toMatchObject({
      target: 'claude',
      changes: [{ path: sandbox.path('.claude/settings.json') }],
    });
    expect(read('.claude/settings.json')).toContain('// mine');
    expect(await sandbox.json<HookStatus[]>(['hooks', 'status', 'claude'])).toMatchObject([
      { target: 'claude', is: 'installed', switchedOffBy: null },
    ]);
    expect(await sandbox.json<HookReport[]>(['hooks', 'install', 'claude'])).toMatchObject([{ changes: [] }]);
    await sandbox.json(['hooks', 'remove', 'claude']);
    expect(read('.claude/settings.json')).toBe(before);
    expect(await sandbox.json<HookReport[]>(['hooks', 'remove', 'claude'])).toMatchObject([{ changes: [] }]);
  });

  it('of all harnesses at once are told line by line for people', async () => {
    const all = ['claude', 'codex', 'gemini', 'opencode'];
    expect((await sandbox.reeve(['hooks', 'status', ...all])).code).toBe(1);
    const installed = await sandbox.reeve(['hooks', 'install', ...all]);
    expect(installed).toMatchObject({ code: 0, stderr: '' });
    for (const name of all) expect(installed.stdout).toMatch(new RegExp(`^${name} has Reeve’s hooks`, 'm'));
    expect(installed.stdout).toContain(sandbox.path('.claude/settings.json'));
    const { stdout } = await sandbox.reeve(['hooks', 'status', ...all]);
    for (const name of all) expect(stdout).toMatch(new RegExp(`^. ${name} `, 'm'));
    expect((await sandbox.reeve(['hooks', 'install', 'claude'])).stdout).toContain('nothing was changed');
    expect((await sandbox.reeve(['hooks', 'remove', ...all])).code).toBe(0);
    expect((await sandbox.reeve(['hooks', 'status', ...all])).stdout).toContain('claude     not installed');
  });

  it('that are only partly there are said to be, and status exits with 1', async () => {
    await sandbox.json(['hooks', 'install', 'claude']);
    const settings = JSON.parse(read('.claude/settings.json')) as { hooks: Record<string, unknown> };
    delete settings.hooks['Stop'];
    writeFileSync(sandbox.path('.claude/settings.json'), JSON.stringify(settings));
    expect(await sandbox.json<HookStatus[]>(['hooks', 'status', 'claude'], 1)).toMatchObject([
      { is: 'partly', missing: ['Stop'] },
    ]);
    const { code, stdout } = await sandbox.reeve(['hooks', 'status', 'claude']);
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: expect.stringContaining('missing: Stop') as unknown,
    });
  });

  it.each(['{ "hooks": ', '[]', '{"hooks": 7}', 'not json'])(
    'into settings of %j are refused: exit 1, one sentence, and the file is untouched',
    async (broken) => {
      mkdirSync(sandbox.path('.claude'));
      writeFileSync(sandbox.path('.claude/settings.json'), broken);
      for (const action of ['install', 'remove']) {
        const result = await sandbox.reeve(['hooks', action, 'claude']);
        expect(result).toMatchObject({ code: 1, stdout: '' });
        expect(result.stderr).toMatch(/^reeve: [^\n]*settings\.json[^\n]*\.\n(?:[^\n]+\n)?$/);
      }
      expect((await sandbox.json<Failure>(['hooks', 'install', 'claude'], 1)).error.code).toBe(
        'bad_settings',
      );
      expect(await sandbox.json<HookStatus[]>(['hooks', 'status', 'claude'], 1)).toMatchObject([
        { is: 'unreadable' },
      ]);
      expect(read('.claude/settings.json')).toBe(broken);
    },
  );

  it.each([
    ['install', []],
    ['remove', ['claude', 'codex']],
  ])('%s of several does nothing at all when the settings of one are broken', async (action, before) => {
    if (before.length > 0) await sandbox.json(['hooks', 'install', ...before]);
    mkdirSync(sandbox.path('.gemini'));
    writeFileSync(sandbox.path('.gemini/settings.json'), 'broken');
    const all = ['claude', 'codex', 'gemini'];
    const states = () => sandbox.json<HookStatus[]>(['hooks', 'status', ...all], 1);
    const found = await states();
    const { error } = await sandbox.json<Failure>(['hooks', action, ...all], 1);
    expect(error.message).toContain('.gemini/settings.json');
    expect(await states()).toEqual(found);
    expect(read('.gemini/settings.json')).toBe('broken');
  });

  it.each([
    [['hooks'], 'no action'],
    [['hooks', 'install'], 'no harness'],
    [['hooks', 'install', 'emacs'], 'an unknown harness'],
    [['hooks', 'explode', 'claude'], 'an unknown action'],
    [['hooks', 'install', 'claude', '--dir', 'x'], 'a flag of another verb'],
    [['shim', 'install'], 'a shim of nothing'],
    [['shim', 'install', 'ls'], 'a shim of something else'],
  ])('%j (%s): exit 2, one sentence, nothing is written', async (args) => {
    const result = await sandbox.reeve(args);
    expect(result).toMatchObject({ code: 2, stdout: '' });
    expect(result.stderr).toMatch(/^reeve: [^\n]+[.?]\n(?:[^\n]+\n)?$/);
    expect(existsSync(sandbox.path('.claude'))).toBe(false);
  });

  it('that were installed report of a run, and not twice', async () => {
    await sandbox.json(['hooks', 'install', 'claude']);
    const { run, nativeId } = await sandbox.json<SessionView>(['run', '--detach', '-s', 'a', '--', 'claude']);
    await standIns.ready(run.pid);
    expect(await sandbox.show('a')).toMatchObject({ status: 'idle', nativeId });
    // One that Reeve did not start runs them too, and nobody minds.
    const outsider = await standIns.outsider('claude', ['--resume', randomUUID()]);
    expect(isAlive(outsider)).toBe(true);
    expect(await sandbox.list()).toHaveLength(1);
  });
});

it('the state of a shim is told although a directory of PATH is closed to this user', () => {
  const closed = sandbox.path('closed');
  mkdirSync(closed);
  chmodSync(closed, 0o000);
  // A user of this test's own; whoever is not root already is one.
  const user = String(60_000 + (process.pid % 5_000));
  const isRoot = process.getuid?.() === 0;
  const ordinary = isRoot ? ['setpriv', '--reuid', user, '--regid', user, '--clear-groups'] : ['env'];
  if (isRoot) chownSync(sandbox.root, Number(user), Number(user));
  const [program, ...words] = [...ordinary, process.execPath, CLI, 'shim', 'status', 'claude', '--json'];
  const env = { ...sandbox.env, PATH: `${closed}:/usr/bin:/bin` };
  const { status, stdout } = spawnSync(program, words, { env, encoding: 'utf8' });
  expect([status, JSON.parse(stdout)]).toMatchObject([1, { shims: [{ first: 'nothing' }] }]);
  chmodSync(closed, 0o700);
});

describe('shims', () => {
  const shims = () => join(sandbox.home, 'shims');
  /** By its name, as in a shell with the shims in front. */
  function typed(args: readonly string[], more: Record<string, string> = {}): Promise<Finished> {
    const env = { ...sandbox.env, PATH: `${shims()}:${sandbox.env['PATH']}`, ...more };
    return finished(spawn('sh', ['-c', 'exec claude "$@"', 'sh', ...args], { cwd: sandbox.root, env }));
  }

  it('are installed, seen first on PATH or not, and removed, as JSON', async () => {
    expect(await sandbox.json<ShimStates>(['shim', 'status', 'claude'], 1)).toEqual({
      directory: shims(),
      shims: [
        {
          name: 'claude',
          path: join(shims(), 'claude'),
          is: 'absent',
          real: sandbox.path('bin/claude'),
          first: 'real',
        },
      ],
    });
    expect(await sandbox.json(['shim', 'install', 'claude', 'codex'])).toMatchObject({
      shims: [
        { name: 'claude', is: 'installed', first: 'real' },
        { name: 'codex', is: 'installed', first: 'real' },
      ],
      changes: [
        { name: 'claude', is: 'created' },
        { name: 'codex', is: 'created' },
      ],
    });
    // There, but not in front: a plain `claude` would not be claimed.
    await sandbox.json(['shim', 'status', 'claude'], 1);
    sandbox.env['PATH'] = `${shims()}:${sandbox.env['PATH']}`;
    expect(await sandbox.json<ShimStates>(['shim', 'status', 'claude'])).toMatchObject({
      shims: [{ is: 'installed', first: 'shim', real: sandbox.path('bin/claude') }],
    });
    expect(await sandbox.json<ShimChanges>(['shim', 'remove', 'claude'])).toMatchObject({
      shims: [{ name: 'claude', is: 'removed' }],
    });
    expect(existsSync(join(shims(), 'claude'))).toBe(false);
    expect(existsSync(join(shims(), 'codex'))).toBe(true);
    expect(await sandbox.json<ShimChanges>(['shim', 'remove', 'claude'])).toMatchObject({
      shims: [{ name: 'claude', is: 'absent' }],
    });
  });

  it('tell people what to put in front of PATH, until it is', async () => {
    const installed = await sandbox.reeve(['shim', 'install', 'claude', '--dir', 'here']);
    expect(installed).toMatchObject({ code: 0, stderr: '' });
    expect(installed.stdout).toContain(`export PATH=${sandbox.path('here')}:"$PATH"`);
    sandbox.env['PATH'] = `${sandbox.path('here')}:${sandbox.env['PATH']}`;
    const status = await sandbox.reeve(['shim', 'status', 'claude', '--dir', 'here']);
    expect(status).toMatchObject({ code: 0, stderr: '' });
    expect(status.stdout).not.toContain('export PATH');
    expect((await sandbox.reeve(['shim', 'remove', 'claude', '--dir', 'here'])).stdout).toBe(
      'claude removed\n',
    );
  });

  it('do not replace or remove somebody else’s program', async () => {
    mkdirSync(sandbox.path('theirs'));
    writeFileSync(sandbox.path('theirs/claude'), 'precious');
    const place = ['claude', '--dir', 'theirs'];
    expect((await sandbox.json<Failure>(['shim', 'install', ...place], 1)).error.code).toBe('bad_settings');
    await sandbox.json(['shim', 'remove', ...place]);
    expect(read('theirs/claude')).toBe('precious');
  });

  it('installed before anything else leave a state directory that works, for this user alone', async () => {
    await sandbox.json(['shim', 'install', 'claude']);
    expect(statSync(sandbox.home).mode & 0o777).toBe(0o700);
    expect(await sandbox.list()).toEqual([]);
  });

  it('have a plain `claude --resume ID` claimed; a second one is refused with 4 and named the first', async () => {
    await sandbox.json(['shim', 'install', 'claude']);
    const nativeId = randomUUID();
    const first = typed(['--resume', nativeId]);
    const live = await eventually('it is claimed', async () => {
      const [session] = await sandbox.list();
      return session?.run.pid != null && session;
    });
    await standIns.ready(live.run.pid);
    expect(live).toMatchObject({ harness: 'claude', run: { mode: 'foreground', liveness: 'alive' } });
    const second = await typed(['--resume', nativeId]);
    expect(second).toMatchObject({ code: 4, stdout: '' });
    expect(second.stderr).toContain(live.run.id);
    expect(await sandbox.list()).toHaveLength(1);
    await standIns.tell(live.run.pid, 'hook Stop');
    await sandbox.json(['stop', live.name]);
    expect((await first).code).toBe(143);
  });

  it.each([0, 1, 42])('pass on exit code %i', async (code) => {
    await sandbox.json(['shim', 'install', 'claude']);
    expect((await typed(['--resume', randomUUID()], { STAND_IN_SCRIPT: `exit ${code}` })).code).toBe(code);
    expect((await sandbox.list()).map(({ run }) => run.exitCode)).toEqual([code]);
  });

  it('step aside with REEVE_SHIM=off: nothing is claimed', async () => {
    await sandbox.json(['shim', 'install', 'claude']);
    const off = { REEVE_SHIM: 'off', STAND_IN_SCRIPT: 'exit 9' };
    expect((await typed(['--resume', randomUUID()], off)).code).toBe(9);
    expect(await sandbox.list()).toEqual([]);
  });

  it('are passed through by a run of Reeve: one run, not two', async () => {
    await sandbox.json(['shim', 'install', 'claude']);
    sandbox.env['PATH'] = `${shims()}:${sandbox.env['PATH']}`;
    const { run } = await sandbox.json<SessionView>(['run', '--detach', '-s', 'a', '--', 'claude']);
    await standIns.ready((await sandbox.show('a')).run.pid);
    expect((await sandbox.list()).map((session) => session.run.id)).toEqual([run.id]);
  });
});
