/** What a harness inherits: the caller's environment, less every mark of an outer session, plus the run's own. */
import { resolve } from 'node:path';
import { RUN_MARK } from './tree.ts';

export const TOKEN_VARIABLE = 'REEVE_TOKEN';

export interface RunMarks {
  readonly runId: string;
  readonly token: string;
  readonly sessionName: string;
  readonly home: string;
  /** Variables that would open the whole store: an agent holds its own run's token and no more. */
  readonly withheld: readonly string[];
}

/** Variables of Reeve itself that only steer it, and so may pass on to a nested Reeve. */
const PASSED_ON = new Set(['REEVE_HOME', 'REEVE_CONFIG', 'REEVE_STORE', 'REEVE_CONTAINMENT']);

/**
 * What a run finds in REEVE_STORE instead of an address with a password. It is no address, so that whoever does not know
 * the word refuses it; with no word at all, the store in the state directory would be opened instead.
 */
export const WITHHELD_STORE = 'withheld';

/**
 * `harnessVariables` are the names by which any known harness marks its children. A harness that inherits another
 * session's marks binds itself to that session, so those of every harness go, whichever one is being started.
 */
export function scrubEnvironment(
  inherited: Readonly<Record<string, string | undefined>>,
  harnessVariables: ReadonlySet<string>,
  marks: RunMarks,
): Record<string, string> {
  const kept = Object.entries(inherited).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined &&
      !harnessVariables.has(entry[0]) &&
      (!entry[0].startsWith('REEVE_') || PASSED_ON.has(entry[0])) &&
      !marks.withheld.includes(entry[0]),
  );
  return {
    ...Object.fromEntries(kept.map(([name, value]) => [name, fromAnywhere(name, value)])),
    ...(marks.withheld.length > 0 ? { REEVE_STORE: WITHHELD_STORE } : {}),
    REEVE_HOME: marks.home,
    [RUN_MARK]: marks.runId,
    [TOKEN_VARIABLE]: marks.token,
    REEVE_SESSION: marks.sessionName,
  };
}

/** Whoever gets it is in another directory than the one in which it was given. */
function fromAnywhere(name: string, value: string): string {
  return name === 'REEVE_CONFIG' && value !== '' ? resolve(value) : value;
}

/** Where the store and the configuration are is asked for by what a keeper starts, and becomes. */
const KEPT = [
  'PATH',
  'HOME',
  'XDG_CONFIG_HOME',
  'XDG_STATE_HOME',
  'REEVE_CONFIG',
  'REEVE_STORE',
  'REEVE_CHECKPOINT',
] as const;

/** The keeper needs almost nothing, and holds none of the caller's secrets for as long as the run lasts. */
export function keeperEnvironment(
  inherited: Readonly<Record<string, string | undefined>>,
  home: string,
  withheld: readonly string[] = [],
): Record<string, string> {
  const passed = KEPT.flatMap((name) => {
    const value = withheld.includes(name) ? undefined : inherited[name];
    return value === undefined ? [] : [[name, fromAnywhere(name, value)] as const];
  });
  return { ...Object.fromEntries(passed), LC_ALL: 'C', REEVE_HOME: home };
}
