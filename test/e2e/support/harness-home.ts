/** A home of its own for each real harness: it talks to the model server only, and asks no question at the start. */
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { claude } from './home/claude.ts';
import { codex } from './home/codex.ts';
import { gemini } from './home/gemini.ts';
import type { Command, Furnish, Places } from './home/home.ts';
import { opencode } from './home/opencode.ts';

export type HarnessName = 'claude' | 'codex' | 'gemini' | 'opencode';

export interface HarnessHome extends Places {
  readonly name: HarnessName;
  /** The whole environment; nothing of the test's own gets through. */
  readonly env: Readonly<Record<string, string>>;
  /** The harness itself, not something that starts it. */
  readonly program: Command;
  /** What npm puts on the PATH and people start; null where that is the program itself. */
  readonly wrapper: Command | null;
  /** The arguments of one prompt to the end, with permission to use the shell. */
  headless(prompt: string): readonly string[];
  headlessResume(nativeId: string, prompt: string): readonly string[];
  /** For a terminal, asking before each use of the shell. */
  interactive(): readonly string[];
  interactiveResume(nativeId: string): readonly string[];
  /** Set where the caller may choose the native id. */
  readonly withId?: (nativeId: string) => readonly string[];
  /** What the pane shows once it waits for the first prompt, and not before. */
  readonly ready: RegExp;
}

const HARNESSES: Readonly<Record<HarnessName, Furnish>> = { claude, codex, gemini, opencode };

export const HARNESS_NAMES: readonly HarnessName[] = ['claude', 'codex', 'gemini', 'opencode'];

/** `directory` is empty and the caller's to remove. */
export function furnishHome(name: HarnessName, directory: string, modelUrl: string): HarnessHome {
  const places: Places = {
    home: join(directory, 'home'),
    temporary: join(directory, 'tmp'),
    work: join(directory, 'work'),
  };
  for (const path of Object.values(places)) mkdirSync(path, { recursive: true });
  const { env, ...furnished } = HARNESSES[name](places, modelUrl);
  return {
    name,
    ...places,
    ...furnished,
    env: {
      // Node beside the tests, for wrappers and hooks; then what every system has.
      PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
      HOME: places.home,
      TMPDIR: places.temporary,
      LANG: 'C.UTF-8',
      SHELL: '/bin/bash',
      COLORTERM: 'truecolor',
      ...env,
    },
  };
}
