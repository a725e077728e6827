/** Whose hooks, where they are kept, and how Reeve knows its own among them. */
import { join } from 'node:path';
import { HOOK_TIMEOUT_SECONDS } from '../hook-events.ts';
import type { HOOK_EVENTS } from '../hook-events.ts';

export type HookTarget = 'claude' | 'codex' | 'gemini' | 'opencode';

export const HOOK_TARGETS: readonly HookTarget[] = ['claude', 'codex', 'gemini', 'opencode'];

export interface HookPlace {
  /** The user's home. */
  readonly home: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** A harness whose hooks stand in a JSON file, by event. */
export type JsonTarget = keyof typeof HOOK_EVENTS;

/**
 * Stands in front of every command that is written into somebody's settings. It is part of the command and not a
 * comment or a file name, so it survives reformatting and a moved package, and the hook can see by it that it was
 * called for the settings' sake, not for one launch's.
 */
const MARK = 'REEVE_HOOK=1; ';

/** What Gemini calls our hooks, in its lists and where its user switches one off. */
export const HOOK_NAME = 'reeve';

function markedCommand(command: string): string {
  return command.startsWith(MARK) ? command : MARK + command;
}

export function isOurCommand(command: unknown): boolean {
  return typeof command === 'string' && command.startsWith(MARK);
}

export interface Handler {
  readonly type: 'command';
  readonly name?: string;
  readonly command: string;
  readonly timeout: number;
}

export function handlerFor(target: JsonTarget, command: string): Handler {
  const marked = markedCommand(command);
  switch (target) {
    case 'claude':
    case 'codex':
      return { type: 'command', command: marked, timeout: HOOK_TIMEOUT_SECONDS };
    case 'gemini':
      // It counts milliseconds, and shows the name to people in place of the command.
      return { type: 'command', name: HOOK_NAME, command: marked, timeout: HOOK_TIMEOUT_SECONDS * 1000 };
  }
}

export function settingsPath(target: JsonTarget, place: HookPlace): string {
  switch (target) {
    case 'claude':
      return join(given(place, 'CLAUDE_CONFIG_DIR') ?? join(place.home, '.claude'), 'settings.json');
    case 'codex':
      return join(codexHome(place), 'hooks.json');
    case 'gemini':
      return join(given(place, 'GEMINI_CLI_HOME') ?? place.home, '.gemini', 'settings.json');
  }
}

export function codexConfigPath(place: HookPlace): string {
  return join(codexHome(place), 'config.toml');
}

/** opencode reads `plugin/` and `plugins/`; its documentation names the latter. */
export function pluginPath(place: HookPlace): string {
  const configuration = given(place, 'XDG_CONFIG_HOME') ?? join(place.home, '.config');
  return join(configuration, 'opencode', 'plugins', 'reeve-hooks.js');
}

function codexHome(place: HookPlace): string {
  return given(place, 'CODEX_HOME') ?? join(place.home, '.codex');
}

/** Set but empty is as good as unset, to the harnesses too. */
function given({ environment }: HookPlace, name: string): string | undefined {
  return environment[name] || undefined;
}
