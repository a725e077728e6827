/** Off the machine again: everything that Reeve put there, and nothing else. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { DaemonSummary } from '../../src/supervisor/daemon-place.ts';
import type { Uninstalled } from '../../src/supervisor/uninstall.ts';
import { installStandIns } from '../fixtures/stand-in-harness.ts';
import { isAlive, see } from '../support/processes.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
  installStandIns(sandbox, 'claude', 'codex');
});
afterEach(() => sandbox.cleanUp());

const OWN_SETTINGS = '{\n  // mine\n  "model": "opus"\n}\n';
const HARNESSES = ['claude', 'codex', 'gemini', 'opencode'];

interface Failure {
  readonly error: { readonly code: string; readonly details: Readonly<Record<string, unknown>> };
}

/** Everything that it can put somewhere; the daemon's pid. */
async function installAll(): Promise<number> {
  mkdirSync(sandbox.path('.claude'));
  writeFileSync(sandbox.path('.claude/settings.json'), OWN_SETTINGS);
  await sandbox.json(['hooks', 'install', ...HARNESSES]);
  await sandbox.json(['shim', 'install', 'claude', 'codex']);
  mkdirSync(sandbox.path('elsewhere'));
  await sandbox.json(['shim', 'install', 'claude', '--dir', sandbox.path('elsewhere')]);
  sandbox.env['PATH'] = `${sandbox.path('elsewhere')}:${sandbox.env['PATH']}`;
  return (await sandbox.json<DaemonSummary>(['serve', '--detach'])).pid;
}

const left = () =>
  readdirSync(sandbox.root, { recursive: true, encoding: 'utf8' })
    .filter((path) => !path.startsWith('state') && !path.startsWith('.local/state'))
    .toSorted();

it('removes hooks, shims wherever they are on PATH, backups and the daemon, and keeps the state', async () => {
  const before = left();
  await sandbox.json(['run', '-s', 'a', '--', 'true']);
  const pid = await installAll();
  const daemon = see(pid);
  const planned = await sandbox.json<Uninstalled>(['uninstall', '--dry-run']);
  expect(planned).toMatchObject({
    dryRun: true,
    daemon: { pid },
    shims: [
      sandbox.path('state/shims/claude'),
      sandbox.path('state/shims/codex'),
      sandbox.path('elsewhere/claude'),
    ],
    backups: [sandbox.path('.claude/settings.json.reeve-backup')],
    tmux: null,
    state: null,
    left: [],
  });
  expect(planned.hooks.map(({ harness }) => harness)).toEqual(expect.arrayContaining(HARNESSES));
  expect(isAlive(daemon)).toBe(true);
  expect(existsSync(sandbox.path('elsewhere/claude'))).toBe(true);

  const done = await sandbox.json<Uninstalled>(['uninstall']);
  expect(done).toEqual({ ...planned, dryRun: false });
  expect(isAlive(daemon)).toBe(false);
  expect(readFileSync(sandbox.path('.claude/settings.json'), 'utf8')).toBe(OWN_SETTINGS);
  const files = left().filter((path) => !before.includes(path));
  expect(files.filter((path) => /reeve/.test(path))).toEqual([]);
  expect(existsSync(sandbox.path('elsewhere/claude'))).toBe(false);
  expect(await sandbox.list()).toHaveLength(1);
  expect(await sandbox.json<Uninstalled>(['uninstall'])).toMatchObject({
    hooks: [],
    shims: [],
    backups: [],
    daemon: null,
  });
});

it('removes the state on request, and what was noted of it beside', async () => {
  await sandbox.json(['run', '-s', 'a', '--', 'true']);
  expect(await sandbox.json<Uninstalled>(['uninstall', '--state'])).toMatchObject({ state: sandbox.home });
  expect(existsSync(sandbox.home)).toBe(false);
  expect(existsSync(sandbox.path('.local/state/reeve-owners'))).toBe(false);
});

it('removes of a state directory only what is Reeve’s', async () => {
  await sandbox.json(['run', '-s', 'a', '--', 'true']);
  writeFileSync(`${sandbox.home}/mine`, 'mine');
  const { left: stays } = await sandbox.json<Uninstalled>(['uninstall', '--state'], 1);
  expect(stays).toMatchObject([{ what: sandbox.home }]);
  expect(readdirSync(sandbox.home)).toEqual(['mine']);
  const { stdout } = await sandbox.reeve(['uninstall', '--state']);
  expect(stdout).toContain(`what Reeve had in ${sandbox.home}\n`);
});

it('removes no state where there never was any, and leaves none', async () => {
  expect(await sandbox.json<Uninstalled>(['uninstall', '--state'])).toMatchObject({ state: null, left: [] });
  expect(existsSync(sandbox.home)).toBe(false);
});

it.each([
  ['is damaged', () => writeFileSync(`${sandbox.home}/reeve.db`, 'x'.repeat(9_000)), {}],
  ['does not answer', () => {}, { REEVE_STORE: 'postgres://nobody@127.0.0.1:1/none', REEVE_STORE_WAIT: '0' }],
] as const)('with a store that %s lists what it can, and says how to go on', async (_, damage, env) => {
  await sandbox.json(['hooks', 'install', 'claude']);
  await sandbox.json(['run', '-s', 'a', '--', 'true']);
  for (const name of readdirSync(sandbox.home).filter((each) => each.startsWith('reeve.db-')))
    rmSync(`${sandbox.home}/${name}`);
  const before = readFileSync(`${sandbox.home}/reeve.db`);
  damage();
  for (const more of [[], ['--state']]) {
    const planned = await sandbox.reeve(['uninstall', '--dry-run', '--json', ...more], { env });
    expect(JSON.parse(planned.stdout)).toMatchObject({
      hooks: [{ harness: 'claude' }],
      refusal: expect.stringContaining('which runs are live is not known') as string,
    });
    const refused = await sandbox.reeve(['uninstall', ...more], { env });
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toMatch(/^reeve: Nothing was removed, because which runs/);
    expect(refused.stderr).toContain('reeve hooks remove claude');
  }
  expect((await sandbox.reeve(['hooks', 'status', 'claude'])).code).toBe(0);
  writeFileSync(`${sandbox.home}/reeve.db`, before);
});

it('is refused while a run lives, touches nothing, and says how to go on', async () => {
  await sandbox.json(['hooks', 'install', 'claude']);
  await sandbox.json(['run', '--detach', '-s', 'a', '--', 'sleep', '600']);
  const { error } = await sandbox.json<Failure>(['uninstall', '--state'], 4);
  expect(error).toMatchObject({ code: 'live_owner', details: { sessions: ['a'] } });
  expect((await sandbox.reeve(['uninstall'])).stderr).toContain('--stop');
  expect((await sandbox.reeve(['hooks', 'status', 'claude'])).code).toBe(0);
  expect((await sandbox.show('a')).run.liveness).toBe('alive');
  expect(await sandbox.json<Uninstalled>(['uninstall', '--dry-run'])).toMatchObject({
    stopped: ['a'],
    refusal: 'runs are live: a',
  });
  const { stdout } = await sandbox.reeve(['uninstall', '--dry-run']);
  expect(stdout).toContain('Without --dry-run this is refused now, because runs are live: a.');
  expect(stdout).not.toMatch(/^ +run +a$/m);
  const stopping = ['uninstall', '--dry-run', '--stop'];
  expect(await sandbox.json<Uninstalled>(stopping)).toMatchObject({ stopped: ['a'], refusal: null });
});

it('stops the runs that live when asked to, in tmux too, and its server', async () => {
  const plain = await sandbox.json<{ run: { pid: number } }>(['run', '-d', '-s', 'a', '--', 'sleep', '600']);
  const pane = await sandbox.json<{ run: { pid: number } }>([
    'run',
    '-d',
    '--tmux',
    '-s',
    'b',
    '--',
    'sleep',
    '600',
  ]);
  const processes = [plain, pane].map(({ run }) => see(run.pid));
  const { tmux, stopped } = await sandbox.json<Uninstalled>(['uninstall', '--stop']);
  expect(stopped).toEqual(expect.arrayContaining(['a', 'b']));
  expect(tmux).not.toBeNull();
  expect([...processes, see(tmux?.pid ?? 0)].filter(isAlive)).toEqual([]);
  expect((await sandbox.show('a')).run.outcome).toBe('stopped');
});

it('leaves settings that it cannot read, says why, and removes the rest', async () => {
  await sandbox.json(['hooks', 'install', 'claude', 'codex']);
  writeFileSync(sandbox.path('.claude/settings.json'), '{ not JSON');
  const result = await sandbox.reeve(['uninstall']);
  expect(result.code).toBe(1);
  expect(result.stdout).toContain('hooks of claude stays: ');
  expect(readFileSync(sandbox.path('.claude/settings.json'), 'utf8')).toBe('{ not JSON');
  expect((await sandbox.reeve(['hooks', 'status', 'codex'])).stdout).toContain('not installed');
});

it('is not done from inside a run', async () => {
  const { code, stderr } = await sandbox.reeve(['uninstall'], { env: { REEVE_RUN: 'r-0123456789abcdef' } });
  expect(code).toBe(2);
  expect(stderr).toContain('inside run');
});
