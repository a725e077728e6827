/**
 * A state directory that several users use, as `sudo reeve` does. What one of them has begun the others cannot read, and only
 * that one's own files say so. So a store that forgot such a run is found out by what everybody may see of it.
 */
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ReeveError } from '../../api/errors.ts';
import { isThere } from '../../process/reading.ts';
import { runsOfOthers } from '../../process/runs-of-others.ts';
import type { Context } from '../context.ts';

/** Left by the first one whose state directory it is not: without it nobody looks at the runs one by one. */
const MARKER = 'used-by-others';

export function noteOtherUser({ home }: Context): void {
  const marker = join(home.path, MARKER);
  if (statSync(home.path).uid === process.getuid?.() || isThere(marker)) return;
  writeFileSync(marker, 'Runs of other users than the owner of this directory were begun here.\n', {
    mode: 0o644,
  });
}

/** What keeps it from being known that the store knows all who live, if anything does. Only their own user can mend it. */
export async function unknownOfOthers({ table, home, store }: Context): Promise<ReeveError | null> {
  if (!isThere(join(home.path, MARKER))) return null;
  for (const { id, user, pid } of runsOfOthers(table, home.runs)) {
    if ((await store.run(id)) !== null) continue;
    const message = `Run ${id} (pid ${pid}) was begun by ${user} in this state directory, and the store does not know it.`;
    const hint = `Run \`reeve ls\` as ${user} with REEVE_HOME=${home.path}: that puts it on record. Until then nothing is started.`;
    return new ReeveError('unproven', message, { hint });
  }
  return null;
}
