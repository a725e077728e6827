/**
 * Whom the keeper of a run looks for while it waits: the process that speaks for the run above it. `owner` in the run's
 * directory, read by keeper.pl, which starts a watcher when that process is gone. Away, there is nobody to look for.
 */
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ProcessIdentity } from '../lifecycle/process-identity.ts';

export function noteOwner(runDirectory: string, { pid, startTime }: ProcessIdentity): void {
  const path = join(runDirectory, 'owner');
  writeFileSync(`${path}.new`, `${pid} ${startTime}\n`, { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

export function forgetOwner(runDirectory: string): void {
  rmSync(join(runDirectory, 'owner'), { force: true });
}
