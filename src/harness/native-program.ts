/**
 * The program behind a wrapper that npm installed. A wrapper that is killed leaves the harness alive without anybody who
 * speaks for it, so Reeve starts what the wrapper would start.
 */
import { closeSync, existsSync, openSync, readSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Where the native program is inside the package for this machine, for instance `bin/opencode`. */
export function behindWrapper(
  path: string,
  packageName: string,
  inside: readonly string[],
  platformName: string = packageName,
): string {
  let real: string;
  try {
    real = realpathSync(path);
    if (isNative(real)) return path;
  } catch {
    return path;
  }
  const at = real.lastIndexOf(`/node_modules/${packageName}/`);
  if (at === -1) return path;
  const modules = real.slice(0, at + '/node_modules'.length);
  const platformPackage = `${platformName}-${process.platform}-${process.arch}`;
  const candidates = [modules, join(modules, packageName, 'node_modules')].flatMap((root) =>
    inside.map((relative) => join(root, platformPackage, relative)),
  );
  return candidates.find((candidate) => existsSync(candidate)) ?? path;
}

const NATIVE_BEGINNINGS = new Set(['7f454c46', 'cffaedfe', 'cafebabe']);

function isNative(path: string): boolean {
  const file = openSync(path, 'r');
  try {
    const buffer = Buffer.alloc(4);
    readSync(file, buffer, 0, 4, 0);
    return NATIVE_BEGINNINGS.has(buffer.toString('hex'));
  } finally {
    closeSync(file);
  }
}

/** The program that a name stands for in this environment; null when there is none. */
export function findProgram(name: string, searchPath: string, cwd: string): string | null {
  const candidates = name.includes('/')
    ? [name.startsWith('/') ? name : join(cwd, name)]
    : searchPath
        .split(':')
        .filter((directory) => directory !== '')
        .map((directory) => join(directory, name));
  return candidates.find((candidate) => existsSync(candidate) && dirname(candidate) !== candidate) ?? null;
}
