/**
 * Where a run's harness keeps its files, for whoever reads them once its process, whose environment says it, is gone.
 * `place.json` in the run's directory; only where it is not where everybody has them.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readText, unread } from './reading.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** All that harnesses go by. */
const VARIABLES = [
  'CLAUDE_CONFIG_DIR',
  'CODEX_HOME',
  'CODE_HOME',
  'GEMINI_CLI_HOME',
  'XDG_DATA_HOME',
  'OPENCODE_DB',
] as const;

export function recordPlace(runDirectory: string, environment: Environment): void {
  const given = VARIABLES.filter((name) => (environment[name] ?? '') !== '');
  if (given.length === 0) return;
  const place = Object.fromEntries(['HOME', ...given].map((name) => [name, environment[name]]));
  writeFileSync(join(runDirectory, 'place.json'), JSON.stringify(place), { mode: 0o600 });
}

/** Null when nothing is on record, or nothing that makes sense. Throws when it could not be read. */
export function recordedPlace(runDirectory: string): Environment | null {
  const reading = readText(join(runDirectory, 'place.json'));
  if (reading.is === 'failed') throw unread(reading);
  return reading.is === 'read' ? placeIn(reading.value) : null;
}

function placeIn(text: string): Environment | null {
  try {
    const place: unknown = JSON.parse(text);
    if (typeof place !== 'object' || place === null) return null;
    return Object.fromEntries(Object.entries(place).filter(([, value]) => typeof value === 'string'));
  } catch {
    return null;
  }
}
