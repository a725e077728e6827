/**
 * What a commit contains, read from the object store itself: a commit that was made lately is a file of its own there, and
 * asking git for it takes longer than anything else of a trigger. What is not found so is git's to say.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { inflateSync } from 'node:zlib';

/** A commit's message may be long, but not so long. */
const MAX_BYTES = 1024 * 1024;

/** The place of the repository in which a directory is; null when it is in none. Throws when that cannot be told. */
export function repositoryOf(directory: string): string | null {
  for (let place = resolve(directory); ; place = dirname(place)) {
    if (isThere(join(place, '.git'))) return join(place, '.git');
    if (isThere(join(place, 'objects')) && isThere(join(place, 'HEAD'))) return place;
    if (dirname(place) === place) return null;
  }
}

function isThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOTDIR') return false;
    throw error;
  }
}

/** The tree of a commit, by the commit's whole name; null when it is not a file of its own. */
export function treeOfLoose(repository: string, commit: string): string | null {
  try {
    const path = join(objectsOf(repository), commit.slice(0, 2), commit.slice(2));
    const text = inflateSync(readFileSync(path), { maxOutputLength: MAX_BYTES }).toString('latin1');
    return /^commit \d+\0tree ([0-9a-f]{40,64})\n/.exec(text)?.[1] ?? null;
  } catch {
    return null;
  }
}

/** A linked worktree has a file in the place of its repository, which leads to the one that has the objects. */
function objectsOf(repository: string): string {
  if (existsSync(join(repository, 'objects'))) return join(repository, 'objects');
  const [, linked = ''] = /^gitdir: (.*)$/m.exec(readFileSync(repository, 'utf8')) ?? [];
  const place = resolve(dirname(repository), linked);
  return join(resolve(place, readFileSync(join(place, 'commondir'), 'utf8').trim()), 'objects');
}
