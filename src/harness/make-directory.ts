/**
 * A directory with its parents, wherever a person or a request says. Not Node's own recursive mkdir: that one never
 * returns where a file system denies with ENOENT, as /proc does.
 */
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** Throws what the kernel says. Those that are there are left as they are. */
export function makeDirectory(path: string, mode?: number): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return;
  const parent = dirname(path);
  if (parent !== path && !existsSync(parent)) makeDirectory(parent, mode);
  try {
    mkdirSync(path, mode);
  } catch (error) {
    const isThere = error instanceof Error && 'code' in error && error.code === 'EEXIST';
    if (!isThere || !statSync(path).isDirectory()) throw error;
  }
}
