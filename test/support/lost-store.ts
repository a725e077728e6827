/** What a test takes away from under living runs. */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Sandbox } from './sandbox.ts';

/** The files of owners, which are outside of every state directory. */
export function ownersOf(sandbox: Sandbox): string {
  return sandbox.path('.local/state/reeve-owners');
}

export function removeDatabase(home: string): void {
  for (const name of readdirSync(home).filter((each) => each.startsWith('reeve.db')))
    rmSync(join(home, name));
}
