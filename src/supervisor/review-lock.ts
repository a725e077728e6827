/** One trigger at a time changes what becomes of a worker's reviews, on all hosts; the others wait for it. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ReeveError } from '../api/errors.ts';
import { probe } from '../process/liveness.ts';
import { identify } from '../process/process-table.ts';
import type { Context } from './context.ts';

/** Ten triggers at once, each of which gives a reviewer its whole grace to end, are done within this. */
const WAIT_LIMIT_MS = 180_000;
const POLL_MS = 25;

/** `work` is given the token without which the store writes no plan. */
export async function withReviewLock<T>(
  context: Context,
  sessionId: string,
  work: (token: string) => Promise<T>,
): Promise<T> {
  const token = randomUUID();
  await take(context, sessionId, token);
  try {
    return await work(token);
  } finally {
    // That it cannot be given back changes nothing about what was done; whoever comes next finds its holder dead.
    await context.store.releaseReviewLock(sessionId, token).catch(() => {});
  }
}

async function take(context: Context, sessionId: string, token: string): Promise<void> {
  const holder = identify(context.table, process.pid);
  const deadline = performance.now() + WAIT_LIMIT_MS;
  let instead: string | null = null;
  for (;;) {
    const result = await context.store.takeReviewLock({ sessionId, token, holder, instead });
    if (result.is === 'taken') return;
    if (result.is === 'gone') throw new ReeveError('not_found', 'The worker was forgotten meanwhile.');
    const liveness = probe(context.table, result.holder);
    if (liveness.is === 'unknown') throw unprovenHolder(result.holder.pid, liveness.because);
    instead = liveness.is === 'dead' ? result.token : null;
    if (performance.now() > deadline) throw stillHeld(result.holder.pid);
    if (instead === null) await sleep(POLL_MS);
  }
}

function unprovenHolder(pid: number, because: string): ReeveError {
  return new ReeveError(
    'unproven',
    `Another trigger (pid ${pid}) acts on these reviews, and whether it lives cannot be told: ${because}.`,
    { hint: 'Nothing was changed. Try again where it runs.', details: { pid } },
  );
}

function stillHeld(pid: number): ReeveError {
  return new ReeveError(
    'busy',
    `Another trigger (pid ${pid}) has been acting on these reviews for minutes.`,
    {
      hint: 'Nothing was changed. Look at that process, then try again.',
      details: { pid },
    },
  );
}
