/** One user, one conversation, and two environments that lead to different files of owners: there is one owner all the same. */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { installStandIns } from '../fixtures/stand-in-harness.ts';
import type { StandIns } from '../fixtures/stand-in-harness.ts';
import { eventually } from '../support/processes.ts';
import { createSandbox, finished, withJson } from '../support/sandbox.ts';
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

/** Claims first, and is let go when the other one executes. */
async function atOnce(words: (name: string) => readonly string[]) {
  const go = sandbox.path('go');
  const elsewhere = {
    REEVE_HOME: sandbox.path('elsewhere'),
    XDG_STATE_HOME: sandbox.path('state-elsewhere'),
  };
  mkdirSync(elsewhere.XDG_STATE_HOME);
  const first = sandbox.start(withJson(words('first')), {
    env: { ...sandbox.env, ...elsewhere, REEVE_CHECKPOINT: `launch.started=wait:${go}` },
  });
  const done = finished(first);
  await eventually('the first is on record, and not let go', () => existsSync(`${go}.reached`));
  const second = await sandbox.json<SessionView>(words('second'));
  writeFileSync(go, '');
  const { code, stdout } = await done;
  return { second, code, error: (JSON.parse(stdout) as { error?: { message: string } }).error };
}

it.runIf(process.platform === 'linux')('a conversation that both resume at once has one owner', async () => {
  const nativeId = randomUUID();
  const resume = (name: string) => ['run', '-d', '-s', name, '--', 'claude', '--resume', nativeId];
  const { second, code, error } = await atOnce(resume);
  expect(code).toBe(4);
  expect(error?.message).toContain(second.run.id);
  expect((await sandbox.show('second')).run.liveness).toBe('alive');
});

it.runIf(process.platform === 'linux')('a process that both adopt at once belongs to one', async () => {
  const nativeId = randomUUID();
  const harness = await standIns.outsider('claude', ['--resume', nativeId]);
  const { second, code, error } = await atOnce((name) => ['adopt', '-s', name, String(harness.pid)]);
  expect(code).toBe(4);
  expect(error?.message).toContain(second.run.id);
  expect((await sandbox.show('second')).run.liveness).toBe('alive');
});
