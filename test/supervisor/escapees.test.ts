/** The keeper is killed with SIGKILL, and something of its run has got away from the other signs. */
import { spawn } from 'node:child_process';
import { chownSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionDetail } from '../../src/supervisor/list.ts';
import { launchIn, MISBEHAVE } from '../support/launch.ts';
import { eventually, isAlive, see, signalSeen } from '../support/processes.ts';
import { CLI, createSandbox, finished, withJson } from '../support/sandbox.ts';
import type { Finished, Sandbox } from '../support/sandbox.ts';

/** Many commands one after another, on a machine that may be busy: only turns a hang into a failure. */
const LIMIT_MS = 240_000;

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.cleanUp(), LIMIT_MS);

/** A user of this test's own, of whom nothing else runs here; whoever is not root already is one. */
const USER = 60_000 + (process.pid % 5_000);

function asOrdinary(args: readonly string[]): Promise<Finished> {
  const words = [process.execPath, CLI, ...args];
  const ids = ['--reuid', String(USER), '--regid', String(USER), '--clear-groups'];
  const [program = '', ...rest] = process.getuid?.() === 0 ? ['setpriv', ...ids, ...words] : words;
  const place = { cwd: sandbox.root, env: sandbox.env };
  return finished(spawn(program, rest, { ...place, stdio: ['ignore', 'pipe', 'pipe'] }));
}

async function showAsOrdinary(name: string): Promise<SessionDetail> {
  const { stdout } = await asOrdinary(withJson(['show', name]));
  return JSON.parse(stdout) as SessionDetail; // What `show --json` prints.
}

async function loseKeeper({ run }: SessionDetail): Promise<void> {
  const keeper = see(run.keeperPid ?? 0);
  signalSeen(keeper, 'SIGKILL');
  await eventually('the keeper is gone', () => !isAlive(keeper));
}

/** As a keeper leaves it that knew of no mark, or was refused one. */
function forgetMark({ run }: SessionDetail): void {
  const path = join(sandbox.home, 'runs', run.id, 'started.json');
  const { mark, ...rest } = JSON.parse(readFileSync(path, 'utf8')) as { mark: unknown };
  expect(mark).toMatch(/^\d+$/);
  writeFileSync(path, JSON.stringify(rest));
}

describe('a process that shows nobody its environment', { timeout: LIMIT_MS }, () => {
  beforeEach(() => {
    if (process.getuid?.() === 0) chownSync(sandbox.root, USER, USER);
  });
  const start = async () => {
    await asOrdinary(['run', '-d', '-s', 'a', '--', 'perl', MISBEHAVE, 'hidden', 'tag', 'escapee']);
    return sandbox.pidFrom('escapee');
  };

  /** Of the same user, and of no run. */
  const hide = (kind: string, file: string) =>
    spawn('perl', [MISBEHAVE, kind, 'tag', file], {
      cwd: sandbox.root,
      env: sandbox.env,
      ...(process.getuid?.() === 0 ? { uid: USER, gid: USER } : {}),
    });

  it('is found by the mark that the kernel keeps, and ended', async () => {
    const escapee = await start();
    await loseKeeper(await showAsOrdinary('a'));
    const { run } = await showAsOrdinary('a');
    expect([run.state, isAlive(escapee)]).toEqual(['ended', false]);
    expect((await asOrdinary(['why', 'a'])).stdout).not.toMatch(/proven/);
  });

  it('is named where the run has no such mark, and its run is not over while it lives', async () => {
    const escapee = await start();
    const session = await showAsOrdinary('a');
    forgetMark(session);
    await loseKeeper(session);
    const { run } = await showAsOrdinary('a');
    expect([run.state, run.liveness, isAlive(escapee)]).toEqual(['running', 'unknown', true]);
    expect((await asOrdinary(['why', 'a'])).stdout).toContain(`(pid ${escapee.pid})`);
    signalSeen(escapee, 'SIGKILL');
    await eventually('it is gone', () => !isAlive(escapee));
    expect((await showAsOrdinary('a')).run.state).toBe('ended');
  });

  it('that was there before the run, or has a parent, is nobody’s business', async () => {
    const older = hide('hidden', 'older');
    const before = await sandbox.pidFrom('older');
    await asOrdinary(['run', '-d', '-s', 'a', '--', 'sleep', '60']);
    const sibling = hide('veiled', 'sibling');
    const beside = await sandbox.pidFrom('sibling');
    const session = await showAsOrdinary('a');
    forgetMark(session);
    await loseKeeper(session);
    expect((await showAsOrdinary('a')).run.state).toBe('ended');
    expect([isAlive(before), isAlive(beside)]).toEqual([true, true]);
    signalSeen(before, 'SIGKILL');
    for (const each of [older, sibling]) each.kill('SIGKILL');
  });
});

describe(
  'a process of root that has left the cgroup of its run, without its environment',
  { tags: ['root'], timeout: LIMIT_MS },
  () => {
    const start = async (kind: string) => {
      const { run } = await launchIn(sandbox, 'a', 'perl', MISBEHAVE, kind, 'tag', 'escapee');
      // Not skipped: whoever reads a green run must be able to rely on it.
      if (run.containment !== 'cgroup')
        throw new Error('No cgroup can be made here, so this cannot be tested.');
      return sandbox.pidFrom('escapee');
    };

    it('is found by the mark that the kernel keeps', async () => {
      const escapee = await start('moved');
      await loseKeeper(await sandbox.show('a'));
      expect([(await sandbox.show('a')).run.state, isAlive(escapee)]).toEqual(['ended', false]);
    });

    it('is not said to be proven gone when it gave that away too', async () => {
      const escapee = await start('unmarked');
      await loseKeeper(await sandbox.show('a'));
      expect((await sandbox.show('a')).run.state).toBe('ended');
      expect(isAlive(escapee)).toBe(true);
      expect((await sandbox.reeve(['why', 'a'])).stdout).not.toMatch(/proven/);
      signalSeen(escapee, 'SIGKILL');
    });

    it('is ended with its run as long as the keeper lives, and that is proven', async () => {
      const escapee = await start('unmarked');
      await sandbox.json(['stop', 'a']);
      expect(isAlive(escapee)).toBe(false);
      expect((await sandbox.reeve(['why', 'a'])).stdout).toMatch(/proven gone/);
    });
  },
);
