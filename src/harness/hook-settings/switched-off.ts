import { getNodeValue } from 'jsonc-parser';
import { propertyOf, readJson } from './json-edit.ts';
import type { SettingsFile } from './settings-file.ts';
import { HOOK_NAME } from './target.ts';
import type { JsonTarget } from './target.ts';

/** What in the harness's settings keeps installed hooks from being run; null when nothing does. */
export function switchedOffBy(
  target: JsonTarget,
  { text }: SettingsFile,
  offInCodex: readonly string[],
): string | null {
  const reading = readJson(text ?? '{}');
  if (reading.is === 'broken') return null;
  switch (target) {
    case 'claude':
      return propertyOf(reading.root, 'disableAllHooks')?.value === true ? 'disableAllHooks' : null;
    case 'gemini': {
      const settings = propertyOf(reading.root, 'hooksConfig');
      if (propertyOf(settings, 'enabled')?.value === false) return 'hooksConfig.enabled';
      const disabled = propertyOf(settings, 'disabled');
      const names: unknown = disabled === undefined ? [] : getNodeValue(disabled);
      return Array.isArray(names) && names.includes(HOOK_NAME) ? 'hooksConfig.disabled' : null;
    }
    case 'codex':
      return offInCodex.length > 0 ? `/hooks in Codex (${offInCodex.join(', ')})` : null;
  }
}
