/**
 * Tells a person, once, what `lifecycle/notification.ts` finds worth telling; see docs/config.md for what is promised.
 *
 * Events come in the order of their numbers, some perhaps again after a restart. Taking one only changes memory and
 * starts a write; each receiver's worker does the rest on its own, so that neither the daemon nor another receiver waits.
 */
import { enqueue } from '../../lifecycle/delivery.ts';
import { notice } from '../../lifecycle/notification.ts';
import type { NotableEvent, Notification } from '../../lifecycle/notification.ts';
import type { NotifySettings } from '../../supervisor/config.ts';
import { CHANNEL_NAMES } from './channel.ts';
import type { Channel, Environment, Terminal } from './channel.ts';
import { channelsFrom } from './channels.ts';
import { startWorker } from './channel-worker.ts';
import type { ChannelWorker, DeliveryStep } from './channel-worker.ts';
import { systemClock } from './clock.ts';
import type { Clock } from './clock.ts';
import type { Describe } from './message.ts';
import { openOutbox } from './outbox.ts';
import type { Outbox } from './outbox.ts';
import { EMPTY_OUTBOX, queueOf, withQueue } from './outbox-state.ts';

export interface NotifierOptions {
  readonly settings: NotifySettings;
  /** The notifier's own, on this machine; two notifiers must not share it. */
  readonly directory: string;
  readonly describe: Describe;
  readonly log: (text: string) => void;
  /**
   * The number of the store's newest event. With it, what happens between the first start and the first event is not
   * history; and a cursor beyond it shows that this is another store than the one that was read.
   */
  readonly latestSeq?: number;
  readonly environment?: Environment;
  readonly terminal?: Terminal;
  readonly clock?: Clock;
  readonly reached?: (step: DeliveryStep, key: number) => Promise<void>;
}

export interface Notifier {
  take(event: NotableEvent): void;
  /** Lets the attempts that are under way end, at most for the time that each has. What was not tried waits on disk. */
  close(): Promise<void>;
  health(): { readonly is: 'off' | 'good' | 'failing'; readonly says: string };
  /** Every event up to this one was taken, for good; null when none was. Replay from here. */
  lastSeq(): number | null;
}

/** Replaying so many events after a crash costs less than a write for each that changes nothing. */
const MAX_UNKEPT_EVENTS = 100;

export function openNotifier(options: NotifierOptions): Notifier {
  const { settings, log, environment = process.env, terminal = process.stderr } = options;
  const clock = options.clock ?? systemClock;
  const closing = new AbortController();
  const outbox = openOutbox({ directory: options.directory, clock, closing: closing.signal, log });
  const channels = channelsFrom(settings, environment, terminal);
  begin(outbox, channels, options);
  const workers = channels.map((channel) => ({
    channel,
    ...startWorker({
      channel,
      outbox,
      clock,
      closing: closing.signal,
      timeoutMs: settings.timeoutSeconds * 1_000,
      describe: options.describe,
      reached: options.reached ?? (() => Promise.resolve()),
      log,
    }),
  }));
  return {
    take: (event) => {
      if (closing.signal.aborted) return;
      take(outbox, event, (notification) => {
        if (!settings.on.includes(notification.status)) return;
        for (const { name } of channels) {
          outbox.change((state) => withQueue(state, name, enqueue(queueOf(state, name), notification)));
        }
      });
      for (const { wake } of workers) wake();
    },
    close: async () => {
      closing.abort();
      for (const { wake } of workers) wake();
      await Promise.all(workers.map(({ ended }) => ended));
      await outbox.kept();
    },
    health: () => healthOf(settings, outbox, workers),
    lastSeq: () => outbox.keptState().cursor,
  };
}

/** Makes the outbox fit the store and the settings of today. */
function begin(outbox: Outbox, channels: readonly Channel[], { latestSeq, log }: NotifierOptions): void {
  const before = outbox.state();
  if (latestSeq !== undefined && before.cursor === null) {
    outbox.change((state) => ({ ...state, cursor: latestSeq }));
  }
  if (latestSeq !== undefined && before.cursor !== null && before.cursor > latestSeq) {
    log('notifications: the outbox is of another store; it begins anew with this one');
    outbox.change(() => ({ ...EMPTY_OUTBOX, cursor: latestSeq }));
  }
  for (const name of CHANNEL_NAMES) {
    const left = queueOf(outbox.state(), name).waiting.length;
    if (left === 0 || channels.some((channel) => channel.name === name)) continue;
    log(`notifications: ${name} was switched off; ${left} that it had not delivered are given up`);
    outbox.change(({ queues: { [name]: _off, ...queues }, ...state }) => ({ ...state, queues }));
  }
  void outbox.kept();
}

function take(outbox: Outbox, event: NotableEvent, tell: (notification: Notification) => void): void {
  const { cursor, watch } = outbox.state();
  if (cursor !== null && event.seq <= cursor) return;
  const noticed = notice(watch, event);
  outbox.change((state) => ({ ...state, cursor: event.seq, watch: noticed.watch }));
  if (noticed.notification !== null) tell(noticed.notification);
  const kept = outbox.keptState();
  const unkept = kept.cursor === null ? Infinity : event.seq - kept.cursor;
  if (noticed.notification !== null || noticed.watch !== watch || unkept > MAX_UNKEPT_EVENTS)
    void outbox.kept();
}

function healthOf(
  settings: NotifySettings,
  outbox: Outbox,
  workers: readonly (ChannelWorker & { readonly channel: Channel })[],
): ReturnType<Notifier['health']> {
  if (workers.length === 0) return { is: 'off', says: 'no way to notify is configured' };
  if (settings.on.length === 0) return { is: 'off', says: 'nothing is to be notified' };
  const troubles = workers.flatMap(({ channel, trouble }) => {
    const because = trouble();
    if (because === null) return [];
    const { length } = queueOf(outbox.state(), channel.name).waiting;
    return [`${channel.name}: ${because}${length === 0 ? '' : ` (${length} waiting)`}`];
  });
  const unwritten = outbox.trouble();
  const all = unwritten === null ? troubles : [unwritten, ...troubles];
  if (all.length > 0) return { is: 'failing', says: all.join('; ') };
  return { is: 'good', says: workers.map(({ channel }) => channel.name).join(', ') };
}
