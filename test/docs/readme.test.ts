/**
 * Every example of the README, executed: in a shell, in a directory called web, with stand-ins for the harnesses. What is
 * compared is what it claims, not how that is worded.
 */
import { execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SessionBudgets, TriggerView } from '../../src/api/http-views.ts';
import type { ChildView, SessionView } from '../../src/api/session-view.ts';
import type { LaunchResult } from '../../src/supervisor/launch.ts';
import { installStandIns } from '../fixtures/stand-in-harness.ts';
import type { StandIns } from '../fixtures/stand-in-harness.ts';
import { installStandInTui, openPanes } from '../fixtures/stand-in-tui.ts';
import type { Panes, StandInTui } from '../fixtures/stand-in-tui.ts';
import { insideRun } from '../support/credentials.ts';
import { eventually, isAlive, see } from '../support/processes.ts';
import { CLI, createSandbox, finished } from '../support/sandbox.ts';
import type { Finished, Sandbox } from '../support/sandbox.ts';
import { codeIn, readPage } from './page.ts';

const PACKAGE = fileURLToPath(new URL('../..', import.meta.url));
/** Begins as the one of the example does. */
const CONVERSATION = `8e18be4f${randomUUID().slice(8)}`;
/** A stand-in that does nothing and ends, where the example would wait for one. */
const AND_ENDS = { STAND_IN_SCRIPT: 'hook SessionStart;exit 0' };

/** It waits five seconds for a head to come to rest, and starts and ends programs. */
const WATCH_LIMIT_MS = 50_000;

const page = readPage('README.md');
/** Without what is said of them. */
const commands = page.blocks
  .filter(({ language }) => language === 'console')
  .flatMap(({ text }) => [...text.matchAll(/^\$ (.*?)(?:\s+#.*)?$/gm)].map(([, line = '']) => line.trim()));

let sandbox: Sandbox;
let standIns: StandIns;
/** For what is done at a terminal. */
let seated: { sandbox: Sandbox; panes: Panes; tui: StandInTui };
beforeAll(async () => {
  sandbox = createSandbox();
  standIns = installStandIns(sandbox, 'claude', 'codex');
  prepare(sandbox);
  const other = createSandbox();
  seated = { sandbox: other, panes: openPanes(other), tui: installStandInTui(other) };
  prepare(other);
  const project = sandbox.path('web').replaceAll(/[^A-Za-z0-9]/g, '-');
  mkdirSync(sandbox.path(`.claude/projects/${project}`), { recursive: true });
  const known = JSON.stringify({ sessionId: CONVERSATION, cwd: sandbox.path('web') });
  writeFileSync(sandbox.path(`.claude/projects/${project}/${CONVERSATION}.jsonl`), `${known}\n`);
});
afterAll(async () => {
  await sandbox.cleanUp();
  standIns.endOutsiders();
  await seated.panes.cleanUp();
});

/** `reeve` on the PATH, and a repository with a branch. */
function prepare(of: Sandbox): void {
  writeFileSync(of.path('bin/reeve'), `#!/bin/sh\nexec '${process.execPath}' '${CLI}' "$@"\n`, {
    mode: 0o755,
  });
  mkdirSync(of.path('web'));
  git(of, 'init', '--quiet', '--initial-branch=topic');
  git(of, 'commit', '--quiet', '--allow-empty', '--message', 'one');
}

function git(of: Sandbox, ...args: readonly string[]): void {
  const who = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', '-c', 'commit.gpgsign=false'];
  execFileSync('git', ['-C', of.path('web'), ...who, ...args], { env: of.env });
}

const started = (line: string, env: Record<string, string> = {}, of = sandbox) =>
  spawn('sh', ['-c', `exec ${line}`], {
    cwd: of.path('web'),
    env: { ...of.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
/** Runs it as a person types it, but for the shell's waiting for the terminal. */
const typed = (line: string, env: Record<string, string> = {}, of = sandbox): Promise<Finished> =>
  finished(started(line, env, of));
const ok = async (line: string, env: Record<string, string> = {}, of = sandbox): Promise<string> => {
  const answer = await typed(line, env, of);
  expect([line, answer.code, answer.code === 0 ? '' : answer.stderr]).toEqual([line, 0, '']);
  return answer.stdout;
};
const withNativeId = async (id: string) =>
  (await sandbox.json<SessionView[]>(['ls', '--all'])).find(({ nativeId }) => nativeId === id);

let first: SessionView;
let outsider: number;
/** In the order of the README; each may need what those before it did. */
const CLAIMS: Readonly<Record<string, (line: string) => Promise<void>>> = {
  'reeve run --detach --session web -- claude -p "fix the login test"': async (line) => {
    await ok(line);
    first = await sandbox.show('web');
    expect(first).toMatchObject({ argv: ['claude', '-p', 'fix the login test'], epoch: 1 });
    expect(isAlive(see(first.run.pid ?? 0))).toBe(true);
  },
  'reeve run --session web -- claude': async (line) => {
    const refused = await typed(line);
    expect(refused.code).toBe(4);
    expect(refused.stderr).toContain(first.run.id);
    expect((await sandbox.show('web')).run.id).toBe(first.run.id);
  },
  'reeve run --detach --session web --force -- claude -p "start over"': async (line) => {
    const old = see(first.run.pid ?? 0);
    await ok(line);
    expect(isAlive(old)).toBe(false);
    expect((await sandbox.show('web')).runs.map(({ outcome }) => outcome)).toEqual(['superseded', null]);
  },
  'reeve why web': async (line) => {
    const told = await ok(line);
    for (const { id } of (await sandbox.show('web')).runs) expect(told).toContain(id);
  },
  'reeve run --tmux -- claude': async (line) => {
    const { sandbox: of } = seated;
    const child = spawn('script', ['-qec', line, '/dev/null'], {
      cwd: of.path('web'),
      env: { ...of.env, TERM: 'xterm-256color' },
    });
    const done = finished(child);
    let shown = '';
    child.stdout.on('data', (chunk) => (shown += String(chunk)));
    await eventually(
      'it is joined',
      async () => shown.length > 0 && (await of.show('web-claude')).status === 'idle',
    );
    await eventually('tmux has a client', () => seated.panes.tmux('list-clients').stdout !== '');
    child.stdin.write('\u0002d');
    expect((await done).code).toBe(0);
    expect((await of.show('web-claude')).run).toMatchObject({ mode: 'tmux', liveness: 'alive' });
  },
  'reeve send web-claude "now the tests"': async (line) => {
    await ok(line, {}, seated.sandbox);
    expect(seated.tui.prompts()).toEqual(['now the tests']);
  },
  'reeve ls': async (line) => {
    expect(await ok(line, {}, seated.sandbox)).toContain('web-claude');
  },
  'reeve resume 8e18be4f': async (line) => {
    await ok(line, AND_ENDS);
    expect(await withNativeId(CONVERSATION)).toMatchObject({ harness: 'claude', status: 'done' });
  },
  'reeve scan': async (line) => {
    ({ pid: outsider } = await standIns.outsider('claude', ['--resume', randomUUID()]));
    expect(await ok(line)).toContain(String(outsider));
  },
  'reeve adopt 4711': async (line) => {
    await ok(line.replace('4711', String(outsider)));
    const adopted = (await sandbox.list()).find(({ run }) => run.pid === outsider);
    expect(adopted?.run).toMatchObject({ mode: 'adopted', liveness: 'alive' });
  },
  'reeve shim install claude codex': async (line) => {
    await ok(line);
    const id = randomUUID();
    const path = `${sandbox.home}/shims:${sandbox.env['PATH'] ?? ''}`;
    await ok(`claude --resume ${id}`, { PATH: path, ...AND_ENDS });
    expect(await withNativeId(id)).toMatchObject({ harness: 'claude', status: 'done' });
  },
  'reeve child run -d --subject pr-7 --revision abc123 -- claude -p "review pr-7"': async (line) => {
    const { run, env } = await insideRun(sandbox, 'parent');
    await ok(line, { ...env });
    const { children } = await sandbox.json<{ children: ChildView[] }>(['child', 'ls', 'parent']);
    expect(children).toMatchObject([{ parent: run.id, subject: 'pr-7', revision: 'abc123' }]);
  },
  'reeve usage --by day': async (line) => void (await ok(line)),
  'reeve run --max-tokens 2M --max-minutes 90 -- codex': async (line) => {
    await ok(line, AND_ENDS);
    const [found] = await sandbox.json<SessionBudgets[]>(['budget', 'web-codex']);
    expect(found?.budgets.map(({ kind, limit }) => `${limit} ${kind}`).toSorted()).toEqual([
      '2000000 tokens',
      '90 minutes',
    ]);
  },
  'reeve review trigger --worker web --pr 7=$(git rev-parse HEAD) --harness claude': async (line) => {
    const { pullRequests } = JSON.parse(await ok(`${line} --json`)) as TriggerView;
    expect(pullRequests).toMatchObject([{ is: 'created', review: { pr: '7', status: 'running' } }]);
  },
  'reeve review watch --worker web --branch topic=7 --harness claude': async (line) => {
    const { run } = await sandbox.show('review-web');
    const old = see(run.pid ?? 0);
    const child = started(line);
    const done = finished(child);
    git(sandbox, 'commit', '--quiet', '--allow-empty', '--message', 'two');
    const next = await eventually(
      'a fresh reviewer',
      async () => {
        const now = await sandbox.show('review-web');
        return now.run.id !== run.id && now;
      },
      WATCH_LIMIT_MS,
    );
    expect([isAlive(old), next.runs[0]?.outcome]).toEqual([false, 'superseded']);
    child.kill('SIGINT');
    expect((await done).code).toBe(0);
  },
};

describe('an example of the README', () => {
  it('is executed here, each one', () => {
    expect(commands).toEqual(Object.keys(CLAIMS));
  });

  // One after another, for they tell a story.
  it.each(Object.entries(CLAIMS))('%s does what is claimed', async (line, claim) => {
    await claim(line);
  });
});

describe('the library of the README', () => {
  const example = page.blocks.find(({ language }) => language === 'ts')?.text ?? '';

  it('launches, follows the output, and ends by itself', async () => {
    const of = createSandbox();
    try {
      mkdirSync(of.path('node_modules'));
      mkdirSync(of.path('bin'));
      symlinkSync(PACKAGE, of.path('node_modules/reeve'));
      writeFileSync(of.path('bin/claude'), '#!/bin/sh\necho "$REEVE_SESSION is done"\n', { mode: 0o755 });
      writeFileSync(of.path('example.mjs'), example);
      const child = spawn(process.execPath, ['example.mjs'], {
        cwd: of.root,
        env: { ...of.env, PATH: `${of.path('bin')}:${of.env['PATH'] ?? ''}` },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      expect(await finished(child)).toMatchObject({ code: 0, stdout: 'web is done\n', stderr: '' });
      expect((await of.show('web')).run.outcome).toBe('completed');
    } finally {
      await of.cleanUp();
    }
  });

  it('has every outcome of a launch, and no other', () => {
    // The compiler knows when one is missing or too many.
    const known: Readonly<Record<LaunchResult['is'], true>> = {
      started: true,
      refused: true,
      attached: true,
      unproven: true,
      unmanaged: true,
      elsewhere: true,
      never_started: true,
    };
    const [, list = ''] = /Expected outcomes are values \(([^)]*)\)/.exec(page.text) ?? [];
    expect(codeIn(list).toSorted()).toEqual(Object.keys(known).toSorted());
  });
});

it('every npm script that the README names is there', () => {
  const { scripts } = JSON.parse(readFileSync(`${PACKAGE}/package.json`, 'utf8')) as { scripts: object };
  const named = [...page.text.matchAll(/npm (?:run )?(start|test|(?<=run )[\w:]+)/g)].map(
    ([, name = '']) => name,
  );
  expect(named).not.toEqual([]);
  expect(named.filter((name) => !(name in scripts))).toEqual([]);
});
