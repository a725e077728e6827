/** Where a run's harness leaves its reports, and a run that cannot reach the store what it writes. */
import { join } from 'node:path';
import type { Home } from './home.ts';

export function spoolIn(home: Home, runId: string): string {
  return join(home.runs, runId, 'hooks');
}

/** For what was left when the run was over already. */
export function lateSpoolIn(home: Home): string {
  return join(home.path, 'late-hooks');
}
