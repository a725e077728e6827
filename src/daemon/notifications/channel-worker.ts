/**
 * One receiver's worker: it takes the next notification once that is on disk, makes one attempt, puts what became of it on
 * disk, and after a failure leaves the receiver alone for a while. Nobody waits for it but whoever closes the notifier.
 *
 *   taken (on disk) --attempt--> answered --record--> recorded (on disk)
 *
 * A crash before `answered` or between `answered` and `recorded` makes the next daemon send the same again, under the
 * same key; so does a receiver that takes a message but does not say so in time. There is no other way to a double.
 */
import { afterAttempt, expire, nextToDeliver, pauseMs } from '../../lifecycle/delivery.ts';
import type { Attempt, Pending } from '../../lifecycle/delivery.ts';
import type { Channel } from './channel.ts';
import { withDeadline } from './clock.ts';
import type { Clock } from './clock.ts';
import { messageOf } from './message.ts';
import type { Describe } from './message.ts';
import type { Outbox } from './outbox.ts';
import { queueOf, withQueue } from './outbox-state.ts';

/** Where tests hold or kill the process. */
export type DeliveryStep = 'taken' | 'answered' | 'recorded';

export interface WorkerOptions {
  readonly channel: Channel;
  readonly outbox: Outbox;
  readonly clock: Clock;
  readonly closing: AbortSignal;
  readonly timeoutMs: number;
  /** Whether nothing is to be sent right now. */
  readonly isQuiet: () => boolean;
  readonly describe: Describe;
  readonly reached: (step: DeliveryStep, key: number) => Promise<void>;
  readonly log: (text: string) => void;
}

export interface ChannelWorker {
  /** There may be something to do; after closing, to end. */
  readonly wake: () => void;
  readonly ended: Promise<void>;
  /** Why the last attempt failed; null when it did not. */
  readonly trouble: () => string | null;
}

/** So late at most it is seen that quiet hours are over, also after a change of the clocks or a sleep of the machine. */
const QUIET_LOOK_MS = 60_000;

/** A name makes a message nicer; a store that is slow must not keep it. */
const MAX_DESCRIBE_MS = 3_000;

export function startWorker(options: WorkerOptions): ChannelWorker {
  const { channel, outbox, clock, closing, isQuiet, reached, log } = options;
  let wake = () => {};
  let trouble: string | null = null;
  let failuresInARow = 0;
  const queue = () => queueOf(outbox.state(), channel.name);

  const work = async (): Promise<void> => {
    while (!closing.aborted) {
      giveUpOld(options);
      const next = nextToDeliver(queue());
      if (next === null) {
        await new Promise<void>((resolve) => (wake = resolve));
        continue;
      }
      // One by one afterwards, and not in one message: each keeps its key, by which a receiver knows it again, and its
      // own `next`; and a queue that waits is what there is for a receiver that is down, with the same limits.
      if (isQuiet()) {
        await clock.wait(QUIET_LOOK_MS, closing);
        continue;
      }
      if (!(await outbox.kept())) return;
      const { key } = next.notification;
      await reached('taken', key);
      const { attempt, told } = await attemptOnce(options, next, queue().missed);
      await reached('answered', key);
      outbox.change((state) => withQueue(state, channel.name, afterAttempt(queue(), key, attempt, told)));
      failuresInARow = attempt.is === 'failed' ? failuresInARow + 1 : 0;
      say(attempt);
      await outbox.kept();
      await reached('recorded', key);
      const pause = pauseMs(failuresInARow, attempt);
      if (pause > 0) await clock.wait(pause, closing);
    }
  };
  /** Only what has changed: a receiver that is down for a day is two lines, not two thousand. */
  const say = (attempt: Attempt): void => {
    const because = attempt.is === 'delivered' ? null : attempt.because;
    if (because === trouble) return;
    trouble = because;
    log(`notifications: ${channel.name} ${because === null ? 'works again' : `does not work: ${because}`}`);
  };
  return { wake: () => wake(), ended: work(), trouble: () => trouble };
}

function giveUpOld({ outbox, channel, clock }: WorkerOptions): void {
  const before = queueOf(outbox.state(), channel.name);
  const fresh = expire(before, clock.nowMs());
  if (fresh !== before) outbox.change((state) => withQueue(state, channel.name, fresh));
}

async function attemptOnce(
  { channel, clock, timeoutMs, describe }: WorkerOptions,
  { notification }: Pending,
  missed: number,
): Promise<{ attempt: Attempt; told: number }> {
  const described = await withDeadline(clock, MAX_DESCRIBE_MS, (deadline) =>
    Promise.race([describe(notification), overIn(deadline)]),
  ).catch(() => null);
  const message = messageOf(notification, described, missed);
  const attempt = await withDeadline(clock, timeoutMs, (deadline) =>
    channel.deliver(message, deadline),
  ).catch(
    // A mistake of ours must not end the daemon, nor what it says be logged: it may quote what was to be sent.
    (): Attempt => ({ is: 'failed', because: 'the attempt broke off unforeseen' }),
  );
  return { attempt, told: missed };
}

function overIn(deadline: AbortSignal): Promise<null> {
  return new Promise((resolve) => deadline.addEventListener('abort', () => resolve(null), { once: true }));
}
