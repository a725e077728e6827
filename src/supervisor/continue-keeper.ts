/**
 * Whoever ends a run stops its keeper, and kills it a moment later. Killed in between, they leave a stopped process that
 * nobody comes back to, and that holds the session: continued, it finishes what it was at, and goes.
 */
import type { Intent, Run } from '../lifecycle/run.ts';
import { probe } from '../process/liveness.ts';
import { signalProven } from '../process/run-tree.ts';
import type { Context } from './context.ts';

/** Of a run whose command is gone or whose outcome is on record: it starts nothing more. */
export function continueKeeper({ table }: Context, { keeper }: Run): void {
  if (keeper === null) return;
  const liveness = probe(table, keeper);
  if (liveness.is === 'alive' && liveness.isStopped === true) signalProven(table, keeper, 'SIGCONT');
}

/** Whether all who wanted the run to end are dead by now. Of an intent without its process that is not known. */
export function isForsaken({ table }: Context, intent: Intent): boolean {
  return [intent, ...(intent.others ?? [])].every(
    ({ by }) => by !== undefined && probe(table, by).is === 'dead',
  );
}
