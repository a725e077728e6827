/** The JSON files of Claude, Codex and Gemini: what would have to be written to put hooks in, or to take them out. */
import { isDeepStrictEqual } from 'node:util';
import { HOOK_EVENTS } from '../hook-events.ts';
import { badSettings } from './bad-settings.ts';
import { mergeHooks, ourHooks, problemIn, removeHooksFrom } from './json-hooks.ts';
import type { OnRemoval, OurHook } from './json-hooks.ts';
import { hasBackup, readSettings } from './settings-file.ts';
import type { Edit, SettingsFile } from './settings-file.ts';
import { handlerFor, settingsPath } from './target.ts';
import type { HookPlace, JsonTarget } from './target.ts';

export interface EventStates {
  readonly found: readonly OurHook[];
  readonly missing: readonly string[];
  /** Those with a command or a time limit of another version, and those that this version does not want. */
  readonly outdated: readonly string[];
}

/** Throws when the file is there and hooks cannot be put into it. */
export function readHookFile(target: JsonTarget, place: HookPlace): SettingsFile {
  const file = readSettings(settingsPath(target, place));
  const problem = file.text === null ? null : problemIn(file.text, HOOK_EVENTS[target]);
  if (problem === null) return file;
  throw badSettings(
    `Hooks cannot be kept in ${file.path}: ${problem}.`,
    'Repair it, or move it away, then try again.',
  );
}

export function installEdit(target: JsonTarget, file: SettingsFile, command: string): Edit {
  const { text } = file;
  const hooks = HOOK_EVENTS[target].map((event) => ({ event, handler: handlerFor(target, command) }));
  return {
    file,
    text: mergeHooks(text, hooks, onRemoval(target)),
    occasion: text === null || ourHooks(text).length === 0 ? 'first-change' : 'later-change',
  };
}

export function removalEdit(target: JsonTarget, file: SettingsFile): Edit {
  const { text } = file;
  if (text === null) return { file, text, occasion: 'later-change' };
  const rest = removeHooksFrom(text, onRemoval(target));
  // A file that was there before us stays, even if by now there is nothing else in it.
  const kept = rest === '' ? (hasBackup(file) ? '{}\n' : null) : rest;
  return { file, text: kept, occasion: 'later-change' };
}

export function eventStates(target: JsonTarget, { text }: SettingsFile, command: string): EventStates {
  const events: readonly string[] = HOOK_EVENTS[target];
  const found = text === null ? [] : ourHooks(text);
  const isCurrent = (hook: OurHook) =>
    events.includes(hook.event) && isDeepStrictEqual(hook.handler, handlerFor(target, command));
  return {
    found,
    missing: events.filter((event) => !found.some((hook) => hook.event === event)),
    outdated: [...new Set(found.filter((hook) => !isCurrent(hook)).map(({ event }) => event))],
  };
}

function onRemoval(target: JsonTarget): OnRemoval {
  return target === 'codex' ? 'keep-positions' : 'close-gaps';
}
