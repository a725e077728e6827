/**
 * Codex: hooks.json, and the trust in config.toml that follows from where our hooks stand in it. Our groups come last,
 * so that no hook of somebody else changes its position, by which Codex knows that its user trusts it.
 */
import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { badSettings } from './bad-settings.ts';
import { addTrust, isSwitchedOff, isTrusted, problemInToml, removeTrust, trustOf } from './codex-trust.ts';
import { ourHooks, removeHooksFrom } from './json-hooks.ts';
import type { OurHook } from './json-hooks.ts';
import { installEdit, readHookFile, removalEdit } from './json-settings.ts';
import { hasBackup, readSettings } from './settings-file.ts';
import type { Edit, SettingsFile } from './settings-file.ts';
import { codexConfigPath } from './target.ts';
import type { HookPlace } from './target.ts';

/** Hooks first: without their trust they are merely not run. */
export function codexInstallEdits(place: HookPlace, command: string): readonly Edit[] {
  const hooks = installEdit('codex', readHookFile('codex', place), command);
  const file = readConfig(place);
  const wanted = ourHooks(hooks.text ?? '{}').map((hook) => trustOf(keyPath(place, hooks.file.path), hook));
  const before = file.text ?? '';
  const edit = addTrust(before, wanted);
  if (edit.is === 'refused') {
    throw badSettings(
      `Codex cannot be made to trust Reeve's hooks, because ${file.path} cannot be added to: ${edit.because}.`,
      'Take that out of the file, then try again.',
    );
  }
  const occasion = removeTrust(before) === before ? 'first-change' : 'later-change';
  return [hooks, { file, text: edit.text, occasion }];
}

export function codexRemovalEdits(place: HookPlace): readonly Edit[] {
  const hooks = removalEdit('codex', readHookFile('codex', place));
  const file = readConfig(place);
  const rest = removeTrust(file.text ?? '');
  const isOurs = rest === '' && file.text !== '' && !hasBackup(file);
  return [hooks, { file, text: file.text === null || isOurs ? null : rest, occasion: 'later-change' }];
}

/** What taking our hooks out of this does to those of others. */
export function codexRemovalNotes({ text }: SettingsFile): readonly string[] {
  if (text === null) return [];
  const notes: string[] = [];
  if (removeHooksFrom(text, 'keep-positions') !== removeHooksFrom(text, 'close-gaps')) {
    notes.push(
      'An empty group stays where ours was, for Codex trusts the hooks behind it by their position.',
    );
  }
  if (ourHooks(text).some(({ isFollowed }) => isFollowed)) {
    notes.push('Hooks that stood behind ours in the same group have moved; Codex will ask about them again.');
  }
  return notes;
}

/** The events whose hooks Codex skips for want of trust, and those that its user switched off. */
export function codexTrustStates(
  place: HookPlace,
  { path }: SettingsFile,
  found: readonly OurHook[],
): { readonly untrusted: readonly string[]; readonly off: readonly string[] } {
  const config = readConfig(place).text ?? '';
  const trusts = found.map((hook) => ({ event: hook.event, trust: trustOf(keyPath(place, path), hook) }));
  return {
    untrusted: trusts.filter(({ trust }) => !isTrusted(config, trust)).map(({ event }) => event),
    off: trusts.filter(({ trust }) => isSwitchedOff(config, trust)).map(({ event }) => event),
  };
}

function readConfig(place: HookPlace): SettingsFile {
  const file = readSettings(codexConfigPath(place));
  const problem = file.text === null ? null : problemInToml(file.text);
  if (problem === null) return file;
  throw badSettings(`${file.path} cannot be changed: ${problem}.`, 'Repair it, then try again.');
}

/** As Codex writes it: without links if CODEX_HOME was set, as it is if not; the file's own link never matters. */
function keyPath(place: HookPlace, path: string): string {
  return place.environment['CODEX_HOME'] ? join(withoutLinks(dirname(path)), basename(path)) : path;
}

/** Also of a directory that is yet to be made. */
function withoutLinks(directory: string): string {
  const parent = dirname(directory);
  if (existsSync(directory) || parent === directory) return realpathSync(directory);
  return join(withoutLinks(parent), basename(directory));
}
