/** One trigger at a time changes what becomes of a worker's reviews, on all hosts; the others wait for it. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ReeveError } from '../api/errors.ts';
import type { ProcessIdentity } from '../lifecycle/process-identity.ts';
import { probe } from '../process/liveness.ts';
import { identify } from '../process/process-table.ts';
import type { Context } from './context.ts';

/** Ten triggers at once, each of which gives a reviewer its whole grace to end, are done within this. */
const WAIT_LIMIT_MS = 180_000;
const POLL_MS = 25;

/** What is done about a holder of which nothing can be proven. */
type OnUnproven = 'refuse' | 'assume_gone';

export function lockTerms({ assumeGone }: { readonly assumeGone?: boolean | undefined }): OnUnproven {
  return assumeGone === true ? 'assume_gone' : 'refuse';
}

/** `work` is given the token without which the store writes no plan. */
export async function withReviewLock<T>(
  context: Context,
  sessionId: string,
  onUnproven: OnUnproven,
  work: (token: string) => Promise<T>,
): Promise<T> {
  const token = randomUUID();
  await take(context, sessionId, token, onUnproven);
  try {
    return await work(token);
  } finally {
    // That it cannot be given back changes nothing about what was done; whoever comes next finds its holder dead.
    await context.store.releaseReviewLock(sessionId, token).catch(() => {});
  }
}

async function take(
  context: Context,
  sessionId: string,
  token: string,
  onUnproven: OnUnproven,
): Promise<void> {
  const holder = identify(context.table, process.pid);
  const deadline = performance.now() + WAIT_LIMIT_MS;
  let instead: string | null = null;
  for (;;) {
    const result = await context.store.takeReviewLock({ sessionId, token, holder, instead });
    if (result.is === 'taken') return;
    if (result.is === 'gone') throw new ReeveError('not_found', 'The worker was forgotten meanwhile.');
    const liveness = probe(context.table, result.holder);
    if (liveness.is === 'unknown') {
      if (onUnproven === 'refuse') throw unprovenHolder(result.holder.pid, liveness.because);
      await noteAssumed(context, sessionId, result.holder, liveness.because);
    }
    instead = liveness.is === 'alive' ? null : result.token;
    if (performance.now() > deadline) throw stillHeld(result.holder.pid);
    if (instead === null) await sleep(POLL_MS);
  }
}

/**
 * A person answers for what cannot be proven: on record before it is displaced. Should it live after all, it writes no plan
 * any more; and of two who start a reviewer, one wins the claim.
 */
async function noteAssumed(
  context: Context,
  sessionId: string,
  holder: ProcessIdentity,
  because: string,
): Promise<void> {
  const { host, pid } = holder;
  const event = { sessionId, runId: null, kind: 'review.unlocked', actor: context.actor };
  await context.store.note({ ...event, data: { host, pid, because } }, 'always');
}

function unprovenHolder(pid: number, because: string): ReeveError {
  return new ReeveError(
    'unproven',
    `Another trigger (pid ${pid}) acts on these reviews, and whether it lives cannot be told: ${because}.`,
    {
      hint: 'Nothing was changed. Try again where it runs; or, if you know that it is gone, add --assume-gone.',
      details: { pid },
    },
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
