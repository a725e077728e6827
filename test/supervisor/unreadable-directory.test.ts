/** A run whose directory was tampered with: whatever cannot be read of it, a person can end it, and its children live. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { failing } from '../support/failing-reads.ts';
import { launchIn } from '../support/launch.ts';
import { startObeying } from '../support/obeying.ts';
import { eventually, isAlive, see, signalSeen } from '../support/processes.ts';
import { CLI, createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.cleanUp());

const directoryOf = (id: string) => join(sandbox.home, 'runs', id);

const AS_A = {
  'a pipe': (path: string) => void execFileSync('mkfifo', [path]),
  'a file': (path: string) => writeFileSync(path, ''),
} as const;

const ended = (name: string) =>
  eventually(`${name} has ended`, async () => {
    const { run } = await sandbox.show(name);
    return run.state === 'ended' && run;
  });

const FROM_RECORD = 'known from the record only';
const whyOf = async (reference: string) => (await sandbox.reeve(['why', reference])).stdout;

describe.each(['a pipe', 'a file'] as const)('the list of its children being %s', (what) => {
  it.each([
    ['stop', 'a', '--grace', '1'],
    ['kill', 'a'],
    ['run', '-d', '--force', '-s', 'a', '--', 'sleep', '60'],
  ])('does not keep it from being ended (%s), and the record says so', async (...command) => {
    const { run, harness } = await launchIn(sandbox, 'a', 'sleep', '60');
    AS_A[what](join(directoryOf(run.id), 'children'));
    const done = await sandbox.reeve(command);
    expect([done.code, isAlive(harness)]).toEqual([0, false]);
    const why = await whyOf(run.id);
    expect(why).toContain(FROM_RECORD);
    expect(why).toContain('its process tree was proven gone');
  });

  it('does not keep what it leaves behind from being ended', async () => {
    const run = await startObeying(sandbox, 'a');
    AS_A[what](join(directoryOf(run.started.run.id), 'children'));
    await run.does('setsid sleep 600 & echo $! > left');
    const left = await sandbox.pidFrom('left');
    run.exits(0);
    expect(await ended('a')).toMatchObject({ outcome: 'completed' });
    expect(await whyOf('a')).toContain(FROM_RECORD);
    expect(isAlive(left)).toBe(false);
  });
});

describe('a child of a run', () => {
  async function family() {
    const parent = await startObeying(sandbox, 'parent');
    const child = await parent.json<SessionView>(
      'child run -d -s child --on-parent-end detach -- sleep 60'.split(' '),
    );
    const processes = [see(child.run.keeperPid ?? 0), see(child.run.pid ?? 0)];
    const children = join(directoryOf(parent.started.run.id), 'children');
    return { parent, keeper: processes[0] ?? see(0), children, areAlive: () => processes.map(isAlive) };
  }

  it.each(['a pipe', 'a file'] as const)('is known from the record when the list is %s', async (what) => {
    const { areAlive, children } = await family();
    rmSync(children, { recursive: true });
    AS_A[what](children);
    await sandbox.json(['stop', 'parent', '--grace', '0']);
    expect(areAlive()).toEqual([true, true]);
    expect((await sandbox.show('child')).status).toBe('working');
  });

  it('is left alone by a keeper that finds a pipe for a note, and waits for nobody', async () => {
    const { parent, keeper, children, areAlive } = await family();
    const note = join(children, String(keeper.pid));
    rmSync(note);
    AS_A['a pipe'](note);
    parent.exits(0);
    expect(await ended('parent')).toMatchObject({ outcome: 'completed' });
    expect(await whyOf('parent')).toContain(FROM_RECORD);
    expect(areAlive()).toEqual([true, true]);
  });

  it('is left alone by whoever ends what a killed keeper left', async () => {
    const { parent, children, areAlive } = await family();
    signalSeen(see(parent.started.run.keeperPid ?? 0), 'SIGKILL');
    rmSync(children, { recursive: true });
    AS_A['a pipe'](children);
    await sandbox.reeve(['kill', 'parent']);
    expect((await ended('parent')).state).toBe('ended');
    expect(areAlive()).toEqual([true, true]);
  });

  it('is not started where its note could be written, and not read', async () => {
    const parent = await startObeying(sandbox, 'parent');
    const { NODE_OPTIONS, FAILING_READS } = failing({
      call: 'readdirSync',
      path: '/children',
      code: 'EACCES',
    }).env;
    const { code, stderr } = await parent.does(
      `NODE_OPTIONS='${NODE_OPTIONS}' FAILING_READS='${FAILING_READS}' '${process.execPath}' '${CLI}' child run -d -s other -- sleep 60`,
    );
    expect([code === 0, stderr]).toEqual([false, expect.stringContaining('EACCES')]);
    expect((await sandbox.show('other')).run).toMatchObject({ state: 'ended' });
  });
});

describe('a spool that cannot be read', () => {
  async function stopped() {
    const { run, harness, keeper } = await launchIn(sandbox, 'a', 'sleep', '60');
    const hooks = join(directoryOf(run.id), 'hooks');
    renameSync(hooks, sandbox.path('hooks'));
    writeFileSync(hooks, '');
    const failed = await sandbox.reeve(['stop', 'a', '--grace', '0']);
    expect([failed.code, isAlive(harness), isAlive(keeper)]).toEqual([7, false, false]);
    expect(failed.stderr).toMatch(
      /Nothing of run \S+ of a is alive any more, but its end is not on record: .*ENOTDIR/,
    );
    expect(failed.stderr).toContain('reeve settle a ');
    return hooks;
  }

  it('leaves an end to be put on record, as it was wanted, when it can be', async () => {
    const hooks = await stopped();
    rmSync(hooks);
    mkdirSync(hooks);
    await sandbox.json(['settle', 'a']);
    expect((await sandbox.show('a')).run).toMatchObject({ outcome: 'stopped' });
  });

  it('leaves a run that can be given up', async () => {
    await stopped();
    await sandbox.json(['kill', 'a', '--assume-gone']);
    expect((await sandbox.show('a')).run).toMatchObject({ outcome: 'lost' });
  });
});

it('a run whose directory is a file is ended, and can be given up', async () => {
  const { run, harness, keeper } = await launchIn(sandbox, 'a', 'sleep', '60');
  rmSync(directoryOf(run.id), { recursive: true });
  writeFileSync(directoryOf(run.id), '');
  const failed = await sandbox.reeve(['kill', 'a']);
  expect([failed.code, isAlive(harness), isAlive(keeper)]).toEqual([7, false, false]);
  expect(failed.stderr).toContain('is alive any more, but its end is not on record');
  const closed = failing({ call: 'statSync', path: '/started.json', code: 'EACCES' });
  const unsettled = (await sandbox.reeve(['settle', 'a'], closed)).stderr;
  expect(unsettled).toContain('the mark of its processes could not be read');
  expect(unsettled).not.toContain('could not be ended');
  await sandbox.json(['kill', 'a', '--assume-gone']);
  expect((await sandbox.show('a')).run).toMatchObject({ outcome: 'lost' });
});
