/** Many keepers killed at once: a sweep doubts it, a later one believes it, and `settle` does so at once. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView, SettleView } from '../../src/api/session-view.ts';
import { failing } from '../support/failing-reads.ts';
import { launchIn, MISBEHAVE } from '../support/launch.ts';
import { eventually, isAlive, see, signalSeen, startedWith } from '../support/processes.ts';
import type { Seen } from '../support/processes.ts';
import { CLI, createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';
import { unprovable } from '../support/unprovable.ts';

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.cleanUp());

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'] as const;

/** Each leaves an escapee behind when its keeper is killed. */
async function loseKeepers(): Promise<readonly Seen[]> {
  const escapees: Seen[] = [];
  const keepers: Seen[] = [];
  for (const name of NAMES) {
    keepers.push(
      (await launchIn(sandbox, name, 'perl', MISBEHAVE, 'escaped', 'tag', `escapee-${name}`)).keeper,
    );
    escapees.push(await sandbox.pidFrom(`escapee-${name}`));
  }
  for (const keeper of keepers) signalSeen(keeper, 'SIGKILL');
  // A signal that was sent is not obeyed yet, and three that are dead are no mass death.
  await eventually('all keepers are dead', () => !keepers.some(isAlive));
  return escapees;
}

const statuses = async () =>
  Object.fromEntries((await sandbox.list()).map(({ name, status }) => [name, status]));
const all = (status: string) => Object.fromEntries(NAMES.map((name) => [name, status]));

/** As if the doubts on record were older. */
function age(seconds: number): void {
  const database = new DatabaseSync(join(sandbox.home, 'reeve.db'));
  try {
    database.exec('pragma busy_timeout = 5000');
    database.prepare(`update events set at = at - ? where kind = 'run.doubted'`).run(seconds * 1000);
  } finally {
    database.close();
  }
}

const doubtsOnRecord = async () =>
  (await sandbox.json<{ sentences: { text: string }[] }>(['why', 'a'])).sentences.filter(({ text }) =>
    text.startsWith('Nothing was done about it'),
  ).length;

describe('six keepers killed at once', () => {
  it('are doubted, and believed by a look at least a minute later', async () => {
    const escapees = await loseKeepers();
    expect(await statuses()).toEqual(all('unknown'));
    const { stderr } = await sandbox.reeve(['ls']);
    expect(stderr).toContain('reeve settle');
    expect(await statuses()).toEqual(all('unknown'));
    expect(escapees.every(isAlive)).toBe(true);
    age(50);
    expect(await statuses()).toEqual(all('unknown'));
    age(11);
    expect(await statuses()).toEqual(all('lost'));
    expect(escapees.some(isAlive)).toBe(false);
  }, 120_000);

  it('are doubted anew when the last doubt is long ago', async () => {
    await loseKeepers();
    expect(await statuses()).toEqual(all('unknown'));
    age(2 * 3600);
    expect(await statuses()).toEqual(all('unknown'));
    age(61);
    expect(await statuses()).toEqual(all('lost'));
    expect(await doubtsOnRecord()).toBe(2);
  }, 120_000);

  it('are settled at once by whoever asks for that, with what escaped from them', async () => {
    const escapees = await loseKeepers();
    expect(await statuses()).toEqual(all('unknown'));
    const { settled, remaining } = await sandbox.json<SettleView>(['settle']);
    expect(remaining).toEqual([]);
    expect(settled.map(({ session, outcome }) => [session, outcome])).toEqual(
      NAMES.map((name) => [name, 'lost']),
    );
    expect(escapees.some(isAlive)).toBe(false);
    expect(await sandbox.json<SettleView>(['settle'])).toEqual({ settled: [], remaining: [] });
  }, 120_000);
});

describe('a run that cannot be settled', () => {
  it('is named with the reason and a way on, exit 7, and nothing of it is left at work', async () => {
    const { keeper, run } = await launchIn(sandbox, 'a', 'perl', MISBEHAVE, 'escaped', 'tag', 'escapee');
    const escapee = await sandbox.pidFrom('escapee');
    signalSeen(keeper, 'SIGKILL');
    const fault = failing({ call: 'readFileSync', path: '/exit.json', code: 'EIO' });
    const answer = await sandbox.reeve(['settle', 'a', '--json'], fault);
    expect(answer.code).toBe(7);
    expect(JSON.parse(answer.stdout)).toEqual({
      settled: [],
      remaining: [
        {
          session: 'a',
          run: run.id,
          because: expect.stringContaining('EIO'),
          next: 'reeve kill a --assume-gone',
        },
      ],
    });
    expect(isAlive(escapee)).toBe(false);
    const told = await sandbox.reeve(['settle'], fault);
    expect([told.code, told.stderr]).toEqual([7, expect.stringContaining('reeve kill a --assume-gone')]);
    // For ever: then a person answers for it.
    expect((await sandbox.reeve(['kill', 'a', '--assume-gone'], fault)).code).toBe(0);
    expect((await sandbox.show('a')).status).toBe('lost');
  });

  it('because it is on another host is not this machine’s, unless it is named', async () => {
    const { run } = await launchIn(sandbox, 'a', 'sleep', '60');
    const back = unprovable(sandbox, run.id);
    expect(await sandbox.json<SettleView>(['settle'])).toEqual({ settled: [], remaining: [] });
    expect(await sandbox.json<SettleView>(['settle', 'a'], 7)).toMatchObject({
      remaining: [{ session: 'a' }],
    });
    for (const verb of ['show', 'why']) {
      expect((await sandbox.reeve([verb, 'a'])).stdout).toContain('reeve settle a');
    }
    expect((await sandbox.reeve(['doctor'])).stdout).toContain('reeve settle');
    back();
  });

  it('is no run that lives, or has ended', async () => {
    await launchIn(sandbox, 'alive', 'sleep', '60');
    await sandbox.reeve(['run', '-s', 'ended', '--', 'true']);
    const nothing = { settled: [], remaining: [] };
    expect(await sandbox.json(['settle', 'alive', 'ended'])).toEqual(nothing);
    expect((await sandbox.show('alive')).status).toBe('working');
    expect((await sandbox.json<{ error: { code: string } }>(['settle', 'none'], 3)).error.code).toBe(
      'not_found',
    );
  });
});

describe('a run in a pid namespace of its own', { tags: ['root'] }, () => {
  /** A container as small as can be: its first process starts the run, and stays. */
  async function contained(): Promise<Seen> {
    const script = `"${process.execPath}" "${CLI}" run -d -s a -- sleep 300 && touch started; exec sleep 300`;
    const child = spawn('unshare', ['--pid', '--fork', '--kill-child', '--mount-proc', 'sh', '-c', script], {
      env: sandbox.env,
      cwd: sandbox.root,
      stdio: 'ignore',
    });
    await eventually('it runs', () => existsSync(sandbox.path('started')));
    return see(child.pid ?? 0);
  }

  it('is unknown from outside while anybody is there, and lost, proven, when the namespace is gone', async () => {
    const container = await contained();
    expect(await sandbox.show('a')).toMatchObject({ status: 'unknown', run: { liveness: 'unknown' } });
    expect((await sandbox.reeve(['run', '-d', '-s', 'a', '--', 'sleep', '60'])).code).toBe(7);
    expect((await sandbox.json<SettleView>(['settle', 'a'], 7)).remaining).toHaveLength(1);
    signalSeen(container, 'SIGKILL');
    await eventually('all of it is gone', () => startedWith(`REEVE_HOME=${sandbox.home}`).length === 0);
    expect(await sandbox.json<SettleView>(['settle'])).toMatchObject({
      settled: [
        {
          session: 'a',
          outcome: 'lost',
          evidence: [expect.stringContaining('pid namespace'), expect.any(String)],
        },
      ],
      remaining: [],
    });
    const next = await sandbox.json<SessionView>(['run', '-d', '-s', 'a', '--', 'sleep', '60']);
    expect(next.epoch).toBe(2);
  }, 60_000);
});
