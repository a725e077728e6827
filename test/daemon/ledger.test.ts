/** What sessions spend, as the daemon tells it. */
import { randomUUID } from 'node:crypto';
import { appendFileSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { OverviewView, SessionDetailView } from '../../src/api/http-views.ts';
import type { SessionView } from '../../src/api/session-view.ts';
import { installStandIns } from '../fixtures/stand-in-harness.ts';
import type { StandIns } from '../fixtures/stand-in-harness.ts';
import { claudeAnswer } from '../fixtures/usage-transcripts.ts';
import { eventually } from '../support/processes.ts';
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
  const ask = (path: string) => fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } });
  return {
    tokens: async () => ((await (await ask('/v1/sessions')).json()) as OverviewView).sessions[0]?.tokens,
    detail: async () => (await (await ask('/v1/sessions/a')).json()) as SessionDetailView,
    metrics: async () => (await ask('/metrics')).text(),
  };
}

/** A session of the stand-in; `config` is where it has its files, as only its own environment says. */
async function started(
  nativeId: string,
  config: string,
): Promise<{ runId: string; pid: number | null; transcript: string }> {
  const argv = ['run', '--detach', '--json', '-s', 'a', '--', 'claude', '--session-id', nativeId];
  const { stdout } = await sandbox.reeve(argv, { env: { CLAUDE_CONFIG_DIR: config } });
  const { run } = JSON.parse(stdout) as SessionView;
  await standIns.ready(run.pid);
  const project = sandbox.root.replaceAll(/[^A-Za-z0-9]/g, '-');
  const transcript = join(config, 'projects', project, `${nativeId}.jsonl`);
  mkdirSync(dirname(transcript), { recursive: true });
  return { runId: run.id, pid: run.pid, transcript };
}

const answer = (id: string) =>
  claudeAnswer({ id, atMs: Date.now(), input: 10, output: 5, cacheRead: 1000, cacheWrite: 100 }, 2);

describe('the ledger', () => {
  it('is in the overview, the session and the metrics soon after it was spent, and at its end', async () => {
    const daemon = await served();
    const { runId, pid, transcript } = await started(randomUUID(), sandbox.path('elsewhere'));
    expect(await daemon.tokens()).toBeNull();
    expect(statSync(join(sandbox.home, 'runs', runId, 'place.json')).mode & 0o777).toBe(0o600);
    appendFileSync(transcript, answer('m1'));
    await standIns.tell(pid, 'hook UserPromptSubmit {"prompt":"go"}');
    await eventually('it is in the overview', async () => (await daemon.tokens()) === 1115, 20_000);
    appendFileSync(transcript, answer('m2'));
    await sandbox.json(['stop', 'a']);
    await eventually('the rest of it', async () => (await daemon.tokens()) === 2230, 20_000);
    expect(await daemon.detail()).toMatchObject({ name: 'a', tokens: 2230 });
    const lines = (await daemon.metrics())
      .split('\n')
      .filter((line) => line.startsWith('reeve_tokens_total'));
    expect(lines.toSorted()).toEqual([
      'reeve_tokens_total{kind="cache_read",harness="claude"} 2000',
      'reeve_tokens_total{kind="cache_write",harness="claude"} 200',
      'reeve_tokens_total{kind="input",harness="claude"} 20',
      'reeve_tokens_total{kind="output",harness="claude"} 10',
      'reeve_tokens_total{kind="reasoning",harness="claude"} 0',
    ]);
    const status = await sandbox.json<{ parts: Record<string, { is: string; says: string }> }>([
      'serve',
      'status',
    ]);
    expect(status.parts['ledger']?.is).toBe('good');
  });

  it('finds what a run left that was over before anybody looked', async () => {
    const { transcript } = await started(randomUUID(), sandbox.path('elsewhere'));
    appendFileSync(transcript, answer('m1'));
    await sandbox.json(['stop', 'a']);
    const daemon = await served();
    await eventually('it is in the overview', async () => (await daemon.tokens()) === 1115, 20_000);
  });
});
