/** The program on disk is replaced while it runs, as `npm install -g` does it. */
import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { installAt } from '../support/installation.ts';
import type { Installation } from '../support/installation.ts';
import { eventually, isAlive, see, signalSeen, startedWith } from '../support/processes.ts';
import { createSandbox, finished } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';
import { askDaemon } from './support.ts';

let sandbox: Sandbox;
let installed: Installation;
const started: ChildProcess[] = [];
beforeEach(() => {
  sandbox = createSandbox();
  installed = installAt(sandbox.path('installed'));
});
afterEach(async () => {
  await sandbox.json(['serve', 'stop']);
  for (const child of started.splice(0)) if (child.exitCode === null) await once(child, 'exit');
  await sandbox.cleanUp();
});

/** The program of the installation that is then updated. */
function start(...args: string[]): ChildProcess {
  return startWith({}, args);
}
function startWith(more: Readonly<Record<string, string>>, args: readonly string[]): ChildProcess {
  const env = { ...sandbox.env, ...more };
  const child = spawn(process.execPath, [installed.cli, ...args], { env, cwd: sandbox.root });
  started.push(child);
  return child;
}
async function run<T>(...args: string[]): Promise<T> {
  return JSON.parse((await finished(start(...args))).stdout) as T; // The caller names the shape it then compares.
}

interface Served {
  readonly pid: number;
  readonly build: string;
  readonly parts: Readonly<Record<string, { is: string; says: string }>>;
}
const recorded = () =>
  JSON.parse(readFileSync(join(sandbox.home, 'daemon', 'daemon.json'), 'utf8')) as {
    process: { pid: number };
    build: string;
  };
/** The build is updated when the daemon of the new one is on record. */
const takenOver = (other: string) =>
  eventually('the new build has taken over', () => recorded().build === other && recorded(), 60_000);

const work = async (session: string) =>
  (await sandbox.json<{ run: { pid: number } }>(['run', '-d', '-s', session, '--', 'sleep', '600'])).run;

describe('a daemon whose program was replaced', () => {
  it('in the background gives way to the new build, and the runs go on', async () => {
    const { pid, build } = await run<Served>('serve', '--detach', '--json');
    expect(build).toBe(installed.build);
    const before = see(pid);
    const running = see((await work('web')).pid);
    const other = installed.update();
    const now = await takenOver(other);
    expect(now.process.pid).not.toBe(pid);
    await eventually('the old one is gone', () => !isAlive(before));
    expect(isAlive(running)).toBe(true);
    const status = await run<Served>('serve', 'status', '--json');
    expect(status).toMatchObject({ build: other, parts: { program: { is: 'good' } } });
  });

  it('in the foreground stays, for whoever waits for it, until the new one ends', async () => {
    const waited = start('serve');
    await once(waited.stdout as NodeJS.ReadableStream, 'data');
    const other = installed.update();
    const now = await takenOver(other);
    expect(waited.exitCode).toBeNull();
    expect(now.process.pid).not.toBe(waited.pid);
    const successor = see(now.process.pid);
    waited.kill('SIGTERM');
    expect(await once(waited, 'exit')).toStrictEqual([0, null]);
    expect(isAlive(successor)).toBe(false);
  });

  it('stays, says so and is unwell when the new build does not come up', async () => {
    const { pid } = await run<Served>('serve', '--detach', '--json');
    const other = installed.updateToBroken(9);
    const program = await eventually(
      'it tells of the failure',
      async () => {
        const { parts } = await sandbox.json<Served>(['serve', 'status']);
        return parts['program']?.is === 'broken' && parts['program'];
      },
      60_000,
    );
    expect(program.says).toContain(other);
    expect(program.says).toContain('exited with 9');
    expect(recorded().process.pid).toBe(pid);
  });

  it('stays, says so once and is unwell when the new build is only announced', async () => {
    const { pid } = await run<Served>('serve', '--detach', '--json');
    const other = installed.announce();
    const log = join(sandbox.home, 'daemon', 'log');
    const linesWith = (text: string) =>
      readFileSync(log, 'utf8')
        .split('\n')
        .filter((line) => line.includes(text));
    await eventually(
      'it has tried, and looked again since',
      () => linesWith('takes over').length > 0,
      60_000,
    );
    const { parts } = await eventually(
      'it tells of the failure',
      async () => {
        const served = await sandbox.json<Served>(['serve', 'status']);
        return served.parts['program']?.is === 'broken' && served;
      },
      60_000,
    );
    expect(parts['program']?.says).toContain(`Build ${other} is on disk, but could not take over`);
    expect(parts['program']?.says).toContain('not installed completely');
    // Two more rounds.
    await sleep(7_000);
    expect([recorded().process.pid, recorded().build]).toEqual([pid, installed.build]);
    expect([linesWith('takes over').length, linesWith('could not take over').length]).toEqual([1, 1]);
    expect(installed.update()).toBe(other);
  });

  it('starts nothing while it is away, claims nothing, and is unwell until it is there again', async () => {
    const { pid } = await run<Served>('serve', '--detach', '--json');
    installed.remove();
    const body = { argv: ['sleep', '600'], session: 'other', cwd: sandbox.root };
    const refused = await askDaemon(sandbox, 'POST', '/v1/run', { body });
    expect(refused.json()).toMatchObject({ error: { code: 'program_replaced' } });
    expect(await sandbox.list()).toEqual([]);
    const program = async () => {
      const { parts } = (await askDaemon(sandbox, 'GET', '/healthz')).json<Served>();
      return parts['program'];
    };
    const broken = await eventually(
      'it says that it is gone',
      async () => {
        const part = await program();
        return part?.is === 'broken' && part;
      },
      60_000,
    );
    expect(broken.says).toContain('gone');
    installed.putBack();
    await eventually('it is well again', async () => (await program())?.is === 'good', 60_000);
    expect((await askDaemon(sandbox, 'POST', '/v1/run', { body })).status).toBe(200);
    expect(recorded().process.pid).toBe(pid);
  });

  it('answers what it was never asked before, from what it loaded at its start; and starts nothing', async () => {
    await run<Served>('serve', '--detach', '--json');
    const running = see((await work('web')).pid);
    installed.updateToBroken(9);
    for (const path of ['/v1/scan', '/v1/sessions/web/why', '/v1/doctor', '/v1/usage', '/v1/reviews'])
      expect([path, (await askDaemon(sandbox, 'GET', path)).status]).toStrictEqual([path, 200]);
    const body = { argv: ['sleep', '600'], session: 'other', cwd: sandbox.root };
    const refused = await askDaemon(sandbox, 'POST', '/v1/run', { body });
    expect(refused.json()).toMatchObject({ error: { code: 'program_replaced' } });
    expect((await askDaemon(sandbox, 'POST', '/v1/sessions/web/stop', { body: {} })).status).toBe(200);
    expect(isAlive(running)).toBe(false);
  });
});

describe('a watch of reviews', () => {
  const watching = async () => {
    const repo = sandbox.path('repo');
    const git = (...args: string[]) =>
      execFileSync('git', ['-C', repo, '-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
        env: { ...sandbox.env, GIT_CONFIG_GLOBAL: '/dev/null' },
      });
    const commit = (text: string) => git('commit', '-q', '--allow-empty', '-m', text);
    mkdirSync(repo);
    git('init', '-q', '-b', 'main');
    commit('one');
    await work('web');
    const how = ['--worker', 'web', '--reviewer', 'sleep 600', '--repo', repo, '--debounce', '0.1'];
    const watch = start('review', 'watch', ...how, '--branch', 'main', '--json');
    let said = '';
    watch.stdout?.on('data', (chunk) => (said += String(chunk)));
    const triggers = () => said.split('\n').filter((line) => line.includes('"is":"triggered"')).length;
    await eventually('the first head is reviewed', () => triggers() === 1);
    return { watch, commit, triggers };
  };

  it('goes on as the new build, with the head that came meanwhile', async () => {
    const { watch, commit, triggers } = await watching();
    installed.update();
    commit('two');
    await eventually('the second head is reviewed', () => triggers() === 2, 60_000);
    expect(watch.exitCode).toBeNull();
    watch.kill('SIGTERM');
    expect(await once(watch, 'exit')).toStrictEqual([0, null]);
  });

  it('waits while the program is away, and reviews the head that came meanwhile', async () => {
    const { watch, commit, triggers } = await watching();
    installed.remove();
    commit('two');
    // In this time one that does not wait has failed.
    await sleep(4_000);
    expect([watch.exitCode, triggers()]).toEqual([null, 1]);
    installed.putBack();
    await eventually('the second head is reviewed', () => triggers() === 2, 60_000);
    watch.kill('SIGTERM');
    expect(await once(watch, 'exit')).toStrictEqual([0, null]);
  }, 120_000);
});

describe('while one daemon gives way to the next', () => {
  /** With the successor held there, which has its environment from the one that started it. */
  const heldAt = async (point: string) => {
    const hold = sandbox.path('hold');
    const env = { REEVE_CHECKPOINT: `${point}=wait:${hold}` };
    await finished(startWith(env, ['serve', '--detach', '--json']));
    const other = installed.update();
    await eventually('the successor is held', () => existsSync(`${hold}.reached`), 60_000);
    return { other, letGo: () => writeFileSync(hold, '') };
  };
  /** One that does not wait for the successor ends in this time. */
  const MOMENT_MS = 3_000;
  const givenAMoment = async <T>(answer: Promise<T>): Promise<T | 'waits'> =>
    Promise.race([answer, sleep(MOMENT_MS, 'waits' as const)]);

  it.each(['daemon.displacing', 'daemon.displaced'])(
    'a stop ends that one too, when it is at %s',
    async (point) => {
      const { letGo } = await heldAt(point);
      const stopping = sandbox.json(['serve', 'stop']);
      const early = await givenAMoment(stopping);
      letGo();
      expect(await stopping).toEqual({ wasRunning: true });
      expect(startedWith(`REEVE_HOME=${sandbox.home}`)).toEqual([]);
      expect(early).toBe('waits');
      expect(readdirSync(join(sandbox.home, 'daemon')).filter((name) => name.startsWith('heir'))).toEqual([]);
    },
  );

  it('its status is that of the next one', async () => {
    const { other, letGo } = await heldAt('daemon.displaced');
    const asking = sandbox.reeve(['serve', 'status', '--json']);
    expect(await givenAMoment(asking)).toBe('waits');
    letGo();
    const { code, stdout } = await asking;
    expect([code, (JSON.parse(stdout) as Served).build]).toEqual([0, other]);
  });

  it('a successor that dies is waited for by nobody', async () => {
    await heldAt('daemon.displaced');
    for (const heir of startedWith(`REEVE_HOME=${sandbox.home}`)) signalSeen(heir, 'SIGKILL');
    expect(await sandbox.json(['serve', 'stop'])).toEqual({ wasRunning: false });
    expect((await sandbox.reeve(['serve', 'status'])).code).toBe(3);
  });
});

describe('a keeper whose program is away in the middle of an update', () => {
  it('waits for it with the exit on record, and writes nothing into the log of the run', async () => {
    const go = sandbox.path('go');
    const script = `until [ -e ${go} ]; do sleep 0.05; done; echo said; exit 3`;
    const { run: begun } = await run<{ run: { logPath: string; id: string } }>(
      'run',
      '-d',
      '-s',
      'web',
      '--json',
      '--',
      'sh',
      '-c',
      script,
    );
    installed.remove();
    writeFileSync(go, '');
    await eventually('the exit is on record', () =>
      existsSync(join(sandbox.home, 'runs', begun.id, 'exit.json')),
    );
    installed.putBack();
    const ended = await eventually('its keeper has ended it', async () => {
      const { run: now } = await sandbox.show('web');
      return now.outcome !== null && now;
    });
    expect(ended).toMatchObject({ outcome: 'failed', exitCode: 3 });
    expect(readFileSync(begun.logPath, 'utf8')).toBe('said\n');
  });
});
