/** `usage` of the built program, on transcripts as two harnesses write them, without a daemon. */
import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import type { SessionSpentView, UsageView } from '../../src/api/usage-view.ts';
import { installStandIns } from '../fixtures/stand-in-harness.ts';
import type { StandIns } from '../fixtures/stand-in-harness.ts';
import { claudeAnswer, codexContext, codexTotal } from '../fixtures/usage-transcripts.ts';
import { eventually } from '../support/processes.ts';
import { CLI, createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
let standIns: StandIns;
beforeEach(() => {
  sandbox = createSandbox();
  standIns = installStandIns(sandbox, 'claude', 'codex');
});
afterEach(() => sandbox.cleanUp());

async function claude(nativeId: string, ...flags: readonly string[]) {
  const argv = ['run', '--detach', ...flags, '-s', 'web', '--', 'claude', '--session-id', nativeId];
  const { run } = await sandbox.json<SessionView>(argv);
  await standIns.ready(run.pid);
  const project = sandbox.root.replaceAll(/[^A-Za-z0-9]/g, '-');
  const transcript = join(sandbox.root, '.claude', 'projects', project, `${nativeId}.jsonl`);
  mkdirSync(dirname(transcript), { recursive: true });
  return { run, transcript };
}

const answer = (id: string, atMs = Date.now()) =>
  claudeAnswer({ id, atMs, input: 10, output: 5, cacheRead: 1000, cacheWrite: 100, reasoning: 2 }, 2);

async function codex(nativeId: string) {
  const argv = ['run', '--detach', '-s', 'api', '--', 'codex', 'resume', nativeId];
  const { run } = await sandbox.json<SessionView>(argv);
  await standIns.ready(run.pid);
  const rollout = `rollout-2026-11-15T20-00-00-${nativeId}.jsonl`;
  const transcript = join(sandbox.root, '.codex', 'sessions', '2026', '11', '15', rollout);
  mkdirSync(dirname(transcript), { recursive: true });
  return { run, transcript };
}

function configure(text: string): void {
  const file = sandbox.path('.config/reeve/config.toml');
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

const CLAUDE = { input: 10, output: 5, cacheRead: 1000, cacheWrite: 100, reasoning: 2, total: 1115, late: 0 };
const CODEX = { input: 700, output: 77, cacheRead: 300, cacheWrite: 0, reasoning: 7, total: 1077, late: 0 };

describe('usage', () => {
  it('of two harnesses is read from their transcripts, priced where there is a price, and told', async () => {
    configure(
      '[prices]\nmodels = [{ model = "claude-*", from = "2026-01-01", input = 100000, output = 0 }]\n',
    );
    const web = await claude(randomUUID());
    appendFileSync(web.transcript, answer('m1'));
    const api = await codex(randomUUID());
    const told = { input: 1000, cached: 300, output: 77, reasoning: 7 };
    appendFileSync(api.transcript, codexContext('gpt-5.5') + codexTotal(Date.now(), told, told));
    const ofWeb = { ...CLAUDE, cost: 1, unpricedTokens: 1100 };
    const ofApi = { ...CODEX, cost: null, unpricedTokens: 1077 };
    const rows = (one: string, other: string, session: (name: string) => string | null) => [
      { name: one, session: session('web'), ...ofWeb },
      { name: other, session: session('api'), ...ofApi },
    ];
    const all = {
      input: 710,
      output: 82,
      cacheRead: 1300,
      cacheWrite: 100,
      reasoning: 9,
      total: 2192,
      late: 0,
      cost: 1,
      unpricedTokens: 2177,
    };
    const whole = {
      session: null,
      since: null,
      currency: 'USD',
      all,
      children: null,
      tree: null,
      problems: [],
    };
    const by = (...flags: readonly string[]) => sandbox.json<UsageView>(['usage', ...flags]);
    expect(await by()).toEqual({ ...whole, by: 'session', rows: rows('web', 'api', (name) => name) });
    expect((await by('--by', 'run')).rows).toEqual(rows(web.run.id, api.run.id, (name) => name));
    expect((await by('--by', 'harness')).rows).toEqual(rows('claude', 'codex', () => null));
    expect((await by('--by', 'model')).rows).toEqual(rows('claude-opus-5-5', 'gpt-5.5', () => null));
    expect((await by('--by', 'day', '--since', '24h')).all).toEqual(all);
    expect((await by('--since', '2999-01-01')).rows).toEqual([]);
    expect((await by('web')).rows).toEqual([{ name: web.run.id, session: 'web', ...ofWeb }]);

    const { stdout, stderr, code } = await sandbox.reeve(['usage']);
    expect([stderr, code, stdout.split('\n').map((line) => line.split(/ {2,}/).slice(0, 2))]).toEqual([
      '',
      0,
      [
        ['SESSION', 'TOTAL'],
        ['web', '1.1k'],
        ['api', '1.1k'],
        ['all', '2.2k'],
        [''],
        [expect.any(String)],
        [''],
      ],
    ]);
    expect(stdout).not.toContain('\u001B');
    const coloured = await sandbox.reeve(['usage', '--all'], { env: { FORCE_COLOR: '1' } });
    expect(coloured.stdout.replaceAll(/\p{Cc}\[\d+m/gu, '')).toBe(stdout);
    expect(coloured.stdout).not.toBe(stdout);
  });

  it('of a conversation that was only reported so far is read too', async () => {
    const [nativeId, other] = [randomUUID(), randomUUID()];
    const start = async (name: string, id: string) => {
      const { run } = await sandbox.json<SessionView>(['run', '--detach', '-s', name, '--', 'codex']);
      await standIns.tell(run.pid, `hook SessionStart {"session_id":"${id}"}`);
      const rollout = `rollout-2026-11-15T20-00-00-${id}.jsonl`;
      const transcript = join(sandbox.root, '.codex', 'sessions', '2026', '11', '15', rollout);
      mkdirSync(dirname(transcript), { recursive: true });
      const told = { input: 1000, cached: 300, output: 77, reasoning: 7 };
      appendFileSync(transcript, codexContext('gpt-5.5') + codexTotal(Date.now(), told, told));
    };
    await start('api', nativeId);
    expect((await sandbox.json<UsageView>(['usage', 'api'])).all.total).toBe(1077);
    await start('other', other);
    expect((await sandbox.json<UsageView>(['usage'])).all.total).toBe(2154);
  });

  it('after a run was superseded is a figure of its own, in show and why too', async () => {
    configure(
      '[prices]\nmodels = [{ model = "*", from = "2026-01-01", input = 100000, output = 0, cache_read = 0, cache_write = 0 }]\n',
    );
    const nativeId = randomUUID();
    const first = await claude(nativeId);
    appendFileSync(first.transcript, answer('m1'));
    const second = await claude(nativeId, '--on-live', 'retire', '--grace', '0');
    const { runs } = await sandbox.show('web');
    const endedAtMs = Date.parse(runs[0]?.endedAt ?? '');
    appendFileSync(first.transcript, answer('m2', endedAtMs + 1) + answer('m3'));
    const { rows, all } = await sandbox.json<UsageView>(['usage', 'web']);
    expect(rows.map(({ name, total, late }) => [name, total, late])).toEqual([
      [first.run.id, 2230, 1115],
      [second.run.id, 1115, 0],
    ]);
    const spent = { ...all, currency: 'USD' };
    expect(all).toMatchObject({ total: 3345, late: 1115, cost: 3, unpricedTokens: 0 });
    expect((await sandbox.json<{ spent: SessionSpentView }>(['show', 'web'])).spent).toEqual(spent);
    const shown = (await sandbox.reeve(['show', 'web'])).stdout;
    expect(shown).toMatch(
      /^spent +3\.3k tokens \(input 30, output 15, .*\), \$3\.00\n +of that 1\.1k after/m,
    );
    const { sentences } = await sandbox.json<{ sentences: { run: string; text: string }[] }>(['why', 'web']);
    expect(sentences.filter(({ text }) => text.includes(' tokens ')).map(({ run }) => run)).toEqual([
      first.run.id,
    ]);
    expect(sentences.find(({ text }) => text.includes(' tokens '))?.text).toContain('$2.00');
  });

  it('of what a run started is told beside it, and as a tree', async () => {
    const script = [
      `reeve run --detach --json -s review -- claude --session-id ${randomUUID()} > started.new`,
      'mv started.new started; exec sleep 60',
    ].join('\n');
    writeFileSync(sandbox.path('bin/reeve'), `#!/bin/sh\nexec ${process.execPath} ${CLI} "$@"\n`, {
      mode: 0o755,
    });
    await sandbox.json(['run', '--detach', '-s', 'lead', '--', 'sh', '-c', script]);
    await eventually('the child is started', () => existsSync(sandbox.path('started')));
    const child = await sandbox.show('review');
    await standIns.ready(child.run.pid);
    const project = sandbox.root.replaceAll(/[^A-Za-z0-9]/g, '-');
    const transcript = join(sandbox.root, '.claude', 'projects', project, `${child.argv.at(-1)}.jsonl`);
    mkdirSync(dirname(transcript), { recursive: true });
    appendFileSync(transcript, answer('m1'));
    const ofChild = { ...CLAUDE, cost: null, unpricedTokens: 1115 };
    const view = await sandbox.json<UsageView>(['usage', 'lead', '--tree']);
    const lead = await sandbox.show('lead');
    expect([view.rows, view.children]).toEqual([[], ofChild]);
    expect(
      view.tree?.map(({ depth, session, run, own, inclusive }) => [
        depth,
        session,
        run,
        own.total,
        inclusive.total,
      ]),
    ).toEqual([
      [0, 'lead', null, 0, 1115],
      [1, 'lead', lead.run.id, 0, 1115],
      [2, 'review', child.run.id, 1115, 1115],
    ]);
    expect((await sandbox.reeve(['usage', 'lead', '--tree'])).stdout).toContain(`  └ review ${child.run.id}`);
    expect((await sandbox.reeve(['usage', 'lead'])).stdout.trimEnd()).toMatch(
      /1\.1k tokens.*reeve usage lead --tree$/,
    );
    await sandbox.json(['kill', 'review']);
  });

  it('says what could not be read beside what could', async () => {
    const web = await claude(randomUUID());
    appendFileSync(web.transcript, answer('m1'));
    await sandbox.json(['usage', 'web']);
    rmSync(web.transcript);
    mkdirSync(web.transcript);
    for (const args of [['usage'], ['usage', 'web']]) {
      const { stdout, stderr, code } = await sandbox.reeve(args);
      expect([code, stdout.includes('1.1k'), stderr.includes(web.transcript)]).toEqual([0, true, true]);
      const { problems, all } = await sandbox.json<UsageView>(args);
      expect([problems.length, all.total]).toEqual([1, 1115]);
    }
    expect((await sandbox.reeve(['show', 'web'])).code).toBe(0);
  });

  it('of nothing is a sentence, and an empty table for programs', async () => {
    expect((await sandbox.reeve(['usage'])).stdout.split('\n')).toHaveLength(2);
    expect((await sandbox.json<UsageView>(['usage'])).rows).toEqual([]);
    await sandbox.reeve(['run', '-s', 'make', '--', 'true']);
    expect((await sandbox.json<{ spent: null }>(['show', 'make'])).spent).toBeNull();
  });

  it.each([
    [['usage', '--since', 'yesterday'], 'usage', 2],
    [['usage', '--by', 'colour'], 'usage', 2],
    [['usage', '--tree'], 'usage', 2],
    [['usage', 'web', '--tree', '--by', 'day'], 'usage', 2],
    [['usage', 'nobody'], 'not_found', 3],
    [['usage', 'one', 'two'], 'usage', 2],
  ] as const)('%j is refused in one sentence', async (args, code, exit) => {
    const { error } = await sandbox.json<{ error: { code: string; message: string } }>(args, exit);
    expect(error.code).toBe(code);
    expect(error.message).toMatch(/^[^\n]+$/);
    const { stdout, stderr } = await sandbox.reeve(args);
    expect([stdout, stderr.includes(error.message)]).toEqual(['', true]);
  });

  it('is refused with a configuration that cannot be used, but show and why are not', async () => {
    await sandbox.reeve(['run', '-s', 'make', '--', 'true']);
    configure('[prices]\nmodels = "cheap"\n');
    const { error } = await sandbox.json<{ error: { code: string; message: string } }>(['usage'], 2);
    expect([error.code, error.message.includes('prices.models')]).toEqual(['bad_config', true]);
    await sandbox.json(['show', 'make']);
    await sandbox.json(['why', 'make']);
  });
});
