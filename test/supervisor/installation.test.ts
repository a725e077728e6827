import { cpSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DatabaseSync } from '@photostructure/sqlite';
import type { SessionView } from '../../src/api/session-view.ts';
import { machineMarks } from '../../src/process/machine-marks.ts';
import { launchIn } from '../support/launch.ts';
import { isAlive, signalSeen } from '../support/processes.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.cleanUp());

const file = (home = sandbox.home) => join(home, 'installation.json');
const recorded = (home?: string) => JSON.parse(readFileSync(file(home), 'utf8'));

interface Failure {
  readonly error: { readonly code: string; readonly message: string };
}

describe('the identity of a state directory', () => {
  it('is minted once, however many begin at once', async () => {
    const results = await Promise.all(Array.from({ length: 12 }, () => sandbox.reeve(['ls', '--json'])));
    expect(results.map(({ code }) => code)).toEqual(results.map(() => 0));
    const { id } = recorded();
    expect((await sandbox.reeve(['ls'])).code).toBe(0);
    expect(recorded().id).toBe(id);
  });

  it('is part of the host of every process on record', async () => {
    const { run } = await launchIn(sandbox, 'web', 'sleep', '60');
    expect((await sandbox.show('web')).run.host.split('/')[1]).toBe(recorded().id);
    expect(run.host).toBe((await sandbox.show('web')).run.host);
  });

  it('goes with a directory that is moved', async () => {
    await sandbox.reeve(['run', '-s', 'web', '--', 'true']);
    const { id } = recorded();
    const moved = sandbox.path('moved');
    renameSync(sandbox.home, moved);
    const { code } = await sandbox.reeve(['ls'], { env: { REEVE_HOME: moved } });
    expect({ code, id: recorded(moved).id, path: recorded(moved).path }).toEqual({
      code: 0,
      id,
      path: moved,
    });
  });

  it('is refused in a copy while the original is there, and nothing of the copy is touched', async () => {
    await launchIn(sandbox, 'web', 'sleep', '60');
    const copy = sandbox.path('copy');
    cpSync(sandbox.home, copy, { recursive: true });
    for (const words of [['run', '-d', '-s', 'web', '--', 'sleep', '60'], ['stop', 'web'], ['ls']]) {
      const result = await sandbox.reeve([...words.slice(0, 1), '--json', ...words.slice(1)], {
        env: { REEVE_HOME: copy },
      });
      const { error } = JSON.parse(result.stdout) as Failure;
      expect({ code: result.code, error: error.code }).toEqual({ code: 1, error: 'state_directory' });
      expect(error.message).toContain(sandbox.home);
    }
    expect((await sandbox.show('web')).run.state).toBe('running');
  });

  it('is the same for a directory that is reached by another name', async () => {
    await sandbox.reeve(['ls']);
    symlinkSync(sandbox.home, sandbox.path('link'));
    expect((await sandbox.reeve(['ls'], { env: { REEVE_HOME: sandbox.path('link') } })).code).toBe(0);
  });

  it('is minted anew on a machine that has only a copy of the disk', async () => {
    await sandbox.reeve(['ls']);
    const before = recorded();
    // As it would be after a clone: nothing of what is on record is here.
    writeFileSync(file(), JSON.stringify({ ...before, machine: ['board of-another-machine'] }));
    await sandbox.reeve(['ls']);
    // A machine that says nothing of itself cannot be told from the one on record.
    expect(recorded().id === before.id).toBe(machineMarks().length === 0);
  });

  it('that cannot be read is never taken for none', async () => {
    await sandbox.reeve(['ls']);
    rmSync(file());
    symlinkSync(file(), file());
    const { error } = await sandbox.json<Failure>(['ls'], 1);
    expect(error.code).toBe('state_directory');
    rmSync(file());
    writeFileSync(file(), '{"id"');
    expect((await sandbox.json<Failure>(['ls'], 1)).error.code).toBe('state_directory');
    rmSync(file());
  });
});

describe('a boot id that is another one', () => {
  /** The keeper as another machine, or this one in another boot, would have recorded it. */
  function relocate(runId: string, change: Record<string, string>): void {
    const database = new DatabaseSync(join(sandbox.home, 'reeve.db'));
    database.exec('pragma busy_timeout = 5000');
    const { keeper } = database.prepare('select keeper from runs where id = ?').get(runId) as {
      keeper: string;
    };
    database
      .prepare('update runs set keeper = ? where id = ?')
      .run(JSON.stringify({ ...JSON.parse(keeper), ...change }), runId);
    database.close();
  }

  it('is no restart on a host that only shares name and machine id with the one on record', async () => {
    const { run, harness, keeper } = await launchIn(sandbox, 'web', 'sleep', '60');
    const [name] = run.host.split('/');
    relocate(run.id, { host: `${name}/0123456789abcdef`, boot: 'another' });
    const refused = await sandbox.reeve(['run', '-d', '-s', 'web', '--json', '--', 'sleep', '61']);
    expect([4, 7]).toContain(refused.code);
    const [seen] = await sandbox.json<SessionView[]>(['ls', '--live']);
    expect({ state: seen?.run.state, liveness: seen?.run.liveness }).toEqual({
      state: 'running',
      liveness: 'unknown',
    });
    expect(isAlive(harness)).toBe(true);
    for (const each of [keeper, harness]) signalSeen(each, 'SIGKILL');
  });

  it('is a restart where this very installation recorded it, whatever the machine was called then', async () => {
    const { run, harness, keeper } = await launchIn(sandbox, 'web', 'sleep', '60');
    const [, id] = run.host.split('/');
    for (const each of [keeper, harness]) signalSeen(each, 'SIGKILL');
    relocate(run.id, { host: `laptop.cafe/${id}`, boot: 'another' });
    expect((await sandbox.show('web')).run.outcome).toBe('lost');
  });
});
