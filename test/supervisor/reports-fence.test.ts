/** Whose reports count: only those of the session's current, living run, about the conversation that it serves. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { hookCommand } from '../../src/harness/hook-command.ts';
import { eventsIn, installStandIns } from '../fixtures/stand-in-harness.ts';
import type { StandIns } from '../fixtures/stand-in-harness.ts';
import { launchReporting, leave, report, unread } from '../fixtures/stand-in-reports.ts';
import { eventually } from '../support/processes.ts';
import { CLI, createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

const HOOK = join(dirname(CLI), 'hook.sh');

let sandbox: Sandbox;
let standIns: StandIns;
beforeEach(() => {
  sandbox = createSandbox();
  standIns = installStandIns(sandbox, 'claude', 'codex');
});
afterEach(() => sandbox.cleanUp());

const launch = (nativeId: string, ...command: readonly string[]) =>
  launchReporting({ sandbox, standIns }, nativeId, ...command);

const kindsSince = (before: number) =>
  eventsIn(sandbox)
    .slice(before)
    .map(({ kind }) => kind);

/** Hooks of Reeve's in the user's own settings, for all sessions. */
function installForAll(): void {
  const hook = [{ hooks: [{ type: 'command', command: hookCommand(HOOK, null) }] }];
  const hooks = { SessionStart: hook, UserPromptSubmit: hook, Stop: hook, SessionEnd: hook };
  mkdirSync(sandbox.path('.claude'), { recursive: true });
  writeFileSync(sandbox.path('.claude/settings.json'), JSON.stringify({ hooks }));
}

async function whyTexts(): Promise<string> {
  const { stdout } = await sandbox.reeve(['why', 'a']);
  return stdout.replaceAll(/\s+/g, ' ');
}

describe('a harness that a tool of the harness started', () => {
  it('reports to the same run, is fenced, changes nothing, and is told by why', async () => {
    installForAll();
    const [nativeId, nested] = [randomUUID(), randomUUID()];
    const { pid, id } = await launch(nativeId);
    await standIns.tell(pid, 'hook UserPromptSubmit');
    const before = await sandbox.show('a');
    expect(before.status).toBe('working');
    const script = 'hook SessionStart;hook UserPromptSubmit;hook Stop;hook SessionEnd;exit 0';
    await standIns.tell(
      pid,
      `tool STAND_IN_SCRIPT="${script}" claude -p --session-id ${nested} hello; : > ${sandbox.path('over')}`,
    );
    await eventually('the nested one is over', () => existsSync(sandbox.path('over')));

    expect(await sandbox.show('a')).toEqual(before);
    expect(eventsIn(sandbox, 'hook.fenced')).toEqual(
      ['session.began', 'turn.started', 'turn.ended', 'session.ended'].map((what) => ({
        kind: 'hook.fenced',
        runId: id,
        data: expect.objectContaining({ what, nativeId: nested }) as unknown,
      })),
    );
    expect(await whyTexts()).toContain(nested);
  });

  it('does not take the run over even by the hooks of the launch itself', async () => {
    const nativeId = randomUUID();
    const { pid, directory } = await launch(nativeId);
    const payload = JSON.stringify(report('SessionStart', randomUUID()));
    writeFileSync(sandbox.path('payload'), payload);
    // As a harness further down would: behind the shell of the tool that started it.
    const command = `sh -c '${hookCommand(HOOK, directory)}; :' < ${sandbox.path('payload')}; : > ${sandbox.path('over')}`;
    await standIns.tell(pid, `tool ${command}`);
    await eventually('it has reported', () => existsSync(sandbox.path('over')));
    expect((await sandbox.show('a')).nativeId).toBe(nativeId);
    expect(eventsIn(sandbox, 'hook.fenced')).toHaveLength(1);
  });

  it('and reports without end is noted a few times only', async () => {
    const nativeId = randomUUID();
    const launched = await launch(nativeId);
    for (let index = 0; index < 50; index += 1) {
      leave(launched, `${index}.0`, report('Stop', 'another'), Date.now() + index);
    }
    await sandbox.list();
    expect(unread(launched.spool)).toEqual([]);
    expect(eventsIn(sandbox, 'hook.fenced')).toHaveLength(20);
  });
});

describe('hooks that are installed for all sessions', () => {
  it('only repeat those of the launch, and count once with them', async () => {
    installForAll();
    const { pid, spool } = await launch(randomUUID());
    const before = eventsIn(sandbox).length;
    await standIns.tell(pid, 'hook UserPromptSubmit');
    await standIns.tell(pid, 'hook Stop');
    expect(unread(spool)).toHaveLength(4);
    expect((await sandbox.show('a')).status).toBe('idle');
    expect(kindsSince(before)).toEqual(['harness.turn.started', 'harness.turn.ended']);
  });

  it('are all there is when the launch could add none', async () => {
    installForAll();
    const nativeId = randomUUID();
    // Settings that cannot be read are the harness's affair; nothing is added to them.
    const argv = ['claude', '--session-id', nativeId, '--settings', sandbox.path('missing.json')];
    const { pid, spool } = await launch(nativeId, ...argv);
    await standIns.tell(pid, 'hook UserPromptSubmit');
    expect(unread(spool)).toHaveLength(1);
    expect((await sandbox.show('a')).status).toBe('working');
  });
});

describe('what is reported of a run that is over', () => {
  it('is fenced, changes nothing, and is told by why', async () => {
    const nativeId = randomUUID();
    const { directory, id } = await launch(nativeId);
    await sandbox.json(['stop', 'a']);
    const before = await sandbox.show('a');
    const payload = JSON.stringify(report('UserPromptSubmit', nativeId));
    const { status } = spawnSync('sh', ['-c', hookCommand(HOOK, directory)], { input: payload });
    expect(status).toBe(0);
    expect(unread(join(sandbox.home, 'late-hooks'))).toHaveLength(1);
    expect(await sandbox.show('a')).toEqual(before);
    expect(unread(join(sandbox.home, 'late-hooks'))).toEqual([]);
    expect(eventsIn(sandbox, 'hook.fenced')).toEqual([
      {
        kind: 'hook.fenced',
        runId: id,
        data: expect.objectContaining({ what: 'turn.started', nativeId }) as unknown,
      },
    ]);
    expect(await whyTexts()).toContain('turn.started');
  });

  it('does not reach the run that came after it', async () => {
    const nativeId = randomUUID();
    const { directory } = await launch(nativeId);
    const { run } = await sandbox.json<SessionView>(['resume', '--detach', '--force', 'a']);
    await standIns.ready(run.pid);
    expect((await sandbox.show('a')).status).toBe('idle');
    const payload = JSON.stringify(report('UserPromptSubmit', nativeId));
    spawnSync('sh', ['-c', hookCommand(HOOK, directory)], { input: payload });
    expect(await sandbox.show('a')).toMatchObject({ status: 'idle', epoch: 2 });
    expect(eventsIn(sandbox, 'hook.fenced')).toHaveLength(1);
  });

  it('and was forgotten is thrown away', async () => {
    const { directory } = await launch(randomUUID());
    await sandbox.json(['stop', 'a']);
    const payload = JSON.stringify(report('Stop', 'x'));
    spawnSync('sh', ['-c', hookCommand(HOOK, directory)], { input: payload });
    await sandbox.json(['rm', 'a']);
    expect(await sandbox.list()).toEqual([]);
    expect(unread(join(sandbox.home, 'late-hooks'))).toEqual([]);
  });
});

describe('a harness that goes on in another conversation', () => {
  it('by itself, as after /clear, takes its session along, and both conversations are the session’s', async () => {
    const [first, second] = [randomUUID(), randomUUID()];
    const { pid } = await launch(first);
    await standIns.tell(pid, `become ${second}`);
    await standIns.tell(pid, 'hook SessionStart');
    await standIns.tell(pid, 'hook UserPromptSubmit');
    expect(await sandbox.show('a')).toMatchObject({ status: 'working', nativeId: second });
    for (const id of [first, second]) expect((await sandbox.show(id)).name).toBe('a');
  });

  it('into one that belongs to another session is not followed', async () => {
    const [first, second] = [randomUUID(), randomUUID()];
    const { pid } = await launch(first);
    await sandbox.json(['run', '--detach', '-s', 'b', '--', 'claude', '--session-id', second]);
    await standIns.tell(pid, `become ${second}`);
    await standIns.tell(pid, 'hook SessionStart');
    expect((await sandbox.show('a')).nativeId).toBe(first);
    expect((await sandbox.show(second)).name).toBe('b');
    expect(eventsIn(sandbox, 'native.taken')).toHaveLength(1);
  });
});

describe('a harness that was asked for one conversation and began another', () => {
  const resumed = (asked: string, got: string) => ({
    command: ['-s', 'a', '--', 'claude', '--resume', asked],
    env: { STAND_IN_ID: got, STAND_IN_SCRIPT: 'hook SessionStart;hook Stop;exit 0' },
  });

  it('has failed although it exits 0; the reason names both, and the other is never bound', async () => {
    const [asked, got] = [randomUUID(), randomUUID()];
    const { command, env } = resumed(asked, got);
    const { code, stderr } = await sandbox.reeve(['run', ...command], { env });
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(got) as unknown });
    const { run, nativeId, status } = await sandbox.show('a');
    expect({ status, nativeId, exitCode: run.exitCode }).toEqual({
      status: 'failed',
      nativeId: asked,
      exitCode: 0,
    });
    expect(run.reason).toContain(asked);
    expect(run.reason).toContain(got);
    expect((await sandbox.reeve(['show', got])).code).toBe(3);
    expect(eventsIn(sandbox, 'harness.session.began')).toEqual([]);
  });

  it.each(['launch.released', 'launch.executing'])(
    'has failed also when its launcher was killed at %s and only the keeper saw it end',
    async (point) => {
      const [asked, got] = [randomUUID(), randomUUID()];
      const { command, env } = resumed(asked, got);
      await sandbox.reeve(['run', '--detach', ...command], {
        env: { ...env, REEVE_CHECKPOINT: `${point}=kill` },
      });
      await eventually('it has ended', () => eventsIn(sandbox, 'run.ended').length > 0);
      expect(await sandbox.show('a')).toMatchObject({ status: 'failed', run: { exitCode: 0 } });
    },
  );

  it('while it lives says so, and goes on to be told by what it began', async () => {
    const [asked, got] = [randomUUID(), randomUUID()];
    sandbox.env['STAND_IN_ID'] = got;
    const argv = ['run', '--detach', '-s', 'a', '--', 'claude', '--resume', asked];
    const { run } = await sandbox.json<SessionView>(argv);
    await standIns.tell(run.pid, 'hook UserPromptSubmit');
    expect(await sandbox.show('a')).toMatchObject({ status: 'working', nativeId: asked });
    expect(eventsIn(sandbox, 'native.mismatch').map(({ data }) => data)).toEqual([
      expect.objectContaining({ asked, got }),
    ]);
    // Whoever asks for it gets a session of its own: it was bound to none.
    delete sandbox.env['STAND_IN_ID'];
    await sandbox.json(['kill', 'a']);
    const other = await sandbox.json<SessionView>([
      'run',
      '--detach',
      '-s',
      'b',
      '--',
      'claude',
      '--resume',
      got,
    ]);
    expect(other).toMatchObject({ name: 'b', nativeId: got });
  });
});

it('a harness that chooses its conversation itself is bound by its first report', async () => {
  const { run } = await sandbox.json<SessionView>(['run', '--detach', '-s', 'a', '--', 'codex']);
  await standIns.ready(run.pid);
  const { nativeId, status } = await sandbox.show('a');
  expect(status).toBe('idle');
  const locks = readdirSync(sandbox.path('.codex/thread-writer-locks'));
  expect(locks).toEqual([`${nativeId}.lock`]);
});
