/** Reeve's hooks for all sessions of a person: put into a harness's own settings, taken out of them, looked for. */
import { existsSync } from 'node:fs';
import { ReeveError } from '../../api/errors.ts';
import { badSettings } from './bad-settings.ts';
import { codexInstallEdits, codexRemovalEdits, codexRemovalNotes, codexTrustStates } from './codex-hooks.ts';
import { eventStates, installEdit, readHookFile, removalEdit } from './json-settings.ts';
import { isOurPlugin, pluginText } from './opencode-plugin.ts';
import { backupPath, readSettings, writeSettings } from './settings-file.ts';
import type { Edit, FileChange, SettingsFile } from './settings-file.ts';
import { switchedOffBy } from './switched-off.ts';
import { pluginPath, settingsPath } from './target.ts';
import type { HookPlace, HookTarget } from './target.ts';

export { HOOK_TARGETS } from './target.ts';
export type { HookPlace, HookTarget } from './target.ts';

export interface HookPrograms {
  /**
   * For a shell; gets the hook's payload on stdin. Our mark, an assignment, is put in front of it.
   */
  readonly command: string;
  /** The path of the module that opencode shall load. */
  readonly plugin: string;
}

export interface HookReport {
  readonly target: HookTarget;
  /** Empty when everything was as wanted already. */
  readonly changes: readonly FileChange[];
  /** Sentences for the person whose settings they are. */
  readonly notes: readonly string[];
}

export type HookStatus = { readonly target: HookTarget; readonly path: string } & (
  | { readonly is: 'installed'; readonly switchedOffBy: string | null }
  | {
      readonly is: 'partly';
      /** Events without a hook of ours. */
      readonly missing: readonly string[];
      /** Events whose hook is of another version, or runs another command. */
      readonly outdated: readonly string[];
      /** Events whose hook is there, and skipped by Codex because it does not trust it. */
      readonly untrusted: readonly string[];
      readonly switchedOffBy: string | null;
    }
  | { readonly is: 'absent' }
  | { readonly is: 'unreadable'; readonly because: string }
);

export function installHooks(target: HookTarget, place: HookPlace, programs: HookPrograms): HookReport {
  return report(target, installEdits(target, place, programs), []);
}

export function removeHooks(target: HookTarget, place: HookPlace): HookReport {
  const notes = target === 'codex' ? codexRemovalNotes(readHookFile('codex', place)) : [];
  return report(target, removalEdits(target, place), notes);
}

/** The files that taking our hooks out would change, and those that were kept from before them. */
export function removableHooks(
  target: HookTarget,
  place: HookPlace,
): { readonly files: readonly string[]; readonly backups: readonly string[] } {
  const edits = removalEdits(target, place);
  return {
    files: edits.filter(({ text, file }) => text !== file.text).map(({ file }) => file.path),
    backups: edits.map(({ file }) => backupPath(file.path)).filter((path) => existsSync(path)),
  };
}

export function hookStatus(target: HookTarget, place: HookPlace, programs: HookPrograms): HookStatus {
  const path = target === 'opencode' ? pluginPath(place) : settingsPath(target, place);
  try {
    return { target, path, ...statusOf(target, place, programs) };
  } catch (error) {
    if (!(error instanceof ReeveError)) throw error;
    return { target, path, is: 'unreadable', because: error.message };
  }
}

function installEdits(target: HookTarget, place: HookPlace, programs: HookPrograms): readonly Edit[] {
  switch (target) {
    case 'claude':
    case 'gemini':
      return [installEdit(target, readHookFile(target, place), programs.command)];
    case 'codex':
      return codexInstallEdits(place, programs.command);
    case 'opencode':
      return [{ file: readPlugin(place), text: pluginText(programs.plugin), occasion: 'later-change' }];
  }
}

function removalEdits(target: HookTarget, place: HookPlace): readonly Edit[] {
  switch (target) {
    case 'claude':
    case 'gemini':
      return [removalEdit(target, readHookFile(target, place))];
    case 'codex':
      return codexRemovalEdits(place);
    case 'opencode':
      return [{ file: readPlugin(place), text: null, occasion: 'later-change' }];
  }
}

function report(target: HookTarget, edits: readonly Edit[], notes: readonly string[]): HookReport {
  return { target, changes: edits.map(writeSettings).filter((change) => change !== null), notes };
}

type BareStatus<S> = S extends unknown ? Omit<S, 'target' | 'path'> : never;

function statusOf(target: HookTarget, place: HookPlace, programs: HookPrograms): BareStatus<HookStatus> {
  if (target === 'opencode') return pluginStatus(readPlugin(place), programs);
  const file = readHookFile(target, place);
  const { found, missing, outdated } = eventStates(target, file, programs.command);
  if (found.length === 0) return { is: 'absent' };
  const { untrusted, off } =
    target === 'codex' ? codexTrustStates(place, file, found) : { untrusted: [], off: [] };
  const offBy = switchedOffBy(target, file, off);
  const isWhole = missing.length + outdated.length + untrusted.length === 0;
  return isWhole
    ? { is: 'installed', switchedOffBy: offBy }
    : { is: 'partly', missing, outdated, untrusted, switchedOffBy: offBy };
}

function pluginStatus({ text }: SettingsFile, { plugin }: HookPrograms): BareStatus<HookStatus> {
  if (text === null) return { is: 'absent' };
  if (text === pluginText(plugin)) return { is: 'installed', switchedOffBy: null };
  return { is: 'partly', missing: [], outdated: ['plugin'], untrusted: [], switchedOffBy: null };
}

/** The file's name is ours, but whoever wrote something else into it shall not lose it. */
function readPlugin(place: HookPlace): SettingsFile {
  const file = readSettings(pluginPath(place));
  if (file.text === null || isOurPlugin(file.text)) return file;
  throw badSettings(`${file.path} is not Reeve's plugin.`, 'Rename or move it away, then try again.');
}
