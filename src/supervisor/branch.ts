/** Which branch is checked out in a directory, read from the repository's own files: no program is started for it. */
import { readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** Deeper than any path that can be opened. */
const MAX_LEVELS = 200;

/** Null where there is no repository, or a commit instead of a branch is checked out. */
export function branchIn(directory: string): string | null {
  let place = directory;
  for (let level = 0; level < MAX_LEVELS; level += 1) {
    const head = headIn(join(place, '.git'));
    if (head !== null) return /^ref: refs\/heads\/(.+)$/.exec(head)?.[1] ?? null;
    const parent = dirname(place);
    if (parent === place) return null;
    place = parent;
  }
  return null;
}

/** A worktree, and a submodule, has a file instead of the directory, which says where that is. */
function headIn(git: string): string | null {
  try {
    const isDirectory = statSync(git).isDirectory();
    const elsewhere = isDirectory ? undefined : /^gitdir: (.+)$/m.exec(readFileSync(git, 'utf8'))?.[1];
    const place = isDirectory ? git : elsewhere === undefined ? null : resolve(dirname(git), elsewhere);
    return place === null ? null : readFileSync(join(place, 'HEAD'), 'utf8').trim();
  } catch {
    return null;
  }
}
