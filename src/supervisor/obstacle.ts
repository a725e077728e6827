/** What keeps a keeper, whose command is gone, from putting the end on record, as far as it can be seen from outside. */
import { accessSync, constants, statSync } from 'node:fs';
import { isOnRecord } from '../lifecycle/exit.ts';
import type { Obstacle } from '../lifecycle/reconcile.ts';
import type { LiveRun } from '../lifecycle/run.ts';
import { readExit } from '../process/run-directory.ts';
import type { Context } from './context.ts';
import { runDirectory } from './liveness.ts';

/** Seen without changing anything. Null also where only another user could see it. */
export function obstacleTo(context: Context, run: LiveRun): Obstacle | null {
  const directory = runDirectory(context, run.id);
  const code = refusalOf(directory);
  if (code === null || isOnRecord(readExit(directory, run.id))) return null;
  return {
    because: `${directory} cannot be written (${code})`,
    remedy: 'make it writable, and the end is recorded by itself',
  };
}

function refusalOf(directory: string): string | null {
  try {
    // What this user may do says nothing of what the user of the keeper may.
    if (statSync(directory).uid !== process.getuid?.()) return null;
    accessSync(directory, constants.W_OK | constants.X_OK);
    return null;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    // Removed, it is no obstacle: the keeper then hands the exit on.
    return code === 'EACCES' || code === 'EROFS' ? code : null;
  }
}

/** The same of the store, by trying. */
export async function obstacleInStore({ store }: Context): Promise<Obstacle | null> {
  try {
    await store.tryWrite();
    return null;
  } catch (error) {
    const because = error instanceof Error ? error.message.replace(/\.$/, '') : String(error);
    return {
      because: `the store cannot be written (${because})`,
      remedy: 'give back the right to write to it, and the end is recorded by its keeper or by the next look',
    };
  }
}
