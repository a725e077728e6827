/** A process that serves a conversation and belongs to a run, although no record says that it does: never a stranger. */
import { randomUUID } from 'node:crypto';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { eventsIn, installStandIns } from '../fixtures/stand-in-harness.ts';
import type { StandIns } from '../fixtures/stand-in-harness.ts';
import { isAlive, see } from '../support/processes.ts';
import type { Seen } from '../support/processes.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
let standIns: StandIns;
beforeEach(() => {
  sandbox = createSandbox();
  standIns = installStandIns(sandbox, 'claude');
});
afterEach(async () => {
  await sandbox.cleanUp();
  standIns.endOutsiders();
});

interface Failure {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly hint: string;
    readonly details: Readonly<Record<string, unknown>>;
  };
}

const END_IT = ['--on-live', 'retire', '--unmanaged', '--grace', '0.5'];
const WAYS: readonly (readonly string[])[] = [[], ['--force'], END_IT];

const start = (name: string, ...command: readonly string[]) =>
  sandbox.json<SessionView>(['run', '-d', '-s', name, '--', ...command]);

/** Asks for the conversation in every way, from this state directory or another one. */
async function refusals(nativeId: string, home = sandbox.home): Promise<readonly Failure['error'][]> {
  const errors: Failure['error'][] = [];
  for (const flags of WAYS) {
    const words = ['run', '-d', '--json', ...flags, '-s', 'thief', '--', 'claude', '--resume', nativeId];
    const { code, stdout } = await sandbox.reeve(words, { env: { REEVE_HOME: home } });
    expect(code).toBe(4);
    errors.push((JSON.parse(stdout) as Failure).error);
  }
  return errors;
}

/** It is named as the owner, whoever asks how, with ways on that work; and it lives. */
async function expectOwner(nativeId: string, { name, run }: SessionView, served: Seen): Promise<void> {
  for (const { code, message, hint, details } of await refusals(nativeId)) {
    expect({ code, details }).toMatchObject({
      code: 'live_owner',
      details: { nativeId, session: name, owner: { run: run.id } },
    });
    expect(message).toContain(`run ${run.id} of ${name} `);
    expect(hint).toContain(`reeve stop ${name}`);
    expect(`${message} ${hint}`).not.toMatch(/unmanaged|did not start|adopt|--on-live/);
  }
  expect(isAlive(served)).toBe(true);
  expect((await sandbox.show(name)).run).toMatchObject({ id: run.id, state: 'running' });
  expect((await sandbox.list()).map((each) => each.name)).toEqual([name]);
}

describe('the owner of a conversation', () => {
  it.each([
    ['a command that became a harness', 'exec claude --resume "$0"'],
    ['a command that started one', 'claude --resume "$0"; true'],
    [
      'a command that started one without the marks of the run',
      'env -i HOME="$HOME" PATH="$PATH" STAND_IN_DIR="$STAND_IN_DIR" claude --resume "$0"; true',
    ],
  ])('is the run of %s', async (_, script) => {
    const nativeId = randomUUID();
    const hidden = await start('hidden', 'sh', '-c', script, nativeId);
    const found = await servingIn(nativeId);
    await expectOwner(nativeId, hidden, found);
    await sandbox.json(['stop', 'hidden']);
    expect(isAlive(found)).toBe(false);
    expect((await start('thief', 'claude', '--resume', nativeId)).nativeId).toBe(nativeId);
  });

  it('is the run in which somebody changed over to it unheard', async () => {
    const nativeId = randomUUID();
    const pane = await start('pane', 'claude', '--session-id', randomUUID());
    await standIns.tell(pane.run.pid, `become ${nativeId}`);
    await standIns.tell(pane.run.pid, 'registry idle 1');
    await expectOwner(nativeId, pane, see(pane.run.pid ?? 0));
  });

  it('is the run that a lost state directory knows by its earlier conversation only', async () => {
    const nativeId = randomUUID();
    const mine = await start('mine', 'claude', '--session-id', randomUUID());
    await standIns.tell(mine.run.pid, `become ${nativeId}`);
    await standIns.tell(mine.run.pid, 'registry idle 1');
    rmSync(sandbox.home, { recursive: true, force: true });
    await expectOwner(nativeId, mine, see(mine.run.pid ?? 0));
    expect(eventsIn(sandbox, 'outsider.ended')).toEqual([]);
    expect(await sandbox.json(['stop', 'mine'])).toMatchObject({ run: { outcome: 'stopped' } });
  });
});

describe('the owner of a conversation in another state directory', () => {
  const other = () => sandbox.path('other');

  async function expectElsewhere(nativeId: string, { name, run }: SessionView, served: Seen): Promise<void> {
    for (const { code, hint, details } of await refusals(nativeId, other())) {
      expect({ code, details }).toMatchObject({
        code: 'live_owner',
        details: { home: sandbox.home, owner: { run: run.id, session: name } },
      });
      expect(hint).toContain(`REEVE_HOME=${sandbox.home} reeve stop ${name}`);
    }
    expect(isAlive(served)).toBe(true);
  }

  it('is the run whose command started a harness without its marks', async () => {
    const nativeId = randomUUID();
    const wiped = 'env -i HOME="$HOME" PATH="$PATH" STAND_IN_DIR="$STAND_IN_DIR" claude --resume "$0"; true';
    const hidden = await start('hidden', 'sh', '-c', wiped, nativeId);
    await expectElsewhere(nativeId, hidden, await servingIn(nativeId));
  });

  it('is the run that adopted the process, whichever conversation it has come to since', async () => {
    const nativeId = randomUUID();
    const harness = await standIns.outsider('claude', ['--resume', randomUUID()]);
    const adopted = await sandbox.json<SessionView>(['adopt', '-s', 'a', String(harness.pid)]);
    await standIns.tell(harness.pid, `become ${nativeId}`);
    await standIns.tell(harness.pid, 'registry idle 1');
    await expectElsewhere(nativeId, adopted, harness);
  });

  describe.each([
    ['removed', (owners: string) => rmSync(owners, { recursive: true })],
    ['put aside', (owners: string) => renameSync(owners, `${owners}-aside`)],
  ])('is known by its keeper when the files of owners were %s:', (_, lose) => {
    const owners = () => sandbox.path('.local/state/reeve-owners');

    it('a run of a program that does not show its conversation', async () => {
      const [nativeId, program] = [randomUUID(), sandbox.path('claude')];
      writeFileSync(program, '#!/bin/sh\nexec sleep 600\n', { mode: 0o755 });
      const silent = await start('silent', program, '--resume', nativeId);
      lose(owners());
      await expectElsewhere(nativeId, silent, see(silent.run.pid ?? 0));
    });

    it('a run that adopted its process', async () => {
      const harness = await standIns.outsider('claude', []);
      const adopted = await sandbox.json<SessionView>(['adopt', '-s', 'a', String(harness.pid)]);
      lose(owners());
      const env = { REEVE_HOME: other() };
      const refused = await sandbox.reeve(['adopt', '--json', String(harness.pid)], { env });
      expect(refused.code).toBe(4);
      expect((JSON.parse(refused.stdout) as Failure).error.details).toMatchObject({
        home: sandbox.home,
        owner: { run: adopted.run.id, session: 'a' },
      });
    });
  });

  it('is told by the pid of its keeper as such, and by that of its process as such', async () => {
    const nativeId = randomUUID();
    const { run } = await start('a', 'claude', '--resume', nativeId);
    const [kept] = await refusals(nativeId, other());
    expect(kept?.message).toContain(`(keeper pid ${run.keeperPid})`);
    expect(kept?.details).toMatchObject({ owner: { keeperPid: run.keeperPid, pid: null } });
    const next = randomUUID();
    await standIns.tell(run.pid, `become ${next}`);
    await standIns.tell(run.pid, 'registry idle 1');
    const [marked] = await refusals(next, other());
    expect(marked?.message).toContain(`(pid ${run.pid})`);
    expect(marked?.details).toMatchObject({ owner: { keeperPid: null, pid: run.pid } });
  });

  it('that adopted it leaves nothing of an adoption that was refused', async () => {
    const nativeId = randomUUID();
    const harness = await standIns.outsider('claude', ['--resume', nativeId]);
    const adopted = await sandbox.json<SessionView>(['adopt', '-s', 'a', String(harness.pid)]);
    const env = { REEVE_HOME: other() };
    const refused = await sandbox.reeve(['adopt', '--json', String(harness.pid)], { env });
    expect(refused.code).toBe(4);
    expect((JSON.parse(refused.stdout) as Failure).error).toMatchObject({
      code: 'live_owner',
      details: { home: sandbox.home, owner: { run: adopted.run.id, session: 'a' } },
    });
    expect(JSON.parse((await sandbox.reeve(['ls', '--all', '--json'], { env })).stdout)).toEqual([]);
    await sandbox.json(['stop', 'a']);
    const words = ['run', '-d', '--json', '-s', 'b', '--', 'claude', '--resume', nativeId];
    expect((await sandbox.reeve(words, { env })).code).toBe(0);
    expect((await sandbox.reeve(['stop', 'b'], { env })).code).toBe(0);
  });
});

describe('doctor', () => {
  interface Check {
    readonly name: string;
    readonly is: string;
    readonly says: string;
  }
  const shell = (name: string, nativeId: string) =>
    start(name, 'sh', '-c', 'exec claude --resume "$0"', nativeId);

  it('names the runs that serve one conversation, which nobody could know when they started', async () => {
    const nativeId = randomUUID();
    const runs = [await shell('a', nativeId), await shell('b', nativeId)];
    for (const { run } of runs) await standIns.ready(run.pid);
    const other = await shell('c', randomUUID());
    await standIns.ready(other.run.pid);
    const checks = await sandbox.json<Check[]>(['doctor'], 1);
    const [found, ...more] = checks.filter(({ is }) => is === 'bad');
    expect([found?.name, more]).toEqual(['conversations', []]);
    for (const { name, run } of runs)
      expect(found?.says).toContain(`pid ${run.pid} (run ${run.id} of ${name})`);
    expect(found?.says).toContain(nativeId);
    await sandbox.json(['stop', 'b']);
    expect((await sandbox.json<Check[]>(['doctor'])).filter(({ is }) => is === 'bad')).toEqual([]);
  });

  it('says nothing of a conversation that no run serves', async () => {
    const nativeId = randomUUID();
    for (const _ of [1, 2]) await standIns.outsider('claude', ['--resume', nativeId]);
    expect((await sandbox.json<Check[]>(['doctor'])).filter(({ is }) => is === 'bad')).toEqual([]);
  });
});

/** The process that Reeve itself finds to serve the conversation, once it is ready. */
async function servingIn(nativeId: string): Promise<Seen> {
  interface Scan {
    readonly harnesses: readonly { readonly pid: number; readonly nativeId: string | null }[];
  }
  for (;;) {
    const { harnesses } = await sandbox.json<Scan>(['scan']);
    const found = harnesses.find((each) => each.nativeId === nativeId);
    if (found === undefined) continue;
    await standIns.ready(found.pid);
    return see(found.pid);
  }
}
