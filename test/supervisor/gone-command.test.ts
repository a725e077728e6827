/** A command that is gone while its keeper lives: nobody calls it working, or alive, whatever keeps its end off the record. */
import { spawn } from 'node:child_process';
import { chmodSync, chownSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView, SettleView } from '../../src/api/session-view.ts';
import type { SessionDetail } from '../../src/supervisor/list.ts';
import { openContext } from '../../src/supervisor/context.ts';
import { overview } from '../../src/supervisor/overview.ts';
import { launchIn } from '../support/launch.ts';
import { eventually, isAlive, see, signalSeen } from '../support/processes.ts';
import { CLI, createSandbox, finished, withJson } from '../support/sandbox.ts';
import type { Finished, Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.cleanUp());

/** What each way of looking says of the session `a`. */
async function looks() {
  const [listed] = await sandbox.list();
  const shown = await sandbox.show('a');
  const why = await sandbox.json<{ doubt: string | null }>(['why', 'a']);
  return {
    listed: [listed?.status, listed?.run.liveness],
    shown: [shown.status, shown.run.liveness, ...shown.runs.map(({ liveness }) => liveness)],
    doubts: [shown.doubt, why.doubt],
  };
}

const IN_DOUBT = {
  listed: ['unknown', 'unknown'],
  shown: ['unknown', 'unknown', 'unknown'],
  doubts: [expect.stringContaining('its command is gone'), expect.stringContaining('its command is gone')],
};

describe('a command whose keeper has not come to write its outcome', () => {
  const go = () => sandbox.path('go');
  /** Its keeper inherits this and waits there, alive, with the end not yet on record. */
  const start = async (...options: string[]) => {
    const argv = ['run', '--detach', '-s', 'a', ...options, '--', 'sh', '-c', 'exit 45'];
    await sandbox.reeve(argv, { env: { REEVE_CHECKPOINT: `finalise.begun=wait:${go()}` } });
    await eventually('the keeper is about to finalise', () => existsSync(`${go()}.reached`));
  };
  const isEnded = async () => (await sandbox.show('a')).run.state === 'ended';
  const release = async () => {
    writeFileSync(go(), '');
    await eventually('it has ended', isEnded);
  };

  it('is unknown to everybody who looks, with the reason', async () => {
    await start();
    expect(await looks()).toEqual(IN_DOUBT);
    const text = (await sandbox.reeve(['show', 'a'])).stdout;
    expect(text).toContain('its command is gone');
    expect(text).not.toMatch(/alive|working/);
    expect((await sandbox.reeve(['doctor'])).stdout).toContain('a (its command is gone');
    const context = await openContext({ environment: sandbox.env });
    try {
      const rows = await overview(context, { range: 'live' });
      expect(rows.map(({ status, run }) => [status, run.liveness])).toEqual([['unknown', 'unknown']]);
    } finally {
      await context.store.close();
    }
    await release();
    expect(await sandbox.show('a')).toMatchObject({ status: 'failed', doubt: null, run: { exitCode: 45 } });
  });

  it('is settled by whoever waits for the keeper', async () => {
    await start();
    const looked = sandbox.path('looked');
    const settling = sandbox.reeve(['settle', '--json', 'a'], {
      env: { REEVE_CHECKPOINT: `settle.waiting=wait:${looked}` },
    });
    await eventually('it was looked at', () => existsSync(`${looked}.reached`));
    for (const file of [go(), looked]) writeFileSync(file, '');
    expect(JSON.parse((await settling).stdout) as SettleView).toMatchObject({
      settled: [{ session: 'a', outcome: 'failed' }],
      remaining: [],
    });
  });

  it('is not removed, nor assumed to be gone, for its keeper lives', async () => {
    await start();
    expect((await sandbox.json<{ error: { code: string } }>(['rm', 'a'], 7)).error.code).toBe('unproven');
    expect(
      (await sandbox.json<{ error: { code: string } }>(['kill', 'a', '--assume-gone'], 4)).error.code,
    ).toBe('live_owner');
    await release();
  });

  it('can be stopped, and its exit counts', async () => {
    await start();
    const stopping = sandbox.json<SessionView>(['stop', 'a']);
    expect(await stopping).toMatchObject({ status: 'failed', run: { exitCode: 45 } });
  });
});

it('a child whose command is gone is not called alive in the story of its parent', async () => {
  const go = sandbox.path('go');
  const child = `REEVE_CHECKPOINT=finalise.begun=wait:${go} ${process.execPath} ${CLI} run -d -s child -- sh -c 'exit 0'`;
  await launchIn(sandbox, 'a', 'sh', '-c', `${child}; exec sleep 60`);
  await eventually('the keeper of the child is about to finalise', () => existsSync(`${go}.reached`));
  expect((await sandbox.show('a')).children).toMatchObject([
    { session: 'child', run: { liveness: 'unknown' } },
  ]);
  writeFileSync(go, '');
  await eventually('the child has ended', async () => (await sandbox.show('child')).run.state === 'ended');
});

describe('a keeper that cannot write to the directory of its run', () => {
  /** A user of this test's own; whoever is not root already is one. */
  const USER = 60_000 + (process.pid % 5_000);
  const asOrdinary = (args: readonly string[]): Promise<Finished> => {
    const words = [process.execPath, CLI, ...args];
    const ids = ['--reuid', String(USER), '--regid', String(USER), '--clear-groups'];
    const [program = '', ...rest] = process.getuid?.() === 0 ? ['setpriv', ...ids, ...words] : words;
    const place = { cwd: sandbox.root, env: sandbox.env };
    return finished(spawn(program, rest, { ...place, stdio: ['ignore', 'pipe', 'pipe'] }));
  };
  const json = async <T>(...args: string[]): Promise<T> =>
    JSON.parse((await asOrdinary(withJson(args))).stdout) as T; // What the verb prints with --json.

  it('leaves its command in doubt, says what to do, and records the exit once it can', async () => {
    if (process.getuid?.() === 0) chownSync(sandbox.root, USER, USER);
    const { run } = await json<SessionView>('run', '-d', '-s', 'a', '--', 'sleep', '60');
    const harness = see(run.pid ?? 0);
    const directory = join(sandbox.home, 'runs', run.id);
    chmodSync(directory, 0o500);
    signalSeen(harness, 'SIGKILL');
    await eventually('the command is dead', () => !isAlive(harness));
    expect(await json<SessionDetail>('show', 'a')).toMatchObject({
      status: 'unknown',
      doubt: expect.stringContaining(directory),
      run: { liveness: 'unknown' },
    });
    const settled = await asOrdinary(withJson(['settle', 'a']));
    expect([settled.code, JSON.parse(settled.stdout)]).toEqual([
      7,
      {
        settled: [],
        remaining: [
          {
            session: 'a',
            run: run.id,
            because: expect.stringMatching(new RegExp(`${directory}.*make it writable`)),
            next: 'reeve stop a',
          },
        ],
      },
    ]);
    chmodSync(directory, 0o700);
    await eventually('the end is on record', async () => {
      const { run: now } = await json<SessionDetail>('show', 'a');
      return now.outcome === 'failed' && now.signal === 'SIGKILL';
    });
  });
});
