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
const MARKED = `REEVE_HOOK=1 ${COMMAND}`;
const JSON_FILES = { claude: '.claude/settings.json', gemini: '.gemini/settings.json' } as const;

let home: string;
let place: HookPlace;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'reeve-hooks-'));
  place = { home, environment: {} };
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function put(name: string, text: string | Buffer): string {
  const path = join(home, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
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
    expect(installHooks('claude', place, COMMAND)).toEqual({
      target: 'claude',
      changes: [{ path, is: 'created', backup: null }],
      notes: [],
    });
    const handler = { type: 'command', command: MARKED, timeout: 5 };
    expect(JSON.parse(text('.claude/settings.json'))).toEqual({
      hooks: Object.fromEntries(HOOK_EVENTS.claude.map((event) => [event, [{ hooks: [handler] }]])),
    });
    expect(removeHooks('claude', place).changes).toEqual([{ path, is: 'removed', backup: null }]);
    expect(files()).toEqual([]);
  });

  it('have milliseconds and a name for Gemini', () => {
    installHooks('gemini', place, COMMAND);
    const handler = { type: 'command', name: 'reeve', command: MARKED, timeout: 5000 };
    expect(JSON.parse(text('.gemini/settings.json'))).toEqual({
      hooks: Object.fromEntries(HOOK_EVENTS.gemini.map((event) => [event, [{ hooks: [handler] }]])),
    });
  });

  it.each(HOOK_TARGETS)('are installed once and removed once, whatever is tried again (%s)', (target) => {
    expect(hookStatus(target, place, COMMAND).is).toBe('absent');
    installHooks(target, place, COMMAND);
    const before = files().map(text);
    expect(installHooks(target, place, COMMAND).changes).toEqual([]);
    expect(files().map(text)).toEqual(before);
    expect(hookStatus(target, place, COMMAND)).toMatchObject({ is: 'installed', switchedOffBy: null });
    removeHooks(target, place);
    expect(files()).toEqual([]);
    expect(removeHooks(target, place).changes).toEqual([]);
    expect(hookStatus(target, place, COMMAND).is).toBe('absent');
  });

  it('are looked for where the harness was told to look', () => {
    const environment = {
      CLAUDE_CONFIG_DIR: join(home, 'c'),
      CODEX_HOME: join(home, 'x'),
      GEMINI_CLI_HOME: join(home, 'g'),
      XDG_CONFIG_HOME: join(home, 'o'),
    };
    for (const target of HOOK_TARGETS) installHooks(target, { home, environment }, COMMAND);
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
    installHooks('claude', place, COMMAND);
    const now = text('.claude/settings.json');
    expect(now).toContain('"model": "opus", // for now\n');
    expect(now).toContain('{"type": "command", "command": "say done"}] }, /* the last */\n            {');
    removeHooks('claude', place);
    expect(text('.claude/settings.json')).toBe(THEIRS);
  });

  it('are preceded by one backup, which is never written again', () => {
    const path = put('.claude/settings.json', THEIRS);
    chmodSync(path, 0o600);
    expect(installHooks('claude', place, COMMAND).changes).toEqual([
      { path, is: 'changed', backup: `${path}.reeve-backup` },
    ]);
    removeHooks('claude', place);
    writeFileSync(path, '{"other": true}');
    expect(installHooks('claude', place, COMMAND).changes).toEqual([{ path, is: 'changed', backup: null }]);
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
    installHooks('claude', place, "sh '/old/hook.sh'");
    const stale = `"PreCompact": [{"hooks": [{"type": "command", "command": "REEVE_HOOK=1 old"}]}], "Stop"`;
    put('.claude/settings.json', text('.claude/settings.json').replace('"Stop"', stale));
    expect(hookStatus('claude', place, COMMAND)).toMatchObject({
      is: 'partly',
      missing: [],
      outdated: ['PreCompact', 'Stop', ...HOOK_EVENTS.claude.filter((event) => event !== 'Stop')],
    });
    installHooks('claude', place, COMMAND);
    expect(text('.claude/settings.json')).not.toMatch(/old/u);
    expect(hookStatus('claude', place, COMMAND).is).toBe('installed');
    removeHooks('claude', place);
    expect(text('.claude/settings.json')).toBe(original);
  });

  it('say which events are missing', () => {
    put('.claude/settings.json', '{}');
    installHooks('claude', place, COMMAND);
    const settings = JSON.parse(text('.claude/settings.json')) as { hooks: Record<string, unknown> };
    delete settings.hooks['Stop'];
    put('.claude/settings.json', JSON.stringify(settings));
    expect(hookStatus('claude', place, COMMAND)).toEqual({
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
    installHooks('claude', place, COMMAND);
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
    installHooks('claude', place, COMMAND);
    put('.claude/settings.json', JSON.stringify(JSON.parse(text('.claude/settings.json')), null, 2));
    removeHooks('claude', place);
    expect(JSON.parse(text('.claude/settings.json'))).toEqual({});
    rmSync(home, { recursive: true });
    installHooks('claude', place, COMMAND);
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
    installHooks(target, place, COMMAND);
    expect(hookStatus(target, place, COMMAND)).toMatchObject({ is: 'installed', switchedOffBy: by });
  });

  it('go through a link, which stays one', () => {
    put('dotfiles/claude.json', '{"a": 1}');
    mkdirSync(join(home, '.claude'));
    symlinkSync('../dotfiles/claude.json', join(home, '.claude/settings.json'));
    installHooks('claude', place, COMMAND);
    expect(lstatSync(join(home, '.claude/settings.json')).isSymbolicLink()).toBe(true);
    expect(text('dotfiles/claude.json')).toContain(MARKED);
    removeHooks('claude', place);
    expect(text('dotfiles/claude.json')).toBe('{"a": 1}');
  });

  it('go through a link that leads nowhere yet', () => {
    mkdirSync(join(home, '.claude'));
    symlinkSync('../dotfiles/claude.json', join(home, '.claude/settings.json'));
    installHooks('claude', place, COMMAND);
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
    for (const act of [() => installHooks('claude', place, COMMAND), () => removeHooks('claude', place)]) {
      const error = refusal(act);
      expect(error.code).toBe('bad_settings');
      expect(error.message).toContain(path);
      expect(error.hint).toBeDefined();
    }
    expect(readFileSync(path)).toEqual(before);
    expect(files()).toEqual(['.claude/settings.json']);
    expect(hookStatus('claude', place, COMMAND)).toEqual({
      target: 'claude',
      path,
      is: 'unreadable',
      because: expect.stringContaining(path),
    });
  });

  it('are refused when a directory is in their place, or a file in that of their directory', () => {
    mkdirSync(join(home, '.claude/settings.json'), { recursive: true });
    expect(refusal(() => installHooks('claude', place, COMMAND)).code).toBe('bad_settings');
    put('.gemini', 'not a directory');
    expect(refusal(() => installHooks('gemini', place, COMMAND)).code).toBe('bad_settings');
    expect(files()).toEqual(['.gemini']);
  });

  // Root may write everywhere, except where there is nothing to write to.
  const forbidden = process.getuid?.() === 0 ? '/proc/self' : undefined;
  it.runIf(forbidden === undefined || process.platform === 'linux')(
    'are refused where nobody may write',
    () => {
      const directory = forbidden ?? join(home, 'read-only');
      if (forbidden === undefined) mkdirSync(directory, { mode: 0o555 });
      const environment = { CLAUDE_CONFIG_DIR: directory };
      expect(refusal(() => installHooks('claude', { home, environment }, COMMAND)).code).toBe('bad_settings');
    },
  );
});

describe('the plugin for opencode', () => {
  it('is a module that loads, and replaces one of an earlier version', async () => {
    installHooks('opencode', place, "sh '/old/hook.sh'");
    expect(hookStatus('opencode', place, COMMAND)).toMatchObject({ is: 'partly', outdated: ['plugin'] });
    installHooks('opencode', place, COMMAND);
    const path = '.config/opencode/plugins/reeve-hooks.js';
    expect(text(path)).not.toContain('/old/');
    const source = `data:text/javascript,${encodeURIComponent(text(path))}`;
    const module = (await import(/* @vite-ignore */ source)) as Record<string, unknown>;
    // opencode calls everything that is exported.
    expect(Object.keys(module)).toEqual(['ReeveHooks']);
    expect(files()).toEqual([path]);
  });

  it('tells the hook what happens to which session, and survives a hook that fails', async () => {
    const log = join(home, 'log');
    installHooks('opencode', place, `sh -c '{ cat; echo; } >> "$0"; exit 3' '${log}'`);
    const source = encodeURIComponent(text('.config/opencode/plugins/reeve-hooks.js'));
    const { ReeveHooks } = (await import(/* @vite-ignore */ `data:text/javascript,${source}`)) as {
      ReeveHooks: (input: object) => Promise<{
        event: (input: object) => Promise<void>;
        'chat.message': (input: object) => Promise<void>;
      }>;
    };
    const hooks = await ReeveHooks({ directory: '/work' });
    const session = (type: string, properties: object) => hooks.event({ event: { type, properties } });
    await session('session.created', { sessionID: 'child', info: { id: 'child', parentID: 'parent' } });
    await session('session.updated', { sessionID: 'child', info: { id: 'child' } });
    await session('server.connected', {});
    await hooks['chat.message']({ sessionID: 'parent' });
    await session('session.idle', { sessionID: 'child' });
    const common = { cwd: '/work', opencode_pid: process.pid };
    const told = readFileSync(log, 'utf8').trim().split('\n');
    expect(told.map((line) => JSON.parse(line) as unknown)).toEqual([
      { hook_event_name: 'session.created', session_id: 'child', parent_session_id: 'parent', ...common },
      { hook_event_name: 'chat.message', session_id: 'parent', ...common },
      { hook_event_name: 'session.idle', session_id: 'child', parent_session_id: 'parent', ...common },
    ]);
  });

  it('leaves a file of that name alone which is not its own', () => {
    const path = put('.config/opencode/plugins/reeve-hooks.js', 'export const Mine = async () => ({});\n');
    expect(refusal(() => installHooks('opencode', place, COMMAND)).code).toBe('bad_settings');
    expect(refusal(() => removeHooks('opencode', place)).code).toBe('bad_settings');
    expect(readFileSync(path, 'utf8')).toBe('export const Mine = async () => ({});\n');
  });
});
