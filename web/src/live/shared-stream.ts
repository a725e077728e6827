/**
 * One event stream for all windows of a browser. A browser opens six connections to a server at most, for all its windows
 * together, and a stream holds one: with a stream each, a few windows side by side would leave none to ask anything by.
 *
 *   following --the lock is free--> leading --nobody sees the window for a while--> following, without a wish to lead
 *                                      \--the window is closed--> the browser gives the lock to another
 *
 * The window that leads holds the stream and tells the others what it hears. Each knows the number of the last event that
 * it took. A leader says how far it is when its stream opens and when it is asked: who is behind that has missed
 * something, and reads it from the log before it takes anything else. So none is missed and none comes twice, whichever
 * window goes when.
 */
import type { EventsView, EventView } from '../../../src/api/http-views.ts';
import { eventsPath } from '../api/paths.ts';
import { failureOf, get } from '../api/request.ts';
import { openEventStream } from './event-stream.ts';
import type { EventStream, Listener } from './event-stream.ts';

type Told =
  /** Sent by the leader. `at` is the last event before this. */
  | { readonly is: 'open'; readonly at: number }
  | { readonly is: 'heard'; readonly event: EventView }
  | { readonly is: 'broken' }
  /** Sent to the leader. */
  | { readonly is: 'how are you' }
  | { readonly is: 'try again' };

const NAME = 'reeve.events';
/** Between attempts to read what was missed. */
const RETRY_MS = 1_000;

export function openSharedStream(afterSeq: number, listener: Listener): EventStream {
  const channel = new BroadcastChannel(NAME);
  // A channel has no target: only pages of this origin hear it.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  const tell = (told: Told) => channel.postMessage(told);
  let lastSeq = afterSeq;
  let led: Led | null = null;
  /** What is told is taken in order, also while something missed is read. */
  let inbox: Promise<void> = Promise.resolve();

  const take = (event: EventView) => {
    if (event.seq <= lastSeq) return;
    lastSeq = event.seq;
    listener.heard(event);
  };
  const follow = async (told: Told) => {
    if (told.is === 'heard') take(told.event);
    if (told.is === 'broken') void listener.broke();
    if (told.is !== 'open') return;
    await catchUp(told.at, () => lastSeq, take);
    listener.opened();
  };
  channel.addEventListener('message', ({ data }: MessageEvent<Told>) => {
    if (led === null) inbox = inbox.then(() => follow(data));
    else if (data.is === 'how are you') tell(led.isOpen() ? { is: 'open', at: lastSeq } : { is: 'broken' });
    else if (data.is === 'try again') led.stream.reopen();
  });
  const wish = wishToLead(async () => {
    await inbox;
    led = lead({ ...listener, heard: take }, () => lastSeq, tell);
    return () => {
      led?.stream.pause();
      led = null;
    };
  });
  wish.begin();
  tell({ is: 'how are you' });
  return {
    reopen: () => {
      if (led !== null) led.stream.reopen();
      // Back from a pause, there is no doubt about the stream; what was told meanwhile may have been missed.
      else tell({ is: wish.begin() ? 'how are you' : 'try again' });
    },
    pause: () => wish.end(),
  };
}

interface Led {
  readonly stream: EventStream;
  readonly isOpen: () => boolean;
}

/** What is heard is told before it is taken here, so that `at` is never ahead of what the others were told. */
function lead(listener: Listener, at: () => number, tell: (told: Told) => void): Led {
  let isOpen = false;
  const stream = openEventStream(at(), {
    opened: () => {
      isOpen = true;
      tell({ is: 'open', at: at() });
      listener.opened();
    },
    heard: (event) => {
      tell({ is: 'heard', event });
      listener.heard(event);
    },
    broke: () => {
      isOpen = false;
      tell({ is: 'broken' });
      return listener.broke();
    },
  });
  return { stream, isOpen: () => isOpen };
}

/** Reads on until the number is reached. A log that cannot be read now is read later: nothing else is taken before. */
async function catchUp(to: number, lastSeq: () => number, take: (event: EventView) => void): Promise<void> {
  while (lastSeq() < to) {
    try {
      const { events } = await get<EventsView>(eventsPath(lastSeq()));
      // What is not in the log any more was forgotten with its session.
      if (events.length === 0) return;
      for (const event of events) take(event);
    } catch (error) {
      if (failureOf(error).isUnauthorised) return;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}

interface Wish {
  /** Whether it was not wished for before. */
  begin(): boolean;
  end(): void;
}

/** Holds the browser's one lock for as long as it is wished for. `start` returns how to stop. */
function wishToLead(start: () => Promise<() => void>): Wish {
  let current: AbortController | null = null;
  return {
    begin: () => {
      if (current !== null) return false;
      const wished = new AbortController();
      current = wished;
      const held = async () => {
        const stop = await start();
        await until(wished.signal);
        stop();
      };
      // A browser that has no locks has a stream for each window, as before.
      const locks = navigator.locks as LockManager | undefined;
      if (locks === undefined) void held();
      else locks.request(NAME, { signal: wished.signal }, held).catch(() => {});
      return true;
    },
    end: () => {
      current?.abort();
      current = null;
    },
  };
}

function until(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
