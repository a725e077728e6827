/** Conversations and sessions: one conversation belongs to one session, however it is asked for. */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { eventsIn, installStandIns } from '../fixtures/stand-in-harness.ts';
import type { StandIns } from '../fixtures/stand-in-harness.ts';
import { eventually, isAlive, see } from '../support/processes.ts';
import { createSandbox, finished } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
let standIns: StandIns;
beforeEach(() => {
  sandbox = createSandbox();
  standIns = installStandIns(sandbox, 'claude', 'codex', 'gemini', 'opencode', 'code');
});
afterEach(async () => {
  standIns.endOutsiders();
  await sandbox.cleanUp();
});

interface Failure {
  readonly error: { readonly code: string; readonly message: string; readonly details: unknown };
}

const claims = () => eventsIn(sandbox, 'run.claimed').length;

describe('a conversation', () => {
  it('that two ask for at once, under different names, is bound to one of them, and executes once', async () => {
    const nativeId = randomUUID();
    const starts = ['x', 'y', 'z'].map((name) =>
      sandbox.reeve(['run', '--detach', '--json', '-s', name, '--', 'claude', '--resume', nativeId]),
    );
    const results = await Promise.all(starts);
    const codes = results.map(({ code }) => code).toSorted((a, b) => Number(a) - Number(b));
    expect(codes).toEqual([0, 2, 2]);
    for (const { code, stdout } of results) {
      if (code !== 0) expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'bound_elsewhere' } });
    }
    expect(await sandbox.list()).toHaveLength(1);
    expect(claims()).toBe(1);
  });

  it('that two ask for at once, without naming a session, has one owner, and the other is told (4)', async () => {
    const nativeId = randomUUID();
    const starts = ['one', 'two', 'three'].map((directory) => {
      mkdirSync(sandbox.path(directory));
      const where = ['--cwd', sandbox.path(directory)];
      return sandbox.reeve(['run', '--detach', '--json', ...where, '--', 'claude', '--resume', nativeId]);
    });
    const results = await Promise.all(starts);
    expect(results.map(({ code }) => code).toSorted((a, b) => Number(a) - Number(b))).toEqual([0, 4, 4]);
    for (const { code, stdout } of results) {
      if (code !== 0) expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'live_owner' } });
    }
    expect(claims()).toBe(1);
  });

  it('that was claimed while this start looked around is the claimant’s, and its process no stranger', async () => {
    const nativeId = randomUUID();
    const go = sandbox.path('go');
    // With leave to end strangers: the claimant's own harness must not pass for one.
    const flags = ['--json', '--detach', '--on-live', 'retire', '--unmanaged'];
    const late = finished(
      sandbox.start(['run', ...flags, '-s', 'late', '--', 'claude', '--resume', nativeId], {
        env: { ...sandbox.env, REEVE_CHECKPOINT: `outsiders.sought=wait:${go}` },
      }),
    );
    await eventually('it looks around', () => existsSync(`${go}.reached`));
    const { run } = await sandbox.json<SessionView>([
      'run',
      '--detach',
      '-s',
      'first',
      '--',
      'claude',
      '--resume',
      nativeId,
    ]);
    await standIns.ready(run.pid);
    const harness = see(run.pid ?? 0);
    writeFileSync(go, '');
    const { code, stdout } = await late;
    expect({ code, ...(JSON.parse(stdout) as Failure) }).toMatchObject({
      code: 2,
      error: { code: 'bound_elsewhere', details: { session: 'first', nativeId } },
    });
    expect(isAlive(harness)).toBe(true);
  });

  it('that a run serves without being bound to it keeps others off, and the run is no stranger', async () => {
    const [asked, got] = [randomUUID(), randomUUID()];
    sandbox.env['STAND_IN_ID'] = got;
    sandbox.env['STAND_IN_SCRIPT'] = 'registry idle 1;hook SessionStart';
    const argv = ['run', '--detach', '-s', 'a', '--', 'claude', '--resume', asked];
    const { run } = await sandbox.json<SessionView>(argv);
    await standIns.ready(run.pid);
    const flags = ['--on-live', 'retire', '--unmanaged'];
    const { error } = await sandbox.json<Failure>(
      ['run', '--detach', ...flags, '-s', 'b', '--', 'claude', '--resume', got],
      4,
    );
    expect(error).toMatchObject({ details: { owner: { pid: run.pid } } });
    expect(isAlive(see(run.pid ?? 0))).toBe(true);
    expect((await sandbox.show('a')).run.state).toBe('running');
  });

  it('of one session cannot be taken into another by name (2), live or not', async () => {
    const nativeId = randomUUID();
    await sandbox.json(['run', '--detach', '-s', 'a', '--', 'claude', '--session-id', nativeId]);
    for (const end of [false, true]) {
      if (end) await sandbox.json(['kill', 'a']);
      const argv = ['run', '-s', 'other', '--', 'claude', '--resume', nativeId];
      const { error } = await sandbox.json<Failure>(argv, 2);
      expect(error).toMatchObject({ code: 'bound_elsewhere', details: { nativeId, session: 'a' } });
    }
    expect(claims()).toBe(1);
  });

  it('of a session that is asked for without a name goes on in that session', async () => {
    const nativeId = randomUUID();
    await sandbox.json(['run', '--detach', '-s', 'a', '--', 'claude', '--session-id', nativeId]);
    const { error } = await sandbox.json<Failure>(['run', '--', 'claude', '--resume', nativeId], 4);
    expect(error).toMatchObject({ code: 'live_owner', details: { session: 'a' } });
    await sandbox.json(['kill', 'a']);
    const next = await sandbox.json<SessionView>(['run', '--detach', '--', 'claude', '--resume', nativeId]);
    expect(next).toMatchObject({ name: 'a', epoch: 2, nativeId });
  });

  it('of the same id in another harness is another one', async () => {
    const nativeId = randomUUID();
    await sandbox.json(['run', '--detach', '-s', 'a', '--', 'claude', '--session-id', nativeId]);
    const argv = ['run', '--detach', '-s', 'b', '--', 'gemini', '--session-id', nativeId];
    expect((await sandbox.json<SessionView>(argv)).name).toBe('b');
    const { error } = await sandbox.json<Failure>(['show', nativeId], 2);
    expect(error.code).toBe('ambiguous');
  });

  describe.each([
    ['by its hook', 'codex', 'CODEX_HOME'],
    ['by the lock that it holds open', 'code', 'CODE_HOME'],
  ] as const)(
    'that a harness of Reeve’s has told only %s, and nobody has read yet,',
    (_, harness, variable) => {
      const unread = async () => {
        const nativeId = randomUUID();
        const env = { STAND_IN_ID: nativeId, [variable]: sandbox.path('harness-home') };
        sandbox.env[variable] = sandbox.path('harness-home');
        // Not --json, which looks at once.
        const started = await sandbox.reeve(['run', '--detach', '-s', 'a', '--', harness], { env });
        expect(started.code).toBe(0);
        const lock = sandbox.path(`harness-home/thread-writer-locks/${nativeId}.lock`);
        await eventually('it holds its lock', () => existsSync(lock));
        return nativeId;
      };

      it('is its session’s', async () => {
        const nativeId = await unread();
        const { error } = await sandbox.json<Failure>(['run', '--', harness, 'resume', nativeId], 4);
        expect(error).toMatchObject({ code: 'live_owner', details: { session: 'a' } });
        const other = await sandbox.json<Failure>(['run', '-s', 'b', '--', harness, 'resume', nativeId], 2);
        expect(other.error).toMatchObject({ code: 'bound_elsewhere', details: { session: 'a' } });
      });

      it('is taken over as its session’s, on record, and not as a stranger’s', async () => {
        const nativeId = await unread();
        const flags = ['--detach', '--on-live', 'retire', '--unmanaged', '--grace', '0.5'];
        const next = await sandbox.json<SessionView>(['run', ...flags, '--', harness, 'resume', nativeId]);
        expect(next).toMatchObject({ name: 'a', epoch: 2 });
        expect((await sandbox.show('a')).runs.map(({ outcome }) => outcome)).toEqual(['superseded', null]);
        expect(eventsIn(sandbox, 'outsider.ended')).toEqual([]);
      });
    },
  );
});

describe('a harness', () => {
  it('that is not installed is said to be so, with the way to get it, and nothing is claimed (1)', async () => {
    rmSync(sandbox.path('bin/gemini'));
    const { error } = await sandbox.json<Failure & { error: { hint: string } }>(
      ['run', '-s', 'a', '--', 'gemini', '-p', 'hello'],
      1,
    );
    expect(error).toMatchObject({
      code: 'harness_missing',
      details: { harness: 'gemini', program: 'gemini' },
    });
    expect(error.hint).toContain('npm install -g @google/gemini-cli');
    expect(await sandbox.json(['ls', '--all'])).toEqual([]);
    expect(existsSync(join(sandbox.home, 'runs', 'a'))).toBe(false);
  });

  it('whose program has another name is told by --harness', async () => {
    const nativeId = randomUUID();
    mkdirSync(sandbox.path('wrapped'));
    writeFileSync(sandbox.path('wrapped/my-agent'), '#!/bin/sh\nexec claude "$@"\n', { mode: 0o755 });
    const argv = ['--detach', '--harness', 'claude', '-s', 'a', '--', sandbox.path('wrapped/my-agent')];
    const { run } = await sandbox.json<SessionView>(['run', ...argv, '--session-id', nativeId]);
    await standIns.ready(run.pid);
    expect(await sandbox.show('a')).toMatchObject({ harness: 'claude', nativeId, status: 'idle' });
  });

  it('is treated as any command with --harness command', async () => {
    const argv = ['run', '--detach', '--harness', 'command', '-s', 'a', '--', 'claude'];
    const { run } = await sandbox.json<SessionView>(argv);
    await standIns.tell(run.pid, 'hook SessionStart');
    expect(await sandbox.show('a')).toMatchObject({
      harness: 'command',
      nativeId: null,
      status: 'working',
      activity: null,
    });
  });

  it('gives its session the names of its directory and itself, numbered', async () => {
    mkdirSync(sandbox.path('my project'));
    const cwd = ['--cwd', sandbox.path('my project')];
    const names: string[] = [];
    for (const program of ['claude', 'claude', 'codex', sandbox.path('bin/claude')]) {
      names.push((await sandbox.json<SessionView>(['run', '--detach', ...cwd, '--', program])).name);
    }
    expect(names).toEqual([
      'my-project-claude',
      'my-project-claude-2',
      'my-project-codex',
      'my-project-claude-3',
    ]);
  });

  it('of Every Code that serves another conversation than it was asked for is an error, told by its lock', async () => {
    const [asked, got] = [randomUUID(), randomUUID()];
    await sandbox.reeve(['run', '--detach', '-s', 'a', '--', 'code', 'resume', asked], {
      env: { STAND_IN_ID: got },
    });
    await eventually('it holds the lock', async () => {
      await sandbox.show('a');
      return eventsIn(sandbox, 'native.mismatch').length > 0;
    });
    expect((await sandbox.show('a')).nativeId).toBe(asked);
    expect((await sandbox.reeve(['show', got])).code).toBe(3);
  });

  it('whose command serves no conversation is started without one', async () => {
    const script = { STAND_IN_SCRIPT: 'exit 0' };
    const result = await sandbox.reeve(['run', '-s', 'a', '--', 'claude', '--version'], { env: script });
    expect(result.code).toBe(0);
    expect((await sandbox.show('a')).nativeId).toBeNull();
  });
});
