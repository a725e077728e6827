/**
 * What some tests need of the machine, each a tag: `it('…', { tags: ['root'] }, …)`. Elsewhere they are left out, and named
 * at the end of the run. With CI=true nothing is left out: what is missing then fails.
 */
import { existsSync } from 'node:fs';
import type { TestTagDefinition } from 'vitest/config';
import { FREEZER } from './freezer.ts';

interface Need {
  readonly tag: string;
  /** Completes "3 tests need …". */
  readonly words: string;
  readonly isMet: (machine: Machine) => boolean;
}

export interface Machine {
  readonly isCi: boolean;
  readonly isRoot: boolean;
  readonly platform: NodeJS.Platform;
  readonly has: (path: string) => boolean;
}

export const NEEDS: readonly Need[] = [
  // For what nobody else can set up: a cgroup, a namespace, a file of another user.
  { tag: 'root', words: 'root', isMet: ({ isRoot }) => isRoot },
  // Where there is none, test/process/end-tree.test.ts alone stands for what cannot be killed.
  {
    tag: 'freezer',
    words: 'root and the freezer of cgroup v1',
    isMet: ({ isRoot, has }) => isRoot && has(FREEZER),
  },
  { tag: 'linux', words: 'Linux', isMet: ({ platform }) => platform === 'linux' },
  // The settings of the machine's owner are not replaced.
  {
    tag: 'no-gemini-settings',
    words: 'a machine without settings in /etc/gemini-cli',
    isMet: ({ has }) => !has('/etc/gemini-cli'),
  },
];

export const THIS_MACHINE: Machine = {
  isCi: process.env['CI'] === 'true',
  isRoot: process.getuid?.() === 0,
  platform: process.platform,
  has: existsSync,
};

export function tagsFor(machine: Machine): TestTagDefinition[] {
  return NEEDS.map(({ tag, words, isMet }) => ({
    name: tag,
    description: `Needs ${words}.`,
    skip: !machine.isCi && !isMet(machine),
  }));
}
