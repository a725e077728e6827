/** What harnesses report, from the message on disk to the record: taken once, in order, and only of the run it is about. */
import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { hookCommand } from '../../src/harness/hook-command.ts';
import { eventsIn, installStandIns } from '../fixtures/stand-in-harness.ts';
import type { StandIns } from '../fixtures/stand-in-harness.ts';
import { eventually } from '../support/processes.ts';
import { CLI, createSandbox, finished } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

const HOOK = join(dirname(CLI), 'hook.sh');

let sandbox: Sandbox;
let standIns: StandIns;
beforeEach(() => {
  sandbox = createSandbox();
  standIns = installStandIns(sandbox, 'claude', 'codex');
});
afterEach(() => sandbox.cleanUp());

interface Launched {
  readonly id: string;
  readonly pid: number | null;
  readonly directory: string;
  readonly spool: string;
}

/** A session `a` whose harness has begun conversation `nativeId`, which is on record. */
async function launch(nativeId: string, ...command: readonly string[]): Promise<Launched> {
  const argv = command.length > 0 ? command : ['claude', '--session-id', nativeId];
  const { run } = await sandbox.json<SessionView>(['run', '--detach', '-s', 'a', '--', ...argv]);
  await standIns.ready(run.pid);
  expect(await sandbox.show('a')).toMatchObject({ status: 'idle', nativeId });
  const directory = join(sandbox.home, 'runs', run.id);
  return { id: run.id, pid: run.pid, directory, spool: join(directory, 'hooks') };
}

/** A message as hook.sh leaves it, of the harness itself, written at this time. */
function leave(
  { id, pid, spool }: Launched,
  name: string,
  payload: object | string,
  atMs: number = Date.now(),
): string {
  const path = join(spool, name);
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
  writeFileSync(path, `launch ${id} ${pid}\n${text}\nwhole\n`);
  utimesSync(path, atMs / 1000, atMs / 1000);
  return path;
}

const report = (event: string, nativeId: string, fields: object = {}) => ({
  session_id: nativeId,
  hook_event_name: event,
  ...fields,
});

function unread(spool: string): string[] {
  return readdirSync(spool).filter((name) => !name.startsWith('.'));
}

const kindsSince = (before: number) =>
  eventsIn(sandbox)
    .slice(before)
    .map(({ kind }) => kind);

describe('a report', () => {
  it('is taken once by ten that look at the same time, and all ten see what it says', async () => {
    const nativeId = randomUUID();
    const { pid, spool } = await launch(nativeId);
    const before = eventsIn(sandbox).length;
    await standIns.tell(pid, 'hook UserPromptSubmit {"prompt":"go"}');
    await standIns.tell(pid, 'hook PermissionRequest {"tool_name":"Bash"}');
    const lists = await Promise.all(Array.from({ length: 10 }, () => sandbox.list()));
    expect(lists.map(([session]) => session?.status)).toEqual(Array(10).fill('needs-input'));
    expect(kindsSince(before)).toEqual(['harness.turn.started', 'harness.input.needed']);
    expect(unread(spool)).toEqual([]);
  });

  it('is taken once although its reader was killed before it could forget it', async () => {
    const nativeId = randomUUID();
    const { pid, spool } = await launch(nativeId);
    const before = eventsIn(sandbox).length;
    await standIns.tell(pid, 'hook UserPromptSubmit');
    const killed = await sandbox.reeve(['ls'], { env: { REEVE_CHECKPOINT: 'reports.taken=kill' } });
    expect(killed.signal).toBe('SIGKILL');
    expect(unread(spool)).toHaveLength(1);
    expect((await sandbox.list())[0]?.status).toBe('working');
    expect(kindsSince(before)).toEqual(['harness.turn.started']);
    expect(unread(spool)).toEqual([]);
  });

  it('that another reader took meanwhile does not undo what was reported after it', async () => {
    const nativeId = randomUUID();
    const launched = await launch(nativeId);
    await standIns.tell(launched.pid, 'hook UserPromptSubmit');
    expect((await sandbox.list())[0]?.status).toBe('working');
    // Of what only says that work goes on there is no event by which it could be known again.
    await standIns.tell(launched.pid, 'hook PostToolUse');
    const go = sandbox.path('go');
    const slow = finished(
      sandbox.start(['ls', '--json'], {
        env: { ...sandbox.env, REEVE_CHECKPOINT: `reports.listed=wait:${go}` },
      }),
    );
    await eventually('the slow reader has listed it', () => existsSync(`${go}.reached`));
    await standIns.tell(launched.pid, 'hook Stop');
    expect((await sandbox.list())[0]?.status).toBe('idle');
    writeFileSync(go, '');
    expect((JSON.parse((await slow).stdout) as SessionView[])[0]?.status).toBe('idle');
    expect((await sandbox.list())[0]?.status).toBe('idle');
  });

  it('that another reader took, and died before it could forget it, is seen by whoever had listed it too', async () => {
    const launched = await launch(randomUUID());
    await standIns.tell(launched.pid, 'hook UserPromptSubmit');
    const go = sandbox.path('go');
    const slow = finished(
      sandbox.start(['ls', '--json'], {
        env: { ...sandbox.env, REEVE_CHECKPOINT: `reports.listed=wait:${go}` },
      }),
    );
    await eventually('the slow reader has listed it', () => existsSync(`${go}.reached`));
    await sandbox.reeve(['ls'], { env: { REEVE_CHECKPOINT: 'reports.taken=kill' } });
    expect(unread(launched.spool)).toHaveLength(1);
    writeFileSync(go, '');
    expect((JSON.parse((await slow).stdout) as SessionView[])[0]?.status).toBe('working');
  });

  it('that another reader took since this one read the run is seen by this one too', async () => {
    const launched = await launch(randomUUID());
    const go = sandbox.path('go');
    const slow = finished(
      sandbox.start(['show', '--json', 'a'], {
        env: { ...sandbox.env, REEVE_CHECKPOINT: `reconcile.begun=wait:${go}` },
      }),
    );
    await eventually('the slow reader has read the run', () => existsSync(`${go}.reached`));
    await standIns.tell(launched.pid, 'hook UserPromptSubmit');
    expect((await sandbox.list())[0]?.status).toBe('working');
    expect(unread(launched.spool)).toEqual([]);
    writeFileSync(go, '');
    expect((JSON.parse((await slow).stdout) as SessionView).status).toBe('working');
  });

  it('that is only half written waits until it is whole', async () => {
    const nativeId = randomUUID();
    const { id, pid, spool } = await launch(nativeId);
    const path = join(spool, '1.0');
    writeFileSync(path, `launch ${id} ${pid}\n{"session_id":"${nativeId}",`);
    expect((await sandbox.show('a')).status).toBe('idle');
    appendFileSync(path, '"hook_event_name":"UserPromptSubmit"}\nwhol');
    expect((await sandbox.show('a')).status).toBe('idle');
    appendFileSync(path, 'e\n');
    expect((await sandbox.show('a')).status).toBe('working');
    expect(unread(spool)).toEqual([]);
  });

  it('that nobody will ever write to its end is dropped after a minute', async () => {
    const { spool } = await launch(randomUUID());
    for (const [name, ageMs] of [
      ['1.0', 61_000],
      ['2.0', 30_000],
    ] as const) {
      writeFileSync(join(spool, name), 'launch');
      const at = (Date.now() - ageMs) / 1000;
      utimesSync(join(spool, name), at, at);
    }
    expect((await sandbox.show('a')).status).toBe('idle');
    expect(unread(spool)).toEqual(['2.0']);
  });

  it('that is larger than anything worth reading counts by the fields at its beginning', async () => {
    const nativeId = randomUUID();
    const launched = await launch(nativeId);
    const tool = { tool_name: 'mcp', tool_input: { session_id: 'of the tool', hook_event_name: 'Stop' } };
    const payload = report('PermissionRequest', nativeId, { ...tool, padding: 'x'.repeat(2_000_000) });
    leave(launched, '1.0', payload);
    expect(await sandbox.show('a')).toMatchObject({
      status: 'needs-input',
      activity: { waitingFor: 'permission to use mcp' },
    });
  });
});

describe('reports', () => {
  it('are taken in the order of their time, whatever their files are called', async () => {
    const nativeId = randomUUID();
    const launched = await launch(nativeId);
    const before = eventsIn(sandbox).length;
    const now = Date.now();
    leave(launched, '1.0', report('UserPromptSubmit', nativeId), now + 40);
    leave(launched, '2.0', report('Stop', nativeId), now + 30);
    leave(launched, '3.0', report('UserPromptSubmit', nativeId), now + 10);
    leave(launched, '4.0', report('PermissionRequest', nativeId), now + 20);
    expect((await sandbox.show('a')).status).toBe('working');
    expect(kindsSince(before)).toEqual([
      'harness.turn.started',
      'harness.input.needed',
      'harness.turn.ended',
      'harness.turn.started',
    ]);
  });

  it('of the same tick of the clock are taken in the order in which they were begun', async () => {
    const nativeId = randomUUID();
    const launched = await launch(nativeId);
    const before = eventsIn(sandbox).length;
    const now = Math.ceil(Date.now() / 1000) * 1000;
    for (const [name, event] of [
      ['11.0', 'SessionEnd'],
      ['10.1', 'Stop'],
      ['10.0', 'PermissionRequest'],
      ['9.0', 'UserPromptSubmit'],
      ['8.0', 'SessionStart'],
    ] as const)
      leave(launched, name, report(event, nativeId), now);
    expect((await sandbox.show('a')).status).toBe('idle');
    expect(kindsSince(before)).toEqual([
      'harness.session.began',
      'harness.turn.started',
      'harness.input.needed',
      'harness.turn.ended',
      'harness.session.ended',
    ]);
  });

  it('that make no sense are dropped, and what is no file at all is left alone', async () => {
    const nativeId = randomUUID();
    const launched = await launch(nativeId);
    const before = eventsIn(sandbox).length;
    const { spool, id } = launched;
    leave(launched, '1.0', 'no JSON');
    leave(launched, '2.0', '[1, null]');
    leave(launched, '3.0', 'null');
    leave(launched, '4.0', { session_id: 7, hook_event_name: ['Stop'] });
    leave(launched, '5.0', report('toString', nativeId));
    leave(launched, '6.0', report('__proto__', nativeId));
    writeFileSync(join(spool, '7.0'), '\nwhole\n');
    writeFileSync(join(spool, '8.0'), Buffer.from([0xff, 0xfe, 0x00, ...Buffer.from('\nwhole\n')]));
    // Sparse: so large that no memory would hold it.
    writeFileSync(join(spool, '9.0'), `launch ${id} 1\n`);
    truncateSync(join(spool, '9.0'), 50 * 1024 ** 3);
    appendFileSync(join(spool, '9.0'), '\nwhole\n');
    mkdirSync(join(spool, 'directory'));
    expect(spawnSync('mkfifo', [join(spool, 'pipe')]).status).toBe(0);
    symlinkSync(join(spool, 'pipe'), join(spool, 'link'));
    symlinkSync('/etc/passwd', join(spool, 'link-to-file'));
    leave(launched, 'z.0', report('UserPromptSubmit', nativeId));

    expect((await sandbox.show('a')).status).toBe('working');
    expect(kindsSince(before)).toEqual(['harness.turn.started']);
    expect(unread(spool).toSorted()).toEqual(['directory', 'link', 'link-to-file', 'pipe']);
    expect(readFileSync('/etc/passwd', 'utf8')).not.toBe('');
  });

  it('in masses are taken a part at a look, the oldest first', async () => {
    const nativeId = randomUUID();
    const launched = await launch(nativeId);
    const now = Date.now();
    // Names that say nothing of the time.
    const names = Array.from({ length: 1000 }, (_, index) => `${(index * 617) % 1000}.0`);
    for (const [index, name] of names.entries()) leave(launched, name, 'nothing', now + index);
    const listed = await sandbox.list();
    expect(listed[0]?.status).toBe('idle');
    expect(unread(launched.spool).toSorted()).toEqual(names.slice(500).toSorted());
    await sandbox.list();
    expect(unread(launched.spool)).toEqual([]);
  });

  it('of great size are taken a few at a look', async () => {
    const launched = await launch(randomUUID());
    const { id, spool } = launched;
    for (let index = 0; index < 40; index += 1) {
      const path = join(spool, `${index}.0`);
      writeFileSync(path, `launch ${id} 1\n`);
      truncateSync(path, 3 * 1024 * 1024);
      appendFileSync(path, '\nwhole\n');
    }
    await sandbox.list();
    expect(unread(spool)).toHaveLength(8);
    await sandbox.list();
    expect(unread(spool)).toEqual([]);
  });
});

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
    await sandbox.reeve(['run', ...command], { env });
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
