/**
 * What a start asks of the configuration: that it is in order as a whole, and whether it limits anything. To parse it takes
 * as long as a tenth of a start, so of a file that was found in order it is remembered which one that was, and by which
 * build of Reeve.
 */
import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { configPath, isNamed, whyNotFound } from './config-path.ts';
import type { Context } from './context.ts';

/** A file that was changed a moment ago may be changed again without a trace: its times have steps. */
const SETTLED_MS = 2_000;

/** Throws `bad_config`. Whether it has a budget. */
export async function checkConfig({
  home,
  environment,
}: Pick<Context, 'home' | 'environment'>): Promise<boolean> {
  const path = configPath(environment);
  const identity = identityOf(path);
  if (identity === null && !isNamed(environment)) return false;
  const memory = join(home.path, 'config-checked');
  const known = identity === null ? undefined : recalled(memory).get(identity);
  if (known !== undefined) return known;
  const { readConfig } = await import('./config.ts');
  const { run, session, tree, day } = readConfig(environment).budget;
  const hasBudget = [run, session, tree, day].some((limits) => limits !== null);
  if (identity !== null && isSettled(path)) remember(memory, identity, hasBudget);
  return hasBudget;
}

/** Null for one that is not there. One that cannot be looked at is for the reader to explain. */
function identityOf(path: string): string | null {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
    // The name of this file has the hash of the whole program in it.
    return JSON.stringify([import.meta.filename, path, ...[dev, ino, size, mtimeNs, ctimeNs].map(String)]);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : '';
    return (code === 'ENOENT' || code === 'ENOTDIR') && whyNotFound(path) === null ? null : '';
  }
}

function isSettled(path: string): boolean {
  const changedAtMs = statSync(path, { throwIfNoEntry: false })?.ctimeMs ?? Infinity;
  return Date.now() - changedAtMs > SETTLED_MS;
}

/** Whatever is in there and is not one of ours is as good as nothing. */
function recalled(memory: string): ReadonlyMap<string, boolean> {
  try {
    const [identity = '', hasBudget = ''] = readFileSync(memory, 'utf8').split('\n');
    return new Map([[identity, hasBudget === 'budget']]);
  } catch {
    return new Map();
  }
}

function remember(memory: string, identity: string, hasBudget: boolean): void {
  try {
    writeFileSync(`${memory}.${process.pid}`, `${identity}\n${hasBudget ? 'budget' : 'none'}\n`, {
      mode: 0o600,
    });
    renameSync(`${memory}.${process.pid}`, memory);
  } catch {
    // The next start parses it again.
  }
}
