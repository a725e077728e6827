/** Completion in the shells themselves; those that are not installed are left out by name. */
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { CLI, createSandbox, finished } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
let runId: string;
beforeAll(async () => {
  sandbox = createSandbox();
  mkdirSync(sandbox.path('bin'));
  writeFileSync(
    sandbox.path('bin/reeve'),
    `#!/bin/sh\nprintf '%s\\n' "$*" >> ${sandbox.path('calls')}\nexec '${process.execPath}' '${CLI}' "$@"\n`,
  );
  chmodSync(sandbox.path('bin/reeve'), 0o755);
  sandbox.env['PATH'] = `${sandbox.path('bin')}:${sandbox.env['PATH']}`;
  for (const name of ['alpha', 'beta:one', 'beta:two'])
    await sandbox.reeve(['run', '-s', name, '--', 'true']);
  const [session] = await sandbox.json<SessionView[]>(['ls', '--all']);
  runId = session?.run.id ?? '';
});
afterAll(() => sandbox.cleanUp());

const isHere = (shell: string) => spawnSync(shell, ['--version']).error === undefined;

/** What the shell then runs: the line is typed, with Tab and Enter, into a real terminal. */
async function typed(shell: string, setUp: string, line: string): Promise<string | undefined> {
  writeFileSync(sandbox.path('calls'), '');
  const child = spawn('script', ['-qefc', shell, '/dev/null'], {
    cwd: sandbox.root,
    env: { ...sandbox.env, TERM: 'dumb', SHELL: '/bin/sh' },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const ended = finished(child);
  // The prompt says that it reads keys; what comes before would only be echoed.
  let output = '';
  child.stdout?.on('data', (chunk) => {
    const wasReady = output.includes('READY>');
    output += String(chunk);
    if (!wasReady && output.includes('READY>')) child.stdin?.write(`${line}\t\nexit\n`);
  });
  child.stdin?.write(`${setUp}\nPS1='REA''DY>'\n`);
  await ended;
  return readFileSync(sandbox.path('calls'), 'utf8')
    .split('\n')
    .findLast((call) => call !== '' && !call.startsWith('completion '));
}

/** What is typed before the Tab, and the command that is then run. */
const LINES: readonly [line: string, becomes: string][] = [
  ['reeve pat', 'paths'],
  ['reeve show al', 'show alpha'],
  ['reeve show --js', 'show --json'],
  ['reeve logs beta:o', 'logs beta:one'],
  ['reeve usage --by ha', 'usage --by harness'],
  ['reeve usage --by=ha', 'usage --by=harness'],
  ['reeve review ls --worker al', 'review ls --worker alpha'],
];

describe.skipIf(!isHere('bash'))('bash', () => {
  it.each(LINES)('makes of %s: reeve %s', async (line, becomes) => {
    const set = 'eval "$(reeve completion bash)"';
    expect((await typed('bash --norc --noprofile -i', set, line))?.trim()).toBe(becomes);
  });
});

describe.skipIf(!isHere('zsh'))('zsh', () => {
  it.each(LINES)('makes of %s: reeve %s', async (line, becomes) => {
    const set =
      'unsetopt zle_bracketed_paste 2>/dev/null; autoload -Uz compinit; compinit -u -D; eval "$(reeve completion zsh)"';
    expect((await typed('zsh -f -i', set, line))?.trim()).toBe(becomes);
  });
});

describe.skipIf(!isHere('fish'))('fish', () => {
  it.each(LINES)('offers for %s what makes reeve %s', (line, becomes) => {
    const script = `reeve completion fish | source; complete -C ${JSON.stringify(line)}`;
    const { stdout } = spawnSync('fish', ['--no-config', '-c', script], {
      cwd: sandbox.root,
      env: sandbox.env,
      encoding: 'utf8',
    });
    expect(stdout.trim().split('\t')[0]).toBe(becomes.split(' ').at(-1));
  });
});

describe('the words', () => {
  const words = async (...given: readonly string[]) =>
    (await sandbox.json<{ words: string[] }>(['completion', 'words', '--', ...given])).words;

  it('are names of sessions, and ids for whoever begins to type one', async () => {
    expect((await words('show', '')).toSorted()).toEqual(['alpha', 'beta:one', 'beta:two']);
    expect(await words('show', 'r-')).toContain(runId);
    expect(await words('rm', 'alpha', 'a')).toEqual([]);
  });

  it('are none, without a word, where the store cannot be read', async () => {
    const { code, stdout, stderr } = await sandbox.reeve(['completion', 'words', '--', 'show', ''], {
      env: { REEVE_STORE: 'postgres://127.0.0.1:1/none' },
    });
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '', stderr: '' });
  });
});
