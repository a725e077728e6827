/** A harness behind a launcher, as `env` and `timeout` are, is a harness. */
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { installStandIns } from '../fixtures/stand-in-harness.ts';
import { eventually } from '../support/processes.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
  installStandIns(sandbox, 'claude');
});
afterEach(() => sandbox.cleanUp());

interface Failure {
  readonly error: { readonly code: string; readonly details: unknown };
}

it.each([
  ['env', ['env', 'A=b']],
  ['nice', ['nice', '-n', '1']],
  ['timeout', ['timeout', '100']],
  ['several', ['nohup', 'env', 'timeout', '-k', '1', '100']],
])('behind %s it owns its conversation, reports, and is resumed in the same way', async (_, launcher) => {
  const nativeId = randomUUID();
  const argv = [...launcher, 'claude', '--resume', nativeId];
  const started = await sandbox.json<SessionView>(['run', '-d', '-s', 'a', '--', ...argv]);
  expect(started).toMatchObject({ harness: 'claude', nativeId, argv });
  const { error } = await sandbox.json<Failure>(['run', '-d', '--', ...argv], 4);
  expect(error).toMatchObject({
    code: 'live_owner',
    details: { session: 'a', owner: { run: started.run.id } },
  });
  await eventually('its report', async () => (await sandbox.show('a')).activity !== null);
  expect(await sandbox.json(['stop', 'a'])).toMatchObject({ run: { outcome: 'stopped', proof: 'kernel' } });
  const resumed = await sandbox.json<SessionView>(['resume', '-d', 'a']);
  expect(resumed).toMatchObject({ epoch: 2, nativeId, argv });
});

it('finds the files of the harness where the launcher says', async () => {
  const nativeId = randomUUID();
  const place = sandbox.path('config');
  const project = join(place, 'projects', sandbox.root.replaceAll(/[^A-Za-z0-9]/g, '-'));
  mkdirSync(project, { recursive: true });
  writeFileSync(
    join(project, `${nativeId}.jsonl`),
    `${JSON.stringify({ sessionId: nativeId, cwd: sandbox.root })}\n`,
  );
  const argv = ['env', `CLAUDE_CONFIG_DIR=${place}`, 'claude', '--continue'];
  expect(await sandbox.json<SessionView>(['run', '-d', '-s', 'a', '--', ...argv])).toMatchObject({
    nativeId,
  });
});

it('says that the harness is not installed, not the launcher', async () => {
  const { error } = await sandbox.json<Failure>(['run', '-d', '--', 'env', 'codex'], 1);
  expect(error).toMatchObject({ code: 'harness_missing', details: { harness: 'codex', program: 'codex' } });
});
