/** A parent whose keeper is killed ends nothing any more: its children learn of it by themselves, and nobody looks. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { openPanes } from '../fixtures/stand-in-tui.ts';
import type { Panes } from '../fixtures/stand-in-tui.ts';
import { openDaemon } from '../daemon/support.ts';
import { removeDatabase } from '../support/lost-store.ts';
import { startObeying } from '../support/obeying.ts';
import type { Obeying } from '../support/obeying.ts';
import { eventually, isAlive, see, signalSeen } from '../support/processes.ts';
import type { Seen } from '../support/processes.ts';
import { CLI, createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
let panes: Panes | null;
beforeEach(() => {
  sandbox = createSandbox();
  panes = null;
});
afterEach(() => (panes ?? sandbox).cleanUp());

interface Child {
  readonly id: string;
  readonly keeper: Seen;
  readonly harness: Seen;
}

const childOf = ({ run }: SessionView): Child => ({
  id: run.id,
  keeper: see(run.keeperPid ?? 0),
  harness: see(run.pid ?? 0),
});

async function startChild(parent: Obeying, name: string, ...flags: string[]): Promise<Child> {
  return childOf(
    await parent.json<SessionView>(['child', 'run', '-d', '-s', name, ...flags, '--', 'sleep', '300']),
  );
}

const killKeeperOf = ({ started: { run } }: Obeying) => signalSeen(see(run.keeperPid ?? 0), 'SIGKILL');

const isGone = ({ keeper, harness }: Child) => !isAlive(keeper) && !isAlive(harness);

/** As the store has it once nobody is at work any more; only this asks. */
const outcomes = async (...names: string[]) =>
  Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, (await sandbox.show(name)).run.outcome] as const)),
  );

describe.each(['cgroup', 'subreaper', 'marks'])(
  'when the keeper of a parent is killed (%s)',
  (containment) => {
    beforeEach(() => {
      sandbox.env['REEVE_CONTAINMENT'] = containment;
    });

    it('what is to be cancelled ends, and nobody looked', async () => {
      const parent = await startObeying(sandbox, 'parent');
      const child = await startChild(parent, 'child');
      killKeeperOf(parent);
      await eventually('it is gone', () => isGone(child), 30_000);
      expect(await outcomes('parent', 'child')).toEqual({ parent: 'lost', child: 'cancelled' });
    });
  },
);

describe('when the keeper of a parent is killed', () => {
  it('what its child started ends too', async () => {
    const parent = await startObeying(sandbox, 'parent');
    const inner = [
      process.execPath,
      CLI,
      'child',
      'run',
      '-d',
      '-s',
      'grandchild',
      '--',
      'sleep',
      '300',
    ].join(' ');
    const words = ['child', 'run', '-d', '-s', 'child', '--', 'sh', '-c', `${inner}; exec sleep 300`];
    const child = childOf(await parent.json<SessionView>(words));
    const grandchild = await eventually('its child', async () => {
      const { stdout, code } = await sandbox.reeve(['show', '--json', 'grandchild']);
      const detail = code === 0 ? (JSON.parse(stdout) as SessionView) : null;
      return detail?.run.pid != null && childOf(detail);
    });
    killKeeperOf(parent);
    await eventually('both are gone', () => isGone(child) && isGone(grandchild), 30_000);
    expect(await outcomes('parent', 'child', 'grandchild')).toEqual({
      parent: 'lost',
      child: 'cancelled',
      grandchild: 'cancelled',
    });
  });

  it('and that of its child as well, what they started ends', async () => {
    const parent = await startObeying(sandbox, 'parent');
    const inner = [
      process.execPath,
      CLI,
      'child',
      'run',
      '-d',
      '-s',
      'grandchild',
      '--',
      'sleep',
      '300',
    ].join(' ');
    const words = ['child', 'run', '-d', '-s', 'child', '--', 'sh', '-c', `${inner}; exec sleep 300`];
    const child = childOf(await parent.json<SessionView>(words));
    const grandchild = await eventually('its child', async () => {
      const { stdout, code } = await sandbox.reeve(['show', '--json', 'grandchild']);
      const detail = code === 0 ? (JSON.parse(stdout) as SessionView) : null;
      return detail?.run.pid != null && childOf(detail);
    });
    signalSeen(child.keeper, 'SIGKILL');
    killKeeperOf(parent);
    await eventually('it is gone', () => isGone(grandchild), 30_000);
    await eventually('the parent is accounted for', async () => {
      const rows = await sandbox.list();
      return rows.every(({ run }) => run.state === 'ended');
    });
    expect(await outcomes('parent', 'child', 'grandchild')).toMatchObject({
      parent: 'lost',
      grandchild: 'cancelled',
    });
  });

  it('what goes on by itself goes on, and looks for nobody any more', async () => {
    const parent = await startObeying(sandbox, 'parent');
    const child = await startChild(parent, 'child', '--on-parent-end', 'detach');
    const note = join(sandbox.home, 'runs', child.id, 'owner');
    expect(readFileSync(note, 'utf8')).toMatch(new RegExp(`^${parent.started.run.keeperPid} \\d+\n$`));
    killKeeperOf(parent);
    await eventually('it was let go', () => !existsSync(note), 30_000);
    expect([isAlive(child.keeper), isAlive(child.harness)]).toEqual([true, true]);
    expect(await outcomes('parent', 'child')).toEqual({ parent: 'lost', child: null });
    // It still learns of the end of its harness.
    signalSeen(child.harness, 'SIGKILL');
    await eventually('it is over', () => isGone(child));
    expect(await outcomes('child')).toEqual({ child: 'failed' });
  });

  it('what waits for a successor begins to wait', async () => {
    const parent = await startObeying(sandbox, 'parent');
    const child = await startChild(parent, 'child', '--on-parent-end', 'adopt', '--adopt-within', '3');
    killKeeperOf(parent);
    await eventually('it waited in vain', () => isGone(child), 40_000);
    expect(await outcomes('parent', 'child')).toEqual({ parent: 'lost', child: 'cancelled' });
  });

  it('a child that a daemon started, which is gone, ends too', async () => {
    const parent = await startObeying(sandbox, 'parent');
    const daemon = await openDaemon(sandbox);
    const body = { argv: ['sleep', '300'], session: 'child', cwd: sandbox.root };
    const answer = await daemon.ask('POST', '/v1/sessions/parent/children', { body });
    expect(answer.status).toBe(200);
    const child = childOf(await sandbox.show('child'));
    await daemon.stop();
    killKeeperOf(parent);
    await eventually('it is gone', () => isGone(child), 30_000);
    expect(await outcomes('parent', 'child')).toEqual({ parent: 'lost', child: 'cancelled' });
  });

  it('the look that ends its child shows it as ended', async () => {
    const parent = await startObeying(sandbox, 'parent');
    const child = await startChild(parent, 'child');
    // Stopped, it cannot learn of it before somebody looks.
    signalSeen(child.keeper, 'SIGSTOP');
    killKeeperOf(parent);
    const rows = await sandbox.list();
    expect(Object.fromEntries(rows.map(({ name, status }) => [name, status]))).toEqual({
      parent: 'lost',
      child: 'cancelled',
    });
    expect(isGone(child)).toBe(true);
  });
});

describe('when the database is removed under a parent, and nobody looks', () => {
  it('its end is on record all the same, and what is to be cancelled ends with it', async () => {
    const parent = await startObeying(sandbox, 'parent');
    const child = await startChild(parent, 'child');
    const keeper = see(parent.started.run.keeperPid ?? 0);
    removeDatabase(sandbox.home);
    parent.exits(5);
    await eventually('both are gone', () => !isAlive(keeper) && isGone(child), 30_000);
    expect(await outcomes('parent', 'child')).toEqual({ parent: 'failed', child: 'cancelled' });
    expect((await sandbox.show('parent')).run).toMatchObject({ exitCode: 5, proof: 'kernel' });
  });

  it('and its keeper is killed as well, what is to be cancelled ends', async () => {
    const parent = await startObeying(sandbox, 'parent');
    const child = await startChild(parent, 'child');
    removeDatabase(sandbox.home);
    killKeeperOf(parent);
    await eventually('it is gone', () => isGone(child), 30_000);
    expect(await outcomes('parent', 'child')).toEqual({ parent: 'lost', child: 'cancelled' });
  });
});

it('in tmux, a child whose parent lost its keeper ends, and nobody looked', async () => {
  panes = openPanes(sandbox);
  // The server must be outside of the run that starts the child.
  await sandbox.json(['run', '-t', '-d', '-s', 'other', '--', 'sleep', '300']);
  const parent = await startObeying(sandbox, 'parent');
  const child = await startChild(parent, 'child', '--tmux');
  killKeeperOf(parent);
  await eventually('it is gone', () => isGone(child), 30_000);
  expect(await outcomes('parent', 'child')).toEqual({ parent: 'lost', child: 'cancelled' });
});
