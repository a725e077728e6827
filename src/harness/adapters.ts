/** All adapters, and which one a command line is for. Each is loaded when it is needed: a start is mostly loading. */
import { basename } from 'node:path';
import type { Adapter, HarnessName } from './adapter.ts';
import { command } from './command.ts';
import { behindLaunchers } from './launched.ts';
import { findCommand } from './launcher.ts';

interface Known {
  readonly programs: readonly string[];
  readonly load: () => Promise<Adapter>;
}

const KNOWN: Readonly<Record<HarnessName, Known>> = {
  claude: { programs: ['claude', 'claude.exe'], load: async () => (await import('./claude.ts')).claude },
  codex: { programs: ['codex'], load: async () => (await import('./codex.ts')).codex },
  gemini: { programs: ['gemini'], load: async () => (await import('./gemini.ts')).gemini },
  opencode: {
    programs: ['opencode', 'opencode.exe'],
    load: async () => (await import('./opencode.ts')).opencode,
  },
  code: { programs: ['code', 'coder'], load: async () => (await import('./codex.ts')).everyCode },
  command: { programs: [], load: async () => command },
};

// The keys of the table above, which are the names.
const HARNESS_NAMES = Object.keys(KNOWN) as readonly HarnessName[];

/** A harness that only a newer Reeve knows is treated as any command. */
export async function adapterNamed(name: string): Promise<Adapter> {
  const known = HARNESS_NAMES.find((each) => each === name);
  if (known === undefined || known === 'command') return command;
  return behindLaunchers(await KNOWN[known].load());
}

/** By the name of the program, wherever it is, behind launchers such as `env` and `timeout`. */
export function harnessOf(argv: readonly string[]): HarnessName {
  const name = basename(argv[findCommand(argv).at] ?? '');
  return HARNESS_NAMES.find((each) => KNOWN[each].programs.includes(name)) ?? 'command';
}

export function allAdapters(): Promise<readonly Adapter[]> {
  return Promise.all(HARNESS_NAMES.map(adapterNamed));
}
