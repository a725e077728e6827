/**
 * Tells a person, once, what `lifecycle/notification.ts` finds worth telling; see docs/config.md for what is promised.
 *
 * Events come in the order of their numbers, some perhaps again after a restart. Taking one only changes memory and
 * starts a write; each receiver's worker does the rest on its own, so that neither the daemon nor another receiver waits.
 */
import { enqueue, withoutSession } from '../../lifecycle/delivery.ts';
import { muteAt } from '../../lifecycle/mute.ts';
import { notice } from '../../lifecycle/notification.ts';
import type { NotableEvent, Notification } from '../../lifecycle/notification.ts';
import { endOfQuiet, isQuiet } from '../../lifecycle/quiet-hours.ts';
import type { NotifySettings } from '../../supervisor/config.ts';
import { CHANNEL_NAMES } from './channel.ts';
import type { Channel, Environment, Terminal } from './channel.ts';
import { channelsFrom } from './channels.ts';
import { startWorker } from './channel-worker.ts';
import type { ChannelWorker, DeliveryStep } from './channel-worker.ts';
import { minuteOfDay, systemClock } from './clock.ts';
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
  /** What is muted is taken note of, and not told. */
  take(event: NotableEvent, how?: 'told' | 'muted'): void;
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
  const isQuietNow = () => settings.quiet !== null && isQuiet(settings.quiet, minuteOfDay(clock.nowMs()));
  begin(outbox, channels, options);
  const workers = channels.map((channel) => ({
    channel,
    ...startWorker({
      channel,
      outbox,
      clock,
      closing: closing.signal,
      timeoutMs: settings.timeoutSeconds * 1_000,
      isQuiet: isQuietNow,
      describe: options.describe,
      reached: options.reached ?? (() => Promise.resolve()),
      log,
    }),
  }));
  return {
    take: (event, how = 'told') => {
      if (closing.signal.aborted) return;
      const isNewMute = isUntaken(outbox, event) && muteAt(event, clock.nowMs()) !== null;
      if (isNewMute) forgetWaiting(outbox, event.sessionId);
      take(outbox, event, (notification) => {
        if (how === 'muted' || !settings.on.includes(notification.status)) return;
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
    health: () => {
      const health = healthOf(settings, outbox, workers);
      if (settings.quiet === null || health.is === 'off' || !isQuietNow()) return health;
      return { ...health, says: `${health.says}; quiet until ${endOfQuiet(settings.quiet)}` };
    },
    lastSeq: () => outbox.keptState().cursor,
  };
}

/** What waits for a receiver, or for the end of quiet hours, is not to be told any more. It is not missed either. */
function forgetWaiting(outbox: Outbox, sessionId: string): void {
  for (const name of CHANNEL_NAMES) {
    const before = queueOf(outbox.state(), name);
    const after = withoutSession(before, sessionId);
    if (after !== before) outbox.change((state) => withQueue(state, name, after));
  }
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
  if (!isUntaken(outbox, event)) return;
  const { watch } = outbox.state();
  const noticed = notice(watch, event);
  outbox.change((state) => ({ ...state, cursor: event.seq, watch: noticed.watch }));
  if (noticed.notification !== null) tell(noticed.notification);
  const kept = outbox.keptState();
  const unkept = kept.cursor === null ? Infinity : event.seq - kept.cursor;
  if (noticed.notification !== null || noticed.watch !== watch || unkept > MAX_UNKEPT_EVENTS)
    void outbox.kept();
}

function isUntaken(outbox: Outbox, { seq }: NotableEvent): boolean {
  const { cursor } = outbox.state();
  return cursor === null || seq > cursor;
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
