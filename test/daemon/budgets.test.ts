/** Budgets as the daemon keeps them: from a transcript to the end of a run, and in the overview before. */
import { randomUUID } from 'node:crypto';
import { appendFileSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { OverviewView } from '../../src/api/http-views.ts';
import type { SessionView } from '../../src/api/session-view.ts';
import { installStandIns } from '../fixtures/stand-in-harness.ts';
import type { StandIns } from '../fixtures/stand-in-harness.ts';
import { claudeAnswer } from '../fixtures/usage-transcripts.ts';
import { eventually, see, signalSeen } from '../support/processes.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
let standIns: StandIns;
beforeEach(() => {
  sandbox = createSandbox();
  standIns = installStandIns(sandbox, 'claude');
});
afterEach(async () => {
  await sandbox.json(['serve', 'stop']);
  await sandbox.cleanUp();
});

async function served() {
  const { url } = await sandbox.json<{ url: string }>(['serve', '--detach']);
  const token = readFileSync(join(sandbox.home, 'daemon', 'token'), 'utf8').trim();
  const headers = { authorization: `Bearer ${token}` };
  return async () =>
    ((await (await fetch(`${url}/v1/sessions`, { headers })).json()) as OverviewView).sessions[0];
}

const answer = (id: string, tokens: number) =>
  claudeAnswer({ id, atMs: Date.now(), input: tokens - 1, output: 1 }, 2);

it('what a harness spends is in the overview, and ends its run at the limit', async () => {
  const row = await served();
  const nativeId = randomUUID();
  const command = ['claude', '--session-id', nativeId];
  const { run } = await sandbox.json<SessionView>([
    'run',
    '-d',
    '-s',
    'a',
    '--max-tokens',
    '1000',
    '--',
    ...command,
  ]);
  await standIns.ready(run.pid);
  const project = sandbox.root.replaceAll(/[^A-Za-z0-9]/g, '-');
  const transcript = join(sandbox.root, '.claude', 'projects', project, `${nativeId}.jsonl`);
  mkdirSync(dirname(transcript), { recursive: true });
  appendFileSync(transcript, answer('one', 900));
  const budget = { scope: 'session', kind: 'tokens', limit: 1000 };
  await eventually('it is close', async () => (await row())?.budgets[0]?.state === 'warn', 30_000);
  expect((await row())?.budgets).toEqual([{ ...budget, spent: 900, fraction: 0.9, state: 'warn' }]);
  appendFileSync(transcript, answer('two', 200));
  await eventually('it is ended', async () => (await row())?.run.outcome === 'over_budget', 40_000);
  expect((await row())?.budgets).toEqual([]);
  expect((await sandbox.show('a')).run.reason).toBe(
    'it was over the budget of its session of 1.0k tokens: 1.1k tokens are spent',
  );
});

it('a keeper that cannot look any more is no way around a budget', async () => {
  const row = await served();
  const { run } = await sandbox.json<SessionView>([
    'run',
    '-d',
    '-s',
    'a',
    '--max-minutes',
    '0.1',
    '--',
    'sleep',
    '60',
  ]);
  signalSeen(see(run.keeperPid ?? 0), 'SIGSTOP');
  await eventually('it is ended', async () => (await row())?.run.outcome === 'over_budget', 40_000);
});
