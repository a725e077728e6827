/** The contract of all adapters: how a harness is made to report, and what it then says. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { parse } from 'smol-toml';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Adapter } from '../../src/harness/adapter.ts';
import { claude } from '../../src/harness/claude.ts';
import { codex, everyCode } from '../../src/harness/codex.ts';
import { gemini } from '../../src/harness/gemini.ts';
import { hookCommand } from '../../src/harness/hook-command.ts';
import { HOOK_EVENTS } from '../../src/harness/hook-events.ts';
import { findProgram } from '../../src/harness/native-program.ts';
import { opencode } from '../../src/harness/opencode.ts';
import { promptDigest } from '../../src/harness/prompt.ts';

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'reeve-reports-'));
});

afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

const REPORTING = [claude, codex, gemini, opencode, everyCode];

describe.each(REPORTING.map((adapter) => [adapter.name, adapter] as const))(
  'a payload of %s',
  (_, adapter) => {
    const id = '55555555-5555-4555-8555-555555555555';
    const read = (event: string, more: object = {}) =>
      adapter.readReport({
        session_id: id,
        transcript_path: '/t',
        cwd: '/w',
        hook_event_name: event,
        ...more,
      });
    const said = (fact: object) => ({ fact, nativeId: id });
    const digest = (asked: unknown) => promptDigest(JSON.stringify(asked));

    it.each([
      ['SessionStart', { source: 'resume' }, { kind: 'session.began' }],
      [
        'UserPromptSubmit',
        { prompt: 'fix it' },
        { kind: 'turn.started', promptDigest: promptDigest('fix it') },
      ],
      ['BeforeAgent', { prompt: 'fix it' }, { kind: 'turn.started', promptDigest: promptDigest('fix it') }],
      ['UserPromptSubmit', { prompt: 3 }, { kind: 'turn.started', promptDigest: null }],
      [
        'PermissionRequest',
        { tool_name: 'Bash' },
        {
          kind: 'input.needed',
          waitingFor: 'permission to use Bash',
          questionDigest: digest(['Bash', null]),
        },
      ],
      [
        'PermissionRequest',
        { tool_name: 'Bash', tool_input: { command: 'ls' } },
        {
          kind: 'input.needed',
          waitingFor: 'permission to use Bash',
          questionDigest: digest(['Bash', { command: 'ls' }]),
        },
      ],
      [
        'PermissionRequest',
        {},
        {
          kind: 'input.needed',
          waitingFor: 'permission to use a tool',
          questionDigest: digest([null, null]),
        },
      ],
      [
        'Notification',
        { notification_type: 'permission_prompt', message: 'Claude asks' },
        { kind: 'input.needed', waitingFor: 'Claude asks' },
      ],
      [
        'Notification',
        { notification_type: 'ToolPermission', message: 'Gemini asks' },
        { kind: 'input.needed', waitingFor: 'Gemini asks', questionDigest: digest(['Gemini asks', null]) },
      ],
      ['PostToolUse', { tool_name: 'Bash', tool_response: {} }, { kind: 'work.continued' }],
      ['AfterTool', {}, { kind: 'work.continued' }],
      ['Stop', { stop_hook_active: true }, { kind: 'turn.ended' }],
      ['AfterAgent', {}, { kind: 'turn.ended' }],
      ['SessionEnd', { reason: 'prompt_input_exit' }, { kind: 'session.ended', reason: 'prompt_input_exit' }],
      ['SessionEnd', {}, { kind: 'session.ended', reason: 'no reason given' }],
    ])('is understood: %s %j', (event, more, fact) => {
      expect(read(event, more)).toEqual(said(fact));
    });

    it.each([
      ['PreToolUse', {}],
      ['BeforeTool', {}],
      ['PreCompress', {}],
      ['Notification', { notification_type: 'idle_prompt' }],
      ['Notification', {}],
      ['constructor', {}],
      ['__proto__', {}],
      ['toString', {}],
      ['', {}],
    ])('that says nothing of interest is nothing: %s %j', (event, more) => {
      expect(read(event, more)).toBeNull();
    });

    it('without an id is about nobody', () => {
      const nobody = { fact: { kind: 'turn.ended' }, nativeId: null };
      for (const session_id of [undefined, '', 3, null, {}])
        expect(read('Stop', { session_id })).toEqual(nobody);
    });

    it('may be anything', () => {
      const names = fc.constantFrom(
        'hook_event_name',
        'session_id',
        'prompt',
        'reason',
        'parent_id',
        'tool_name',
      );
      const payload = fc.dictionary(
        fc.oneof(names, fc.string()),
        fc.oneof(fc.jsonValue(), fc.constantFrom('Stop')),
      );
      fc.assert(
        fc.property(payload, (value) => {
          const reported = adapter.readReport(value);
          expect(reported === null || typeof reported.fact.kind === 'string').toBe(true);
        }),
      );
    });
  },
);

it('a report of a subagent of opencode is not of the run', () => {
  expect(opencode.readReport({ session_id: 'a', parent_id: 'b', hook_event_name: 'Stop' })).toBeNull();
});

const HOOK = '/opt/reeve/hook.sh';
const RUN = '/state/runs/r1';

function report(
  adapter: Adapter,
  args: readonly string[],
  environment: Record<string, string> = {},
  run = RUN,
) {
  const place = { environment, cwd: root };
  return adapter.reporting({ argv: [adapter.name, ...args], hookProgram: HOOK, runDirectory: run, place });
}

describe('Claude is told to report', () => {
  const hook = { hooks: [{ type: 'command', command: hookCommand(HOOK, RUN), timeout: expect.any(Number) }] };
  const ours = Object.fromEntries(HOOK_EVENTS.claude.map((event) => [event, [hook]]));
  const settingsIn = (argv: readonly string[] = []): unknown =>
    JSON.parse(argv[argv.indexOf('--settings') + 1] ?? '');

  it('by settings for the one launch', () => {
    const reporting = report(claude, ['-p', 'x']);
    expect(reporting).toEqual({
      argv: ['claude', '--settings', expect.any(String), '-p', 'x'],
      environment: {},
      files: {},
      hasHooks: true,
    });
    expect(settingsIn(reporting?.argv)).toEqual({ hooks: ours });
  });

  it.each([
    [
      'as text',
      () => JSON.stringify({ model: 'opus', hooks: { Stop: [{ hooks: ['theirs'] }], Other: [1] } }),
    ],
    ['in a file', () => join(root, 'their settings.json')],
    ['in a file, relative to where it runs', () => './their settings.json'],
  ])('with the settings that the caller gives %s', (_, given) => {
    const theirs = { model: 'opus', hooks: { Stop: [{ hooks: ['theirs'] }], Other: [1] } };
    writeFileSync(join(root, 'their settings.json'), JSON.stringify(theirs));
    const expected = { model: 'opus', hooks: { ...ours, Other: [1], Stop: [{ hooks: ['theirs'] }, hook] } };
    for (const words of [['--settings', given()], [`--settings=${given()}`]]) {
      const reporting = report(claude, ['--allowedTools', 'Bash', ...words, 'fix it']);
      // In its place, for else the list of tools would take the prompt.
      expect(reporting?.argv).toEqual([
        'claude',
        '--allowedTools',
        'Bash',
        '--settings',
        expect.any(String),
        'fix it',
      ]);
      expect(settingsIn(reporting?.argv)).toEqual(expected);
    }
  });

  it.each(['/nonexistent.json', '{"a":', '[]', '', '.', '/dev/zero'])(
    'or not at all with settings %j',
    (given) => {
      expect(report(claude, ['--settings', given])).toBeNull();
    },
  );

  it('but promises nothing where Claude runs no hooks', () => {
    for (const option of ['--bare', '--safe-mode'])
      expect(report(claude, [option])).toEqual({
        argv: ['claude', option],
        environment: {},
        files: {},
        hasHooks: false,
      });
  });
});

describe('Codex is told to report', () => {
  const overridesIn = (argv: readonly string[] = []) =>
    argv.flatMap((word, at) => (argv[at - 1] === '-c' ? [word] : []));

  it('by overrides that it understands and trusts, and those of the caller behind them', () => {
    const reporting = report(codex, ['-c', 'model="o3"', 'exec', 'x'], {}, `/s/"q" $x \\ \u007f'\n/r1`);
    expect(reporting).toMatchObject({ environment: {}, files: {}, hasHooks: true });
    expect(reporting?.argv.slice(-4)).toEqual(['-c', 'model="o3"', 'exec', 'x']);
    const overrides = overridesIn(reporting?.argv);
    const parsed = overrides.map((override) => parse(override));
    const command = hookCommand(HOOK, `/s/"q" $x \\ \u007f'\n/r1`);
    for (const event of HOOK_EVENTS.codex) {
      expect(parsed).toContainEqual({
        hooks: { [event]: [{ hooks: [expect.objectContaining({ command })] }] },
      });
    }
    const states = parsed
      .map((each) => each['hooks'])
      .find((each) => typeof each === 'object' && 'state' in each);
    expect(Object.keys((states as { state: object }).state)).toHaveLength(HOOK_EVENTS.codex.length); // Found by it.
  });

  it.each([
    [['-c', 'hooks.Stop=[]']],
    [['--config=hooks={}']],
    [['-cfeatures.hooks=false']],
    [['--disable', 'hooks']],
  ])('but not against what the caller says about hooks: %j', (args) => {
    expect(report(codex, args)).toEqual({
      argv: ['codex', ...args],
      environment: {},
      files: {},
      hasHooks: false,
    });
  });

  it('and Every Code cannot', () => {
    expect(report(everyCode, [])).toBeNull();
  });
});

describe('Gemini is told to report', () => {
  it('only from a directory that nobody but root can write to', { tags: ['no-gemini-settings'] }, () => {
    const reporting = report(gemini, ['x'], {}, '/usr');
    const path = '/usr/reeve-gemini-settings.json';
    expect(reporting).toEqual({
      argv: ['gemini', 'x'],
      environment: { GEMINI_CLI_NO_RELAUNCH: 'true', GEMINI_CLI_SYSTEM_SETTINGS_PATH: path },
      files: { 'reeve-gemini-settings.json': expect.any(String) },
      hasHooks: true,
    });
    const { hooks } = JSON.parse(reporting?.files['reeve-gemini-settings.json'] ?? '') as { hooks: object }; // Ours.
    expect(Object.keys(hooks)).toEqual([...HOOK_EVENTS.gemini]);
    const none = {
      argv: ['gemini', 'x'],
      environment: { GEMINI_CLI_NO_RELAUNCH: 'true' },
      files: {},
      hasHooks: false,
    };
    for (const run of ['/tmp', '/nonexistent/r1']) expect(report(gemini, ['x'], {}, run)).toEqual(none);
    expect(report(gemini, ['x'], { GEMINI_CLI_SYSTEM_SETTINGS_PATH: '/etc/theirs.json' }, '/usr')).toEqual(
      none,
    );
  });
});

describe('opencode is told to report', () => {
  const configOf = (reporting: ReturnType<typeof report>): unknown =>
    JSON.parse(reporting?.environment['OPENCODE_CONFIG_CONTENT'] ?? '');

  it('by a plugin beside those of the caller', () => {
    const reporting = report(opencode, ['run', 'x']);
    expect(reporting).toEqual({
      argv: ['opencode', 'run', 'x'],
      environment: { OPENCODE_CONFIG_CONTENT: expect.any(String), REEVE_REPORT_TO: RUN },
      files: {},
      hasHooks: true,
    });
    expect(configOf(reporting)).toEqual({ plugin: ['file:///opt/reeve/opencode-plugin.mjs'] });
    const theirs = { model: 'm', plugin: ['theirs', ['with', {}], 'file:///old/opencode-plugin.mjs'] };
    expect(configOf(report(opencode, [], { OPENCODE_CONFIG_CONTENT: JSON.stringify(theirs) }))).toEqual({
      model: 'm',
      plugin: ['theirs', ['with', {}], 'file:///opt/reeve/opencode-plugin.mjs'],
    });
  });

  it('wherever Reeve is', () => {
    const order = {
      argv: ['opencode'],
      hookProgram: '/o p/#1/hook.sh',
      runDirectory: RUN,
      place: { environment: {}, cwd: '/' },
    };
    expect(configOf(opencode.reporting(order))).toEqual({
      plugin: ['file:///o%20p/%231/opencode-plugin.mjs'],
    });
  });

  it('but not against a configuration that cannot be read, or without plugins', () => {
    for (const text of ['{', '[]', '3'])
      expect(report(opencode, [], { OPENCODE_CONFIG_CONTENT: text })).toBeNull();
    expect(report(opencode, ['--pure'])?.hasHooks).toBe(false);
  });
});

describe('the command of a hook', () => {
  it.each([
    'plain',
    'with space',
    `it's "quoted"`,
    '$HOME `id` $(id)',
    'a\nb',
    'a;b&c|d',
    '-n',
    '*?[x]',
    '~',
    '\\',
    'é ✳',
  ])('reaches a directory named %j through a shell', (name) => {
    const directory = join(root, name);
    mkdirSync(directory);
    const program = join(directory, 'hook.sh');
    writeFileSync(program, `to=$REEVE_REPORT_TO; printf '%s' "$to" >"$to/got"; cat >"$to/payload"; exit 3`);
    const text = hookCommand(program, directory);
    execFileSync('sh', ['-c', text], { input: '{"a":1}' });
    expect(readFileSync(join(directory, 'got'), 'utf8')).toBe(directory);
    expect(readFileSync(join(directory, 'payload'), 'utf8')).toBe('{"a":1}');
  });

  it('succeeds, says nothing and takes the payload of a program with a mistake in it', () => {
    const program = join(root, 'broken.sh');
    writeFileSync(program, 'if [ -n "$x"; then fi done (');
    const text = hookCommand(program, root);
    for (const shell of ['sh', 'bash']) {
      expect(
        execFileSync(shell, ['-c', text], { input: 'x'.repeat(1_000_000), stdio: 'pipe' }).toString(),
      ).toBe('');
    }
  });

  it('succeeds and says nothing without the program', () => {
    const text = hookCommand(join(root, 'gone.sh'), null);
    expect(execFileSync('sh', ['-c', text], { input: '', stdio: 'pipe' }).toString()).toBe('');
  });
});

describe('the native program', () => {
  const platform = `${process.platform}-${process.arch}`;
  const triple = `${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-${process.platform === 'darwin' ? 'apple-darwin' : 'unknown-linux-musl'}`;
  const PACKAGES = [
    ['claude', claude, '@anthropic-ai/claude-code', `@anthropic-ai/claude-code-${platform}/claude`],
    ['codex', codex, '@openai/codex', `@openai/codex-${platform}/vendor/${triple}/bin/codex`],
    ['opencode', opencode, 'opencode-ai', `opencode-${platform}/bin/opencode`],
  ] as const;
  const install = (path: string, text: string) => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    chmodSync(path, 0o755);
    return path;
  };
  const modules = (...parts: readonly string[]) => join(root, 'node_modules', ...parts);
  const ELF = '\u007fELF';

  describe.each(PACKAGES)('of %s', (name, adapter, packageName, native) => {
    const wrapper = () => install(modules(packageName, 'bin', 'wrapper.js'), '#!/usr/bin/env node\n');

    it.each([
      ['beside the wrapper', () => modules(native)],
      ['inside the package', () => modules(packageName, 'node_modules', native)],
      ['further up', () => join(root, '..', 'node_modules', native)],
    ])('is found %s, also through a link', (_, where) => {
      root = join(root, 'app');
      try {
        const path = install(where(), ELF);
        const link = modules('.bin', name);
        mkdirSync(dirname(link), { recursive: true });
        symlinkSync(wrapper(), link);
        expect([adapter.nativeProgram(wrapper()), adapter.nativeProgram(link)]).toEqual([path, path]);
      } finally {
        root = dirname(root);
      }
    });

    it('is the wrapper itself where there is no other, or none for this machine', () => {
      const path = wrapper();
      install(modules(native.replace(platform, 'plan9-mips')), ELF);
      mkdirSync(modules(native), { recursive: true });
      expect(adapter.nativeProgram(path)).toBe(path);
    });

    it('is left alone where it is one, or of nobody that is known', () => {
      install(modules(native), ELF);
      const own = install(modules(packageName, 'bin', 'own'), ELF);
      const other = install(join(root, 'bin', name), '#!/bin/sh\n');
      expect([own, other, '/nonexistent'].map((path) => adapter.nativeProgram(path))).toEqual([
        own,
        other,
        '/nonexistent',
      ]);
    });
  });

  it('of a name is the first on the path that can be executed', () => {
    mkdirSync(join(root, 'a', 'claude'), { recursive: true });
    install(join(root, 'b', 'claude'), 'x');
    chmodSync(join(root, 'b', 'claude'), 0o644);
    const path = install(join(root, 'c', 'claude'), 'x');
    const searchPath = [join(root, 'a'), '', join(root, 'b'), './c', '/nonexistent'].join(':');
    expect(findProgram('claude', searchPath, root)).toBe(path);
    expect(findProgram('./c/claude', '', root)).toBe(path);
    expect([
      findProgram('claude', '/nonexistent', root),
      findProgram('./a/claude', '', root),
      findProgram('', searchPath, root),
    ]).toEqual([null, null, null]);
  });
});
