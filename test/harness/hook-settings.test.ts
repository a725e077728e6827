import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ReeveError } from '../../src/api/errors.ts';
import { HOOK_EVENTS } from '../../src/harness/hook-events.ts';
import {
  HOOK_TARGETS,
  hookStatus,
  installHooks,
  removeHooks,
} from '../../src/harness/hook-settings/hook-settings.ts';
import type { HookPlace } from '../../src/harness/hook-settings/hook-settings.ts';

const COMMAND = "sh '/opt/reeve/hook.sh' || exit 0";
const PROGRAMS = { command: COMMAND, plugin: '/opt/reeve/opencode-plugin.mjs' };
const MARKED = `REEVE_HOOK=1; ${COMMAND}`;
const JSON_FILES = { claude: '.claude/settings.json', gemini: '.gemini/settings.json' } as const;

let home: string;
let place: HookPlace;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'reeve-hooks-'));
  place = { home, environment: {} };
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function put(name: string, content: string | Buffer): string {
  const path = join(home, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return path;
}

function text(name: string): string {
  return readFileSync(join(home, name), 'utf8');
}

function files(directory = home): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(home.length + 1))
    .sort();
}

function fail(): never {
  throw new Error('There is none.');
}

function refusal(action: () => unknown): ReeveError {
  try {
    action();
  } catch (error) {
    if (error instanceof ReeveError) return error;
    throw error;
  }
  throw new Error('It was not refused.');
}

describe('hooks in settings that were not there', () => {
  it('are one handler for each event of Claude, and gone with the file that came with them', () => {
    const path = join(home, '.claude/settings.json');
    expect(installHooks('claude', place, PROGRAMS)).toEqual({
      target: 'claude',
      changes: [{ path, is: 'created', backup: null }],
      notes: [],
    });
    const handler = { type: 'command', command: MARKED, timeout: 3 };
    expect(JSON.parse(text('.claude/settings.json'))).toEqual({
      hooks: Object.fromEntries(HOOK_EVENTS.claude.map((event) => [event, [{ hooks: [handler] }]])),
    });
    expect(removeHooks('claude', place).changes).toEqual([{ path, is: 'removed', backup: null }]);
    expect(files()).toEqual([]);
  });

  it('have milliseconds and a name for Gemini', () => {
    installHooks('gemini', place, PROGRAMS);
    const handler = { type: 'command', name: 'reeve', command: MARKED, timeout: 3000 };
    expect(JSON.parse(text('.gemini/settings.json'))).toEqual({
      hooks: Object.fromEntries(HOOK_EVENTS.gemini.map((event) => [event, [{ hooks: [handler] }]])),
    });
  });

  it.each(HOOK_TARGETS)('are installed once and removed once, whatever is tried again (%s)', (target) => {
    expect(hookStatus(target, place, PROGRAMS).is).toBe('absent');
    installHooks(target, place, PROGRAMS);
    const before = files().map(text);
    expect(installHooks(target, place, PROGRAMS).changes).toEqual([]);
    expect(files().map(text)).toEqual(before);
    expect(hookStatus(target, place, PROGRAMS)).toMatchObject({ is: 'installed', switchedOffBy: null });
    removeHooks(target, place);
    expect(files()).toEqual([]);
    expect(removeHooks(target, place).changes).toEqual([]);
    expect(hookStatus(target, place, PROGRAMS).is).toBe('absent');
  });

  it('are looked for where the harness was told to look', () => {
    const environment = {
      CLAUDE_CONFIG_DIR: join(home, 'c'),
      CODEX_HOME: join(home, 'x'),
      GEMINI_CLI_HOME: join(home, 'g'),
      XDG_CONFIG_HOME: join(home, 'o'),
    };
    for (const target of HOOK_TARGETS) installHooks(target, { home, environment }, PROGRAMS);
    expect(files()).toEqual([
      'c/settings.json',
      'g/.gemini/settings.json',
      'o/opencode/plugins/reeve-hooks.js',
      'x/config.toml',
      'x/hooks.json',
    ]);
  });
});

describe('hooks in settings of somebody', () => {
  const THEIRS = `{
    // my own
    "model": "opus", // for now
    "hooks": {
        "Stop": [ { "hooks": [{"type": "command", "command": "say done"}] }, /* the last */ ],
    },
}
`;

  it('stand behind theirs, and leave every other byte alone', () => {
    put('.claude/settings.json', THEIRS);
    installHooks('claude', place, PROGRAMS);
    const now = text('.claude/settings.json');
    expect(now).toContain('"model": "opus", // for now\n');
    expect(now).toContain('{"type": "command", "command": "say done"}] }, /* the last */\n            {');
    removeHooks('claude', place);
    expect(text('.claude/settings.json')).toBe(THEIRS);
  });

  it('are preceded by one backup, which is never written again', () => {
    const path = put('.claude/settings.json', THEIRS);
    chmodSync(path, 0o600);
    expect(installHooks('claude', place, PROGRAMS).changes).toEqual([
      { path, is: 'changed', backup: `${path}.reeve-backup` },
    ]);
    removeHooks('claude', place);
    writeFileSync(path, '{"other": true}');
    expect(installHooks('claude', place, PROGRAMS).changes).toEqual([{ path, is: 'changed', backup: null }]);
    expect(text('.claude/settings.json.reeve-backup')).toBe(THEIRS);
    expect(statSync(`${path}.reeve-backup`).mode & 0o777).toBe(0o600);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(files()).toEqual(['.claude/settings.json', '.claude/settings.json.reeve-backup']);
  });

  it('replace what an earlier version put there, also for events that are no longer wanted', () => {
    put(
      '.claude/settings.json',
      '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}}',
    );
    const original = text('.claude/settings.json');
    installHooks('claude', place, { ...PROGRAMS, command: "sh '/old/hook.sh'" });
    const stale = `"PreCompact": [{"hooks": [{"type": "command", "command": "REEVE_HOOK=1; old"}]}], "Stop"`;
    put('.claude/settings.json', text('.claude/settings.json').replace('"Stop"', stale));
    expect(hookStatus('claude', place, PROGRAMS)).toMatchObject({
      is: 'partly',
      missing: [],
      outdated: ['PreCompact', 'Stop', ...HOOK_EVENTS.claude.filter((event) => event !== 'Stop')],
    });
    installHooks('claude', place, PROGRAMS);
    expect(text('.claude/settings.json')).not.toMatch(/old/u);
    expect(hookStatus('claude', place, PROGRAMS).is).toBe('installed');
    removeHooks('claude', place);
    expect(JSON.parse(text('.claude/settings.json'))).toEqual(JSON.parse(original));
  });

  it('say which events are missing', () => {
    put('.claude/settings.json', '{}');
    installHooks('claude', place, PROGRAMS);
    const settings = JSON.parse(text('.claude/settings.json')) as { hooks: Record<string, unknown> };
    delete settings.hooks['Stop'];
    put('.claude/settings.json', JSON.stringify(settings));
    expect(hookStatus('claude', place, PROGRAMS)).toEqual({
      target: 'claude',
      path: join(home, '.claude/settings.json'),
      is: 'partly',
      missing: ['Stop'],
      outdated: [],
      untrusted: [],
      switchedOffBy: null,
    });
  });

  it('leave a handler that somebody put beside ours', () => {
    installHooks('claude', place, PROGRAMS);
    const settings = JSON.parse(text('.claude/settings.json')) as {
      hooks: Record<string, { hooks: unknown[] }[]>;
    };
    settings.hooks['Stop']?.[0]?.hooks.push({ type: 'command', command: 'mine' });
    put('.claude/settings.json', JSON.stringify(settings));
    removeHooks('claude', place);
    expect(JSON.parse(text('.claude/settings.json'))).toEqual({
      hooks: { Stop: [{ hooks: [{ type: 'command', command: 'mine' }] }] },
    });
  });

  it('keep an empty file that was there, and remove one that came with them after its reformatting', () => {
    put('.claude/settings.json', '{}');
    installHooks('claude', place, PROGRAMS);
    put('.claude/settings.json', JSON.stringify(JSON.parse(text('.claude/settings.json')), null, 2));
    removeHooks('claude', place);
    expect(JSON.parse(text('.claude/settings.json'))).toEqual({});
    rmSync(home, { recursive: true });
    installHooks('claude', place, PROGRAMS);
    put('.claude/settings.json', JSON.stringify(JSON.parse(text('.claude/settings.json')), null, '\t'));
    removeHooks('claude', place);
    expect(files()).toEqual([]);
  });

  it.each([
    ['claude', '{"disableAllHooks": true}', 'disableAllHooks'],
    ['gemini', '{"hooksConfig": {"enabled": false}}', 'hooksConfig.enabled'],
    ['gemini', '{"hooksConfig": {"disabled": ["reeve"]}}', 'hooksConfig.disabled'],
  ] as const)('are known to be switched off (%s: %s)', (target, settings, by) => {
    put(JSON_FILES[target], settings);
    installHooks(target, place, PROGRAMS);
    expect(hookStatus(target, place, PROGRAMS)).toMatchObject({ is: 'installed', switchedOffBy: by });
  });

  it('go through a link, which stays one', () => {
    put('dotfiles/claude.json', '{"a": 1}');
    mkdirSync(join(home, '.claude'));
    symlinkSync('../dotfiles/claude.json', join(home, '.claude/settings.json'));
    installHooks('claude', place, PROGRAMS);
    expect(lstatSync(join(home, '.claude/settings.json')).isSymbolicLink()).toBe(true);
    expect(text('dotfiles/claude.json')).toContain(MARKED);
    removeHooks('claude', place);
    expect(text('dotfiles/claude.json')).toBe('{"a": 1}');
  });

  it('go through a link that leads nowhere yet', () => {
    mkdirSync(join(home, '.claude'));
    symlinkSync('../dotfiles/claude.json', join(home, '.claude/settings.json'));
    installHooks('claude', place, PROGRAMS);
    expect(JSON.parse(text('dotfiles/claude.json'))).toHaveProperty('hooks');
    removeHooks('claude', place);
    expect(lstatSync(join(home, '.claude/settings.json')).isSymbolicLink()).toBe(true);
    expect(files()).toEqual(['.claude/settings.json']);
  });
});

describe('settings that cannot take hooks', () => {
  it.each([
    ['broken JSON', '{"hooks": {'],
    ['nothing', ''],
    ['two values', '{} {}'],
    ['a list', '[]'],
    ['hooks as a list', '{"hooks": []}'],
    ['an event as text', '{"hooks": {"Stop": "say done"}}'],
    ['hooks as null', '{"hooks": null}'],
    ['bytes that are no text', Buffer.from([0x7b, 0xff, 0x7d])],
  ])('are refused and left alone: %s', (_, content) => {
    const path = put('.claude/settings.json', content);
    const before = readFileSync(path);
    for (const act of [() => installHooks('claude', place, PROGRAMS), () => removeHooks('claude', place)]) {
      const error = refusal(act);
      expect(error.code).toBe('bad_settings');
      expect(error.message).toContain(path);
      expect(error.hint).toBeDefined();
    }
    expect(readFileSync(path)).toEqual(before);
    expect(files()).toEqual(['.claude/settings.json']);
    expect(hookStatus('claude', place, PROGRAMS)).toEqual({
      target: 'claude',
      path,
      is: 'unreadable',
      because: expect.stringContaining(path),
    });
  });

  it('are refused when a directory is in their place, or a file in that of their directory', () => {
    mkdirSync(join(home, '.claude/settings.json'), { recursive: true });
    expect(refusal(() => installHooks('claude', place, PROGRAMS)).code).toBe('bad_settings');
    put('.gemini', 'not a directory');
    expect(refusal(() => installHooks('gemini', place, PROGRAMS)).code).toBe('bad_settings');
    expect(files()).toEqual(['.gemini']);
  });

  // Root may write everywhere, except where there is nothing to write to.
  const forbidden = process.getuid?.() === 0 ? '/proc/self' : undefined;
  it('are refused where nobody may write', { tags: forbidden === undefined ? [] : ['linux'] }, () => {
    const directory = forbidden ?? join(home, 'read-only');
    if (forbidden === undefined) mkdirSync(directory, { mode: 0o555 });
    const environment = { CLAUDE_CONFIG_DIR: directory };
    expect(refusal(() => installHooks('claude', { home, environment }, PROGRAMS)).code).toBe('bad_settings');
  });
});

describe('the plugin for opencode', () => {
  const PLUGIN = '.config/opencode/plugins/reeve-hooks.js';
  const load = async () => {
    const source = `data:text/javascript,${encodeURIComponent(text(PLUGIN))}`;
    // opencode calls everything that a plugin exports.
    return Object.entries((await import(/* @vite-ignore */ source)) as Record<string, unknown>) as [
      string,
      (input: object) => Promise<unknown>,
    ][];
  };

  it('loads the one of this version, and replaces that of an earlier one', async () => {
    const plugin = put('a b/plugin.mjs', 'export const Reeve = async (input) => ({ got: input });\n');
    installHooks('opencode', place, { ...PROGRAMS, plugin: '/old/plugin.mjs' });
    expect(hookStatus('opencode', place, PROGRAMS)).toMatchObject({ is: 'partly', outdated: ['plugin'] });
    installHooks('opencode', place, { ...PROGRAMS, plugin });
    expect(text(PLUGIN)).not.toContain('/old/');
    const [[, Reeve] = fail(), ...others] = await load();
    expect(others).toEqual([]);
    expect(await Reeve({ directory: '/w' })).toEqual({ got: { directory: '/w' } });
  });

  it('does nothing when Reeve is gone or broken', async () => {
    installHooks('opencode', place, { ...PROGRAMS, plugin: join(home, 'gone.mjs') });
    const [[, gone] = fail()] = await load();
    expect(await gone({})).toEqual({});
    const broken = put('broken.mjs', 'export const Reeve = async () => { throw new Error("broken"); };\n');
    installHooks('opencode', place, { ...PROGRAMS, plugin: broken });
    const [[, failing] = fail()] = await load();
    expect(await failing({})).toEqual({});
  });

  it('leaves a file of that name alone which is not its own', () => {
    const path = put(PLUGIN, 'export const Mine = async () => ({});\n');
    expect(refusal(() => installHooks('opencode', place, PROGRAMS)).code).toBe('bad_settings');
    expect(refusal(() => removeHooks('opencode', place)).code).toBe('bad_settings');
    expect(readFileSync(path, 'utf8')).toBe('export const Mine = async () => ({});\n');
  });
});
