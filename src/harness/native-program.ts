/**
 * The program behind a wrapper that npm installed. A wrapper that is killed leaves the harness alive without anybody who
 * speaks for it, so Reeve starts what the wrapper would start.
 */
import { accessSync, closeSync, constants, openSync, readSync, realpathSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { isShim } from './shim.ts';

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
  if (!real.includes(`/node_modules/${packageName}/`)) return path;
  const platform = `${platformName}-${process.platform}-${process.arch}`;
  const candidates = ancestorsOf(real).flatMap((directory) =>
    [platform, `${platform}-musl`].flatMap((name) =>
      inside.map((relative) => join(directory, 'node_modules', name, relative)),
    ),
  );
  return candidates.find(isProgram) ?? path;
}

/** Where Node looks for a package that is needed here, nearest first. */
function ancestorsOf(path: string): readonly string[] {
  const above = dirname(path);
  return above === path ? [] : [above, ...ancestorsOf(above)];
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
  const directories = searchPath.split(':').filter((directory) => directory !== '');
  const candidates = name.includes('/')
    ? [resolve(cwd, name)]
    : directories.map((directory) => resolve(cwd, directory, name));
  // A shim would only lead back here.
  return candidates.find((candidate) => isProgram(candidate) && !isShim(candidate)) ?? null;
}

/** As a shell looks for one: a directory of that name is none. */
function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
