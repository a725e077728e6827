import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { HarnessHome } from '../harness-home.ts';

export interface Places {
  readonly home: string;
  readonly temporary: string;
  /** The directory to start the harness in; the harness trusts it. */
  readonly work: string;
}

export type Command = readonly [program: string, ...args: string[]];

/** Writes what one harness wants to find in its home, and says how to start it. */
export type Furnish = (places: Places, modelUrl: string) => Omit<HarnessHome, keyof Places | 'name'>;

/** Looks like a key to the harnesses and opens nothing. */
export const DUMMY_KEY = 'sk-test';

const INSTALLED = fileURLToPath(new URL('../../harness/node_modules', import.meta.url));

/** A path among the installed harnesses; scripts/harnesses.mjs puts them there. */
export function installed(...parts: readonly string[]): string {
  return join(INSTALLED, ...parts);
}

export function writeIn(directory: string, name: string, content: string): void {
  const path = join(directory, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

export function writeJsonIn(directory: string, name: string, content: unknown): void {
  writeIn(directory, name, `${JSON.stringify(content, null, 2)}\n`);
}
