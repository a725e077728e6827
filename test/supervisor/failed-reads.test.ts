/** What could not be read concludes nothing: real commands, with faults in what they read, once and for ever. */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import type { SessionDetail } from '../../src/supervisor/list.ts';
import { failing } from '../support/failing-reads.ts';
import { startObeying } from '../support/obeying.ts';
import { launchIn } from '../support/launch.ts';
import { eventually, isAlive, see, signalSeen } from '../support/processes.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.cleanUp());

const CODES = ['EIO', 'EMFILE', 'ENFILE', 'EACCES', 'ENOMEM'] as const;

/** A run that has ended with this code, on disk, and whose keeper died before it could put that into the store. */
async function endedOnDisk(name: string, code: number): Promise<string> {
  // Not before its launcher is done, which would see the dead keeper, begin to finalise, and be killed there too.
  const command = ['sh', '-c', `until [ -e ${name}.go ]; do sleep 0.01; done; exit ${code}`];
  const { stdout } = await sandbox.reeve(['run', '-d', '--json', '-s', name, '--', ...command], {
    env: { REEVE_CHECKPOINT: 'finalise.begun=kill' },
  });
  const { run } = JSON.parse(stdout) as SessionView;
  writeFileSync(sandbox.path(`${name}.go`), '');
  const keeper = run.keeperPid;
  await eventually('its keeper is gone', () => keeper === null || !existsSync(`/proc/${keeper}`));
  return run.id;
}

const seen = async (name: string, options: { env: Record<string, string> }) =>
  JSON.parse((await sandbox.reeve(['show', '--json', name], options)).stdout) as SessionDetail;

describe('an exit record that could not be read', () => {
  it.each(CODES)('once (%s) leaves the run unknown, and the next look finds what it says', async (code) => {
    await endedOnDisk('a', 0);
    const fault = failing({ call: 'readFileSync', path: '/exit.json', code, times: 1 });
    expect(await seen('a', fault)).toMatchObject({
      status: 'unknown',
      doubt: expect.stringContaining(code),
      run: { state: 'running', outcome: null },
    });
    expect(await sandbox.show('a')).toMatchObject({
      status: 'done',
      run: { state: 'ended', outcome: 'completed', exitCode: 0 },
    });
  });

  it('is not known to a list either, which shows the others all the same', async () => {
    const id = await endedOnDisk('a', 0);
    await launchIn(sandbox, 'b', 'sleep', '60');
    const fault = failing({ call: 'readFileSync', path: `${id}/exit.json`, code: 'EIO' });
    const rows = JSON.parse((await sandbox.reeve(['ls', '--json'], fault)).stdout) as SessionView[];
    expect(Object.fromEntries(rows.map(({ name, status }) => [name, status]))).toEqual({
      a: 'unknown',
      b: 'working',
    });
  });

  it('keeps the session, and a start is refused, until it can be', async () => {
    await endedOnDisk('a', 7);
    const fault = failing({ call: 'readFileSync', path: '/exit.json', code: 'EIO' });
    for (const args of [
      ['run', '-d', '-s', 'a', '--', 'sleep', '60'],
      ['stop', 'a'],
      ['rm', 'a'],
    ]) {
      const refused = await sandbox.reeve(args, fault);
      expect([args[0], refused.code]).toEqual([args[0], 7]);
    }
    expect((await sandbox.show('a')).run).toMatchObject({ outcome: 'failed', exitCode: 7 });
  });

  it('does not become the outcome that somebody asked for meanwhile', async () => {
    sandbox.env['REEVE_CHECKPOINT'] = 'finalise.begun=kill';
    const { run } = await launchIn(sandbox, 'a', 'sleep', '60');
    delete sandbox.env['REEVE_CHECKPOINT'];
    const refused = await sandbox.reeve(
      ['stop', 'a'],
      failing({ call: 'readFileSync', path: '/exit.json', code: 'EIO' }),
    );
    expect([refused.code, refused.stderr]).toEqual([7, expect.stringContaining('EIO')]);
    // A keeper wrote the exit before the intent: what it says goes before what was wanted.
    const file = join(sandbox.home, 'runs', run.id, 'exit.json');
    const record = { ...JSON.parse(readFileSync(file, 'utf8')), code: 0, signal: null, uptime: '0.01' };
    writeFileSync(`${file}.new`, JSON.stringify(record));
    renameSync(`${file}.new`, file);
    expect((await sandbox.show('a')).run).toMatchObject({ outcome: 'completed', exitCode: 0 });
  });

  it('is handed on by its keeper, which saw the exit', async () => {
    const hold = sandbox.path('hold');
    const { stdout } = await sandbox.reeve(['run', '-d', '--json', '-s', 'a', '--', 'sh', '-c', 'exit 3'], {
      env: { REEVE_CHECKPOINT: `keeper.recorded=wait:${hold}` },
    });
    const { run } = JSON.parse(stdout) as SessionView;
    await eventually('the exit is on disk', () => existsSync(`${hold}.reached`));
    const file = join(sandbox.home, 'runs', run.id, 'exit.json');
    renameSync(file, `${file}.kept`);
    // Links in a circle cannot be followed, by any process.
    symlinkSync('exit.json', file);
    writeFileSync(hold, '');
    const ended = await eventually('it is over', async () => {
      const { run: latest } = await sandbox.show('a');
      return latest.state === 'ended' && latest;
    });
    expect(ended).toMatchObject({ outcome: 'failed', exitCode: 3 });
  });
});

describe('the notes of whom a run must not end', () => {
  it.each([
    { call: 'readdirSync', path: '/children' },
    { call: 'readFileSync', path: 'CHILD' },
  ] as const)('that cannot be read ($call) are answered for by the record', async ({ call, path }) => {
    const parent = await startObeying(sandbox, 'parent');
    const child = await parent.json<SessionView>([
      'child',
      'run',
      '-d',
      '-s',
      'child',
      '--on-parent-end',
      'detach',
      '--',
      'sleep',
      '60',
    ]);
    const keeper = see(child.run.keeperPid ?? 0);
    const harness = see(child.run.pid ?? 0);
    const place = path.replace('CHILD', `/children/${keeper.pid}`);
    const result = await sandbox.reeve(
      ['stop', 'parent', '--grace', '0'],
      failing({ call, path: place, code: 'EMFILE' }),
    );
    expect(result.code).toBe(0);
    expect([isAlive(keeper), isAlive(harness)]).toEqual([true, true]);
    expect((await sandbox.show('child')).status).toBe('working');
  });

  it.each(['a circle of links', 'a directory'])(
    'that are %s end no child when the run ends by itself',
    async (what) => {
      const parent = await startObeying(sandbox, 'parent');
      const child = await parent.json<SessionView>([
        'child',
        'run',
        '-d',
        '-s',
        'child',
        '--on-parent-end',
        'detach',
        '--',
        'sleep',
        '60',
      ]);
      const [keeper, harness] = [see(child.run.keeperPid ?? 0), see(child.run.pid ?? 0)];
      const note = join(sandbox.home, 'runs', parent.started.run.id, 'children', String(keeper.pid));
      rmSync(note);
      if (what === 'a directory') mkdirSync(note);
      else symlinkSync(String(keeper.pid), note);
      parent.exits(0);
      const { run } = await eventually('it is over', async () => {
        const parentNow = await sandbox.show('parent');
        return parentNow.run.state === 'ended' && parentNow;
      });
      expect(run).toMatchObject({ outcome: 'completed', exitCode: 0 });
      expect([isAlive(keeper), isAlive(harness)]).toEqual([true, true]);
    },
  );
});

describe('what else could not be read', () => {
  it('of a living run (its reports) leaves it alive, its status unknown, and it can be stopped', async () => {
    const { run } = await launchIn(sandbox, 'a', 'sleep', '60');
    const fault = failing({ call: 'readdirSync', path: `${run.id}/hooks`, code: 'EIO' });
    expect(await seen('a', fault)).toMatchObject({ status: 'unknown', run: { liveness: 'alive' } });
    await sandbox.json(['stop', 'a', '--grace', '0']);
  });

  it('of a dead one (whose directory it is) leaves it unknown', async () => {
    const id = await endedOnDisk('a', 0);
    expect(await seen('a', failing({ call: 'statSync', path: `/${id}`, code: 'EIO' }))).toMatchObject({
      status: 'unknown',
    });
    expect((await sandbox.show('a')).status).toBe('done');
  });

  it('of a dead one (who its harness was) leaves it unknown, and nothing of it is taken for gone', async () => {
    sandbox.env['REEVE_CONTAINMENT'] = 'marks';
    const { stdout } = await sandbox.reeve(['run', '-d', '--json', '-s', 'a', '--', 'sleep', '60'], {
      // Its launcher dies before it can put the harness into the store.
      env: { REEVE_CHECKPOINT: 'launch.released=kill' },
    });
    expect(stdout).toBe('');
    const { run } = await eventually('it executes', async () => {
      const detail = await seen('a', failing({ call: 'readFileSync', path: '/started.json', code: 'EIO' }));
      return existsSync(join(sandbox.home, 'runs', detail.run.id, 'started.json')) && detail;
    });
    expect(run.pid).toBeNull();
    signalSeen(see(run.keeperPid ?? 0), 'SIGKILL');
    expect(
      await seen('a', failing({ call: 'readFileSync', path: '/started.json', code: 'EIO' })),
    ).toMatchObject({
      status: 'unknown',
      doubt: expect.stringContaining('started.json'),
    });
    expect((await sandbox.show('a')).status).toBe('lost');
  });
});
