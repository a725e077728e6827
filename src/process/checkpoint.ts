/**
 * Named steps at which tests kill or hold this process: REEVE_CHECKPOINT="name=kill" or "name=wait:/file", or several of
 * them with commas. A held process creates /file.reached and goes on once /file exists. Without the variable this does nothing.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Every step behind which something durable or visible has changed, or may have changed behind this process's back. */
export type Checkpoint =
  | 'launch.claimed'
  | 'launch.keeper_spawned'
  | 'launch.started'
  | 'launch.released'
  | 'launch.executing'
  | 'retire.intended'
  | 'retire.tree_gone'
  | 'retire.keeper_stopped'
  | 'retire.ended'
  | 'reconcile.begun'
  | 'settle.waiting'
  | 'finalise.begun'
  | 'finalise.children'
  | 'finalise.swept'
  | 'finalise.decided'
  | 'finalise.ended'
  | 'reports.listed'
  | 'reports.taken'
  | 'writes.left'
  | 'writes.read'
  | 'writes.taken'
  | 'writes.refused'
  | 'writes.closed'
  | 'outsiders.sought'
  | 'review.checked'
  | 'review.locked'
  | 'review.planned'
  | 'review.retired'
  | 'review.settled'
  | 'review.bound'
  | 'review.started'
  | 'ledger.read'
  | 'ledger.recorded'
  | 'submit.begun'
  | 'submit.recorded'
  | 'usage.recorded'
  | 'watch.begun'
  | 'daemon.displacing'
  | 'daemon.displaced'
  | 'budget.judged';

const POLL_MS = 5;

export async function checkpoint(name: Checkpoint): Promise<void> {
  const settings = process.env['REEVE_CHECKPOINT']?.split(',') ?? [];
  const action = settings.find((each) => each.startsWith(`${name}=`))?.slice(name.length + 1);
  if (action === undefined) return;
  if (action === 'kill') process.kill(process.pid, 'SIGKILL');
  if (!action.startsWith('wait:')) return;
  const file = action.slice('wait:'.length);
  writeFileSync(`${file}.reached`, '');
  while (!existsSync(file)) await sleep(POLL_MS);
  // A signal that came before it was let go is heard before it goes on.
  await sleep(POLL_MS);
}
