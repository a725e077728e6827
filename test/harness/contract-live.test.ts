/** The contract of all adapters: which live process serves which conversation, and what its terminal shows. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { claude } from '../../src/harness/claude.ts';
import { codex, everyCode } from '../../src/harness/codex.ts';
import { command } from '../../src/harness/command.ts';
import { gemini } from '../../src/harness/gemini.ts';
import { opencode } from '../../src/harness/opencode.ts';
import { liveProcess, SUBJECTS } from '../fixtures/harness-subjects.ts';

const ALL = [claude, codex, gemini, opencode, everyCode, command];

let home: string;

beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'reeve-live-')));
});

afterEach(() => {
  rmSync(home, { recursive: true, force: true });
});

describe.each(SUBJECTS.map((subject) => [subject.name, subject] as const))('%s', (name, subject) => {
  const { adapter, ids, live, managing } = subject;
  // Only what it holds open tells Every Code from an editor.
  const openFiles = () => (name === 'code' ? ['/nonexistent/.code/config.toml'] : []);
  const serves = (argv: readonly string[]) => adapter.serves(liveProcess(argv, { openFiles }));

  it('is known by its command line, with the conversation that this names', () => {
    expect(serves(live(ids[0]))).toEqual({ nativeId: ids[0], evidence: 'its command line' });
    expect(serves(live(null))).toEqual({ nativeId: null, evidence: 'its command line' });
  });

  it('is no other harness', () => {
    const process = liveProcess(live(ids[0]), { openFiles });
    expect(ALL.filter((each) => each.serves(process) !== null)).toEqual([adapter]);
  });

  it('serves nothing while it only manages something', () => {
    expect(managing.filter((argv) => serves(argv) !== null)).toEqual([]);
  });
});

describe('processes that only look alike', () => {
  it.each([
    [['vim', 'claude']],
    [['grep', 'codex', '-r', '.']],
    [['tail', '-f', 'gemini']],
    [['bash', '-c', 'claude --resume x']],
    [['bash', '-lc', 'claude']],
    [['sudo', 'opencode']],
    [['node', 'server.js', 'gemini']],
    [['node', '-e', 'setTimeout(() => {}, 1e6)', 'gemini']],
    [['node', '--require', '/opt/gemini', 'server.js']],
    [['node', '/opt/gemini-proxy/index.js']],
    [['node', '/opt/claude-helper.js']],
    [['node']],
    [['/usr/share/code/code', '--type=zygote']],
    [['/usr/share/code/code', '/home/dev/notes']],
    [['/bin/sh', '/usr/bin/code', '.']],
    [['codex-linux-sandbox', '--sandbox-policy-cwd', '/w', '--', 'bash']],
    [['apply_patch', 'x']],
    [['rg', 'pattern']],
    [['claude-desktop']],
    [[]],
  ])('are no harness: %j', (argv) => {
    // Whatever name the kernel has for it, which is that of the file: a harness also starts itself as something else.
    for (const name of ['claude', 'codex', 'gemini', 'opencode', 'code', 'node']) {
      const process = liveProcess(argv, { name });
      expect(ALL.filter((each) => each.serves(process) !== null)).toEqual([]);
    }
  });

  it.each([
    [['node', '/usr/bin/gemini', '-p', 'x'], gemini],
    [['/usr/local/bin/node', '--no-warnings', '/opt/bundle/gemini.js'], gemini],
    [['node', '-r', './hook.cjs', '--max-old-space-size=4096', '/opt/bundle/gemini.js'], gemini],
    [['node', '/usr/lib/node_modules/@anthropic-ai/claude-code/cli.js'], claude],
    [['/opt/claude-code/bin/claude.exe'], claude],
    [['/opt/codex-x86_64-unknown-linux-musl', 'exec', 'x'], codex],
  ])('are told from those that are one: %j', (argv, adapter) => {
    expect(ALL.filter((each) => each.serves(liveProcess(argv)) !== null)).toEqual([adapter]);
  });
});

describe("Claude's list of live processes", () => {
  const environment = () => ({ HOME: home });
  const process = liveProcess(['claude'], { environment });
  const enter = (entry: string | object) => {
    const directory = join(home, '.claude', 'sessions');
    mkdirSync(directory, { recursive: true });
    writeFileSync(
      join(directory, `${process.pid}.json`),
      typeof entry === 'string' ? entry : JSON.stringify(entry),
    );
  };
  const entry = { pid: 4242, sessionId: 'b0b', procStart: '77881', status: 'busy', statusUpdatedAt: 12 };
  const unknown = { nativeId: null, evidence: 'its command line' };
  const evidence = "Claude's own list of live processes";

  it('tells the conversation and the state', () => {
    enter(entry);
    expect(claude.serves(process)).toEqual({ nativeId: 'b0b', evidence });
    expect(claude.ownRecord(process, null)).toEqual({
      is: 'working',
      sinceMs: 12,
      evidence,
      waitingFor: null,
    });
    enter({ ...entry, status: 'waiting', waitingFor: 'permission to use Bash' });
    expect(claude.ownRecord(process, null)).toMatchObject({
      is: 'needs-input',
      waitingFor: 'permission to use Bash',
    });
  });

  it('says nothing of another process that has the same number now', () => {
    enter({ ...entry, procStart: '1' });
    expect([claude.serves(process), claude.ownRecord(process, null)]).toEqual([unknown, null]);
    enter({ ...entry, procStart: 77_881 });
    expect(claude.serves(process)).toEqual(unknown);
  });

  it.each(['', '{', 'null', '[]', '{"procStart":"77881","status":"constructor","statusUpdatedAt":1}'])(
    'may hold %j',
    (text) => {
      enter(text);
      expect([claude.serves(process), claude.ownRecord(process, null)]).toEqual([unknown, null]);
    },
  );
});

describe('what Codex holds open', () => {
  const [id, later, other] = SUBJECTS[1]?.ids ?? expect.unreachable();
  const lock = (thread: string) => join(home, 'real', 'thread-writer-locks', `${thread}.lock`);
  const rollout = (thread: string) =>
    join(home, 'real', 'sessions/2026/11/15', `rollout-2026-11-15T20-12-56-${thread}.jsonl`);
  const serves = (argv: readonly string[], files: readonly string[], codexHome = join(home, 'real')) =>
    codex.serves(
      liveProcess(argv, { environment: () => ({ CODEX_HOME: codexHome }), openFiles: () => files }),
    );
  const evidence = 'the lock or transcript that it holds open';

  it('is the thread that it serves, whatever its command line says', () => {
    expect(serves(['codex'], ['/dev/null', lock(id)])).toEqual({ nativeId: id, evidence });
    expect(serves(['codex', 'resume', '--last'], [rollout(other)])).toEqual({ nativeId: other, evidence });
    expect(serves(['codex', 'app-server'], [lock(id)])).toEqual({ nativeId: id, evidence });
    expect(serves(['codex', 'mcp'], [lock(id)])).toBeNull();
  });

  it('is its own thread before those of its subagents', () => {
    expect(serves(['codex'], [rollout(later), lock(later), rollout(id)])).toEqual({ nativeId: id, evidence });
    expect(serves(['codex', 'resume', other], [rollout(id), rollout(other)])).toEqual({
      nativeId: other,
      evidence,
    });
  });

  it('is known where its home is named by a link, or with a slash behind', () => {
    mkdirSync(join(home, 'real'));
    symlinkSync(join(home, 'real'), join(home, 'link'));
    expect(serves(['codex'], [lock(id)], join(home, 'link'))).toEqual({ nativeId: id, evidence });
    expect(serves(['codex'], [lock(id)], `${home}/real/`)).toEqual({ nativeId: id, evidence });
  });

  it('counts only in its own home', () => {
    expect(serves(['codex'], ['/elsewhere/01a1e0d7-6949-78b0-895b-66eb51ce1c85.lock'])).toEqual({
      nativeId: null,
      evidence: 'its command line',
    });
  });
});

describe('the terminal', () => {
  const rule = '─'.repeat(40);
  const claudeScreen = (footer: string, ...above: readonly string[]) =>
    ['❯ fix it', '', ...above, rule, '❯ ', rule, `  ⏸ manual mode on · ${footer}`, '', ''].join('\n');
  const question = [
    ' This command requires approval',
    ' Do you want to proceed?',
    ' ❯ 1. Yes',
    '   2. No',
    '',
    ' Esc to cancel · Tab to amend',
  ].join('\n');
  const codexScreen = (...above: readonly string[]) =>
    [...above, '', '› Ask Codex to do anything', '', '  GPT-5.5 default · /w', '  ? for shortcuts'].join(
      '\n',
    );
  const codexQuestion =
    '  Would you like to run the following command?\n\n› 1. Yes, proceed (y)\n  2. No (esc)\n\n  Press enter';
  const opencodeScreen = (footer: string, ...above: readonly string[]) =>
    [...above, '  ┃', '  ┃  Build · fake-model Fake', `  ╹${'▀'.repeat(40)}`, footer, ''].join('\n');
  const permission = [
    '  ┃  △ Permission required',
    '  ┃  $ touch zz',
    '  ┃  Allow once   Allow always   Reject',
  ].join('\n');

  it.each([
    [
      'claude at rest',
      claude,
      'some title of the shell',
      claudeScreen('? for shortcuts · ← for agents'),
      'idle',
    ],
    [
      'claude at rest in another mode',
      claude,
      '✳ Claude Code',
      `${rule}\n❯ \n${rule}\n  ⏵⏵ bypass permissions on (shift+tab to cycle)`,
      'idle',
    ],
    [
      'claude at work',
      claude,
      '◐ Claude Code',
      claudeScreen('esc to interrupt', '✽ Ideating… (4s)'),
      'working',
    ],
    ['claude at work, by its title alone', claude, '◑ Claude Code', '', 'working'],
    ['claude asking', claude, '✳ Claude Code', question, 'needs-input'],
    [
      'claude asking about a file',
      claude,
      '✳ Claude Code',
      question.replace('proceed', 'make this edit to a.ts'),
      'needs-input',
    ],
    [
      'claude that wrote a question',
      claude,
      '✳ Claude Code',
      claudeScreen('? for shortcuts', 'Do you want to proceed?'),
      'idle',
    ],
    [
      'claude that wrote about keys',
      claude,
      '✳ Claude Code',
      claudeScreen('? for shortcuts', 'press esc to interrupt'),
      'idle',
    ],
    ['claude with a text half typed', claude, '✳ Claude Code', claudeScreen(''), null],
    ['claude before it shows anything', claude, '', '', null],
    ['codex at rest', codex, 'work', codexScreen(), 'idle'],
    ['codex at rest, by its title alone', codex, 'work', '', 'idle'],
    ['codex before it shows anything', codex, '', '', null],
    ['codex before it set the title', codex, 'host: ~/work', '$ codex\n', null],
    ['codex at work', codex, '⠹ work', codexScreen('• slow slow'), 'working'],
    ['codex asking', codex, '[ ! ] Action Required | work', codexQuestion, 'needs-input'],
    [
      'codex asking, half a second later',
      codex,
      '[ . ] Action Required | work',
      codexQuestion,
      'needs-input',
    ],
    [
      'codex asking before the first prompt',
      codex,
      'work',
      '  Meet GPT-6\n\n› 1. Try new model\n  2. Use existing',
      'needs-input',
    ],
    ['codex in a directory of that name', codex, 'Action Required', codexScreen(), 'idle'],
    ['gemini at rest', gemini, '◇  Ready (work)', '', 'idle'],
    ['gemini at work', gemini, '✦  Working… (work)', '', 'working'],
    ['gemini at work, thinking aloud', gemini, '✦  Raising ✋ (work)', '', 'working'],
    ['gemini asking', gemini, '✋  Action Required (work)', '', 'needs-input'],
    ['gemini that does not set titles', gemini, 'Gemini CLI (work)', '✦ all good', null],
    ['opencode at rest', opencode, 'OpenCode', opencodeScreen('   /w   1.0K (1%)  ctrl+p commands'), 'idle'],
    [
      'opencode at rest, whatever the title',
      opencode,
      '◐ ✋ ⠹',
      opencodeScreen('  tab agents  ctrl+p commands'),
      'idle',
    ],
    [
      'opencode at work',
      opencode,
      'OC | fix it',
      opencodeScreen('   ⬝⬝⬝  esc interrupt     ctrl+p commands'),
      'working',
    ],
    ['opencode asked to stop', opencode, '', opencodeScreen('   ⬝⬝⬝  esc again to interrupt'), 'working'],
    ['opencode asking', opencode, '', permission, 'needs-input'],
    [
      'opencode that wrote about asking',
      opencode,
      '',
      opencodeScreen('  ctrl+p commands', 'Permission required: see'),
      'idle',
    ],
    ['opencode that shows something else', opencode, 'OpenCode', 'an editor', null],
  ])('of %s', (_, adapter, title, screen, is) => {
    const seen = adapter.readPane(title, screen);
    expect(seen?.is ?? null).toBe(is);
    if (seen !== null) expect(seen.waitingFor === null).toBe(is !== 'needs-input');
  });
});
