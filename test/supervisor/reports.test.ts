/** What harnesses report, from the message on disk to the record: taken once, in order, whoever dies or looks at once. */
import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { eventsIn, installStandIns } from '../fixtures/stand-in-harness.ts';
import type { StandIns } from '../fixtures/stand-in-harness.ts';
import { launchReporting, leave, report, unread } from '../fixtures/stand-in-reports.ts';
import { eventually } from '../support/processes.ts';
import { createSandbox, finished } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

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

  it('shows the newest question while it waits: another one is told, a reminder is not', async () => {
    const nativeId = randomUUID();
    const { pid } = await launch(nativeId);
    const before = eventsIn(sandbox).length;
    const asked = async () => (await sandbox.list())[0]?.activity?.waitingFor;
    await standIns.tell(pid, 'hook PermissionRequest {"tool_name":"Bash","tool_input":{"command":"ls"}}');
    expect(await asked()).toBe('permission to use Bash');
    await standIns.tell(pid, 'hook PermissionRequest {"tool_name":"Write","tool_input":{"path":"a"}}');
    await standIns.tell(
      pid,
      'hook Notification {"notification_type":"permission_prompt","message":"Claude needs your permission to use Write"}',
    );
    expect([await asked(), (await sandbox.show('a')).activity?.waitingFor]).toEqual(
      Array(2).fill('permission to use Write'),
    );
    expect(kindsSince(before)).toEqual(['harness.input.needed', 'harness.input.needed']);
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
