/**
 * The daemon's events from a number on, without a gap and without a repetition, for as long as the page is open.
 *
 * A broken stream is always closed and opened anew here, after the last event seen, instead of by the browser: one way
 * to come back, which starts sooner, waits longer each time, and can be asked to try at once.
 */
import type { EventView } from '../../../src/api/http-views.ts';
import { eventsPath } from '../api/paths.ts';

export interface Listener {
  opened(): void;
  heard(event: EventView): void;
  /** Called for every failure; resolves to whether to try again. */
  broke(): Promise<'again' | 'give up'>;
}

export interface EventStream {
  /** Opens it anew at once: it is closed, or no longer believed. */
  reopen(): void;
  /** Lets go of the connection until it is reopened; nothing is missed. */
  pause(): void;
}

const FIRST_WAIT_MS = 300;
/** A daemon that is started again is found within this, without asking a dead port all day. */
const LONGEST_WAIT_MS = 8_000;

export function openEventStream(afterSeq: number, listener: Listener): EventStream {
  let lastSeq = afterSeq;
  let waitMs = FIRST_WAIT_MS;
  let source: EventSource | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const open = () => {
    clearTimeout(timer);
    source?.close();
    const opening = new EventSource(eventsPath(lastSeq));
    source = opening;
    opening.addEventListener('open', () => {
      waitMs = FIRST_WAIT_MS;
      listener.opened();
    });
    opening.addEventListener('message', (message: MessageEvent<string>) => {
      const event = JSON.parse(message.data) as EventView;
      if (event.seq <= lastSeq) return;
      lastSeq = event.seq;
      listener.heard(event);
    });
    opening.addEventListener('error', () => {
      opening.close();
      void listener.broke().then((next) => {
        // Somebody may have opened another one while the question was out.
        if (next === 'again' && source === opening) openLater();
      });
    });
  };

  const openLater = () => {
    clearTimeout(timer);
    timer = setTimeout(open, waitMs);
    waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
  };

  open();
  return {
    reopen: () => {
      waitMs = FIRST_WAIT_MS;
      open();
    },
    pause: () => {
      clearTimeout(timer);
      source?.close();
      source = null;
    },
  };
}
