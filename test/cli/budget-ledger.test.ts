/** Tokens without a daemon: the keeper's watcher reads the transcript, and so does whoever starts the next run. */
import { randomUUID } from 'node:crypto';
import { appendFileSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { installStandIns } from '../fixtures/stand-in-harness.ts';
import type { StandIns } from '../fixtures/stand-in-harness.ts';
import { claudeAnswer } from '../fixtures/usage-transcripts.ts';
import { eventually, isAlive, see, signalSeen } from '../support/processes.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
let standIns: StandIns;
beforeEach(() => {
  sandbox = createSandbox();
  standIns = installStandIns(sandbox, 'claude');
});
afterEach(() => sandbox.cleanUp());

async function spender(...flags: string[]) {
  const nativeId = randomUUID();
  const command = ['claude', '--session-id', nativeId];
  const { run } = await sandbox.json<SessionView>(['run', '-d', '-s', 'a', ...flags, '--', ...command]);
  await standIns.ready(run.pid);
  const project = sandbox.root.replaceAll(/[^A-Za-z0-9]/g, '-');
  const transcript = join(sandbox.root, '.claude', 'projects', project, `${nativeId}.jsonl`);
  mkdirSync(dirname(transcript), { recursive: true });
  let answers = 0;
  const spend = (tokens: number) => {
    answers += 1;
    const told = { id: `m${answers}`, atMs: Date.now(), input: tokens - 1, output: 1 };
    appendFileSync(transcript, claudeAnswer(told, 2));
  };
  return { spend, keeper: see(run.keeperPid ?? 0), harness: see(run.pid ?? 0) };
}

it('what a transcript says ends the run, by its keeper alone', async () => {
  const { spend, keeper, harness } = await spender('--max-tokens', '1000');
  spend(1200);
  // Not waited for: the next look is put forward.
  signalSeen(keeper, 'SIGALRM');
  await eventually('the keeper is done', () => !isAlive(keeper), 30_000);
  expect(isAlive(harness)).toBe(false);
  expect((await sandbox.show('a')).run).toMatchObject({
    outcome: 'over_budget',
    reason: 'it was over the budget of its session of 1.0k tokens: 1.2k tokens are spent',
  });
});

it('what nobody has read yet counts at the next start', async () => {
  const { spend, keeper, harness } = await spender('--max-tokens', '1000');
  spend(1200);
  signalSeen(harness, 'SIGKILL');
  await eventually('the keeper is done', () => !isAlive(keeper));
  expect((await sandbox.show('a')).run.outcome).toBe('failed');
  const refused = await sandbox.json<{ error: { code: string; details: unknown } }>(['resume', '-d', 'a'], 8);
  expect(refused.error).toMatchObject({ code: 'over_budget', details: { spent: 1200, limit: 1000 } });
  expect((await sandbox.show('a')).epoch).toBe(1);
});

it('what a model costs whose price is not known exceeds nothing, and is said', async () => {
  const { spend } = await spender('--max-cost', '0.01');
  spend(900_000);
  const { stdout } = await sandbox.reeve(['budget', 'a']);
  expect(stdout).toMatch(/\$0\.00 of \$0\.01\n +cost not known for model \S+/);
});
