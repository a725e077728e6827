/** A harness whose state directory was removed under it: what it does is not known until it says so again. */
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { installStandIns } from '../fixtures/stand-in-harness.ts';
import type { StandIns } from '../fixtures/stand-in-harness.ts';
import { launchIn } from '../support/launch.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
let standIns: StandIns;
beforeEach(() => {
  sandbox = createSandbox();
  standIns = installStandIns(sandbox, 'claude', 'codex');
});
afterEach(() => sandbox.cleanUp());

const lose = () => rmSync(sandbox.home, { recursive: true, force: true });

const launch = async (...command: string[]) => {
  const { run } = await sandbox.json<SessionView>(['run', '-d', '-s', 'a', '--', ...command]);
  await standIns.ready(run.pid);
  return run;
};

it('is unknown, with its process, and what it reports next counts', async () => {
  const run = await launch('claude', '--session-id', randomUUID());
  await standIns.tell(run.pid, 'hook Stop');
  expect((await sandbox.show('a')).status).toBe('idle');
  lose();
  const [listed] = await sandbox.list();
  expect(listed).toMatchObject({
    status: 'unknown',
    activity: { evidence: expect.stringContaining('record was lost'), waitingFor: null },
    run: { id: run.id, pid: run.pid, liveness: 'alive' },
  });
  await standIns.tell(run.pid, 'hook UserPromptSubmit');
  expect((await sandbox.show('a')).status).toBe('working');
  await standIns.tell(run.pid, 'hook Stop');
  expect(await sandbox.show('a')).toMatchObject({
    status: 'idle',
    activity: { evidence: 'its Stop hook' },
  });
});

it('is what its own record says, however old that is', async () => {
  const run = await launch('claude', '--session-id', randomUUID());
  await standIns.tell(run.pid, `registry idle ${Date.now() - 60_000}`);
  lose();
  expect((await sandbox.list()).map(({ status }) => status)).toEqual(['idle']);
});

it('that named its conversation itself is bound to it again when it names it again', async () => {
  const run = await launch('codex');
  await standIns.tell(run.pid, 'hook SessionStart');
  const { nativeId } = await sandbox.show('a');
  expect(nativeId).toEqual(expect.any(String));
  lose();
  await sandbox.list();
  await standIns.tell(run.pid, 'hook SessionStart');
  expect(await sandbox.show('a')).toMatchObject({ nativeId, status: 'idle', run: { pid: run.pid } });
});

it('a plain command, which says nothing, works for as long as it lives', async () => {
  const { run } = await launchIn(sandbox, 'a', 'sleep', '60');
  lose();
  expect(await sandbox.list()).toMatchObject([{ status: 'working', run: { id: run.id, pid: run.pid } }]);
});
