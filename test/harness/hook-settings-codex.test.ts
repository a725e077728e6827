import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'smol-toml';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ReeveError } from '../../src/api/errors.ts';
import { trustOf } from '../../src/harness/hook-settings/codex-trust.ts';
import { hookStatus, installHooks, removeHooks } from '../../src/harness/hook-settings/hook-settings.ts';
import type { HookPlace } from '../../src/harness/hook-settings/hook-settings.ts';

const PROGRAMS = { command: "sh '/opt/reeve/hook.sh' || exit 0", plugin: '/opt/reeve/opencode-plugin.mjs' };

/** From `hooks/list` of Codex 0.166.0's app-server, for hooks in /home/dev/.codex/hooks.json whose command is "C". */
const LISTED = [
  {
    event: 'Stop',
    timeout: 5,
    key: 'stop:0:0',
    hash: '5ab3129356ddb8527eae75605791ab8c0ee01d69ac1b02c981be6aac5711115c',
  },
  {
    event: 'Stop',
    timeout: 5,
    matcher: 'x',
    key: 'stop:0:0',
    hash: '5ab3129356ddb8527eae75605791ab8c0ee01d69ac1b02c981be6aac5711115c',
  },
  {
    event: 'SessionStart',
    timeout: 5,
    key: 'session_start:0:0',
    hash: 'b87bbded645442572d6bebfc9412c29ff5ce39d267cdf5b60dd43255ab091911',
  },
  {
    event: 'SessionStart',
    timeout: 5,
    matcher: 'x',
    key: 'session_start:0:0',
    hash: '88c54a7cd9dd85b1dcb45b1df4a9d367668551c2802551e858748ea5a3ed779c',
  },
  {
    event: 'PostToolUse',
    timeout: 5,
    matcher: '*',
    key: 'post_tool_use:0:0',
    hash: '50b5e30b450b3fcd978cc21e27b50b4123464256bed51f44e3eb79c977e4e34f',
  },
  {
    event: 'UserPromptSubmit',
    timeout: 5,
    matcher: 'x',
    key: 'user_prompt_submit:0:0',
    hash: 'fb963d652eded646f21a3c2b40fe08531190a64627c5a23f5bc2d0af1f91e5f2',
  },
  {
    event: 'PermissionRequest',
    timeout: 5,
    key: 'permission_request:0:0',
    hash: 'aa0da0f762d2b94b2dea3ea26971abca6a7d19e61b6d7669b664c4938d64c245',
  },
  {
    event: 'SessionEnd',
    timeout: 3,
    key: 'session_end:0:0',
    hash: '8af1aa132568f7d7b30459daa7137eb6e26911e160e2afe382bed555b87e81f2',
  },
];

let home: string;
let place: HookPlace;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'reeve-codex-'));
  mkdirSync(join(home, '.codex'));
  place = { home, environment: {} };
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const path = (name: string) => join(home, '.codex', name);
const text = (name: string) => readFileSync(path(name), 'utf8');
const put = (name: string, content: string) => writeFileSync(path(name), content);

type State = Record<string, { trusted_hash?: string; enabled?: boolean }>;
const stateIn = (config: string) => (parse(config)['hooks'] as { state?: State } | undefined)?.state ?? {};
const group = (command: string) => ({ hooks: [{ type: 'command', command }] });

describe('the trust of Codex', () => {
  it.each(LISTED)('is the hash that Codex itself takes ($event, matcher $matcher)', (listed) => {
    const { event, timeout, matcher, key, hash } = listed;
    const handler = { type: 'command', command: 'C', timeout };
    const hook = { event, group: 0, index: 0, matcher, handler, isFollowed: false };
    expect(trustOf('/home/dev/.codex/hooks.json', hook)).toEqual({
      key: `/home/dev/.codex/hooks.json:${key}`,
      hash: `sha256:${hash}`,
    });
  });

  it('goes by the position behind the hooks of others', () => {
    put('hooks.json', JSON.stringify({ hooks: { Stop: [group('a'), group('b')] } }));
    installHooks('codex', place, PROGRAMS);
    const names = Object.keys(stateIn(text('config.toml'))).map((key) =>
      key.slice(path('hooks.json:').length),
    );
    expect(names.sort()).toEqual([
      'permission_request:0:0',
      'post_tool_use:0:0',
      'session_end:0:0',
      'session_start:0:0',
      'stop:2:0',
      'user_prompt_submit:0:0',
    ]);
  });

  it('names the directory without links if CODEX_HOME was set, and as it is if not', () => {
    symlinkSync(home, `${home}/again`);
    const linked = join(home, 'again');
    installHooks('codex', { home: linked, environment: {} }, PROGRAMS);
    expect(Object.keys(stateIn(text('config.toml')))[0]).toContain(`${linked}/.codex/hooks.json:`);
    removeHooks('codex', place);
    installHooks('codex', { home, environment: { CODEX_HOME: join(linked, '.codex') } }, PROGRAMS);
    expect(Object.keys(stateIn(text('config.toml')))[0]).toContain(path('hooks.json:'));
  });

  it.each(['', '# mine', 'model = "x"', 'model = "x"\n', 'model = "x"\r\n\r\n', '[a]\nb = 1\n\n\n'])(
    'comes behind all else, and leaves no byte of itself (%j)',
    (config) => {
      put('config.toml', config);
      installHooks('codex', place, PROGRAMS);
      expect(text('config.toml').startsWith(config)).toBe(true);
      expect(hookStatus('codex', place, PROGRAMS).is).toBe('installed');
      expect(installHooks('codex', place, PROGRAMS).changes).toEqual([]);
      removeHooks('codex', place);
      expect(text('config.toml')).toBe(config);
    },
  );

  it('is renewed when the command changes, and missed when it is gone', () => {
    put('config.toml', 'model = "x"\n');
    installHooks('codex', place, { ...PROGRAMS, command: "sh '/old/hook.sh'" });
    const old = stateIn(text('config.toml'));
    installHooks('codex', place, PROGRAMS);
    const now = stateIn(text('config.toml'));
    expect(Object.keys(now)).toEqual(Object.keys(old));
    expect(now).not.toEqual(old);
    put('config.toml', 'model = "x"\n');
    expect(hookStatus('codex', place, PROGRAMS)).toMatchObject({
      is: 'partly',
      missing: [],
      outdated: [],
      untrusted: [
        'SessionStart',
        'UserPromptSubmit',
        'PermissionRequest',
        'PostToolUse',
        'Stop',
        'SessionEnd',
      ],
    });
  });

  it('keeps what Codex wrote between and behind ours', () => {
    put('config.toml', 'model = "x"');
    installHooks('codex', place, PROGRAMS);
    const theirs = `[hooks.state."${path('hooks.json')}:stop:7:0"]\ntrusted_hash = "sha256:1"\n`;
    const config = text('config.toml').replace(/^(?=\[hooks\.state\."[^"]*:stop:0:0"\])/mu, theirs);
    put('config.toml', `${config}\n[projects."/w"]\ntrust_level = "trusted"\n`);
    removeHooks('codex', place);
    expect(text('config.toml')).toBe(`model = "x"\n${theirs}\n[projects."/w"]\ntrust_level = "trusted"\n`);
  });

  it('knows a hook that was switched off in Codex, and leaves it so', () => {
    installHooks('codex', place, PROGRAMS);
    put('config.toml', text('config.toml').replace(/^trusted_hash/mu, 'enabled = false\ntrusted_hash'));
    expect(hookStatus('codex', place, PROGRAMS)).toMatchObject({
      is: 'installed',
      switchedOffBy: '/hooks in Codex (SessionStart)',
    });
    expect(installHooks('codex', place, PROGRAMS).changes).toEqual([]);
    removeHooks('codex', place);
    expect(() => text('config.toml')).toThrow('ENOENT');
  });

  it('that somebody gave by hand is not given twice', () => {
    installHooks('codex', place, PROGRAMS);
    const byHand = text('config.toml').replaceAll(/ *#.*$/gmu, '');
    put('config.toml', byHand);
    expect(installHooks('codex', place, PROGRAMS).changes).toEqual([]);
    removeHooks('codex', place);
    expect(text('config.toml')).toBe(byHand);
  });
});

describe('the hooks of others in Codex', () => {
  it('keep their positions when ours go, for they are trusted by them', () => {
    installHooks('codex', place, PROGRAMS);
    const settings = JSON.parse(text('hooks.json')) as { hooks: Record<string, unknown[]> };
    settings.hooks['Stop']?.push(group('mine'));
    put('hooks.json', JSON.stringify(settings));
    expect(removeHooks('codex', place).notes).toHaveLength(1);
    expect(JSON.parse(text('hooks.json'))).toEqual({ hooks: { Stop: [{ hooks: [] }, group('mine')] } });
  });
});

describe('a Codex configuration that cannot take trust', () => {
  const key = () => `"${path('hooks.json')}:stop:0:0"`;
  it.each([
    ['is no TOML', () => 'model = \n'],
    ['has its states inline', () => 'hooks = { state = {} }\n'],
    ['holds another entry for the position', () => `[hooks.state.${key()}]\ntrusted_hash = "sha256:0"\n`],
  ])('is refused, and both files are left alone, if it %s', (_, config) => {
    put('config.toml', config());
    put('hooks.json', '{}');
    let refused: unknown;
    try {
      installHooks('codex', place, PROGRAMS);
    } catch (error) {
      refused = error;
    }
    expect(refused).toBeInstanceOf(ReeveError);
    expect(refused).toMatchObject({ code: 'bad_settings', message: expect.stringContaining('config.toml') });
    expect([text('config.toml'), text('hooks.json')]).toEqual([config(), '{}']);
  });
});
