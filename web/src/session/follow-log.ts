/** Reads a run's log to its end, and on while it is written. */
import { effect } from '@preact/signals';
import type { LogView } from '../../../src/api/http-views.ts';
import { followLogPath, logPath } from '../api/paths.ts';
import { failureOf, get, wasAborted } from '../api/request.ts';
import type { RequestFailure } from '../api/request.ts';
import { connection } from '../live/connection.ts';
import { takeSlot } from '../live/stream-slot.ts';
import { isVisible } from '../live/visible.ts';
import { plainOutput } from './plain-output.ts';

export interface LogState {
  readonly is: 'loading' | 'following' | 'ended' | 'broken';
  readonly text: string;
  readonly failure: RequestFailure | null;
}

/** As many as somebody would scroll back through; `reeve logs` has the rest. */
const LINES = 1000;
/** A browser lays out a page of text of this size without a pause. */
const MAX_CHARACTERS = 400_000;

/** For one whose log is read in turns: soon enough for somebody who looks at several windows at once. */
const TURN_MS = 2_000;

/**
 * Calls `changed` until the returned function is called. A log is followed by a stream; while other windows have all the
 * connections that the browser keeps for that, it is read again and again, until one of them is free.
 */
export function followLog(runId: string, changed: (state: LogState) => void): () => void {
  /** Of the stream or the turns under way. */
  let reading: AbortController | null = null;
  let raw = '';
  let is: LogState['is'] = 'loading';
  let frame = 0;

  // Many chunks come at once; one rendering a frame is enough.
  const tell = () => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => changed({ is, text: plainOutput(raw), failure: null }));
  };
  const show = (text: string) => {
    raw = text.slice(-MAX_CHARACTERS);
    is = 'following';
    tell();
  };
  const close = (as: LogState['is']) => {
    reading?.abort();
    reading = null;
    is = as;
    tell();
  };
  const fail = (error: unknown) => {
    const failure = failureOf(error);
    if (!failure.isUnreachable) changed({ is: 'broken', text: plainOutput(raw), failure });
  };
  const open = async ({ signal }: AbortController): Promise<void> => {
    const release = await takeSlot();
    if (signal.aborted) return release?.();
    if (release !== null) {
      signal.addEventListener('abort', release, { once: true });
      return openStream(runId, signal, {
        shown: () => raw,
        show,
        ended: () => close('ended'),
        broke: () => {
          close('broken');
          // A stream does not say why it was refused; a plain request does.
          get<LogView>(logPath(runId, 1)).catch(fail);
        },
      });
    }
    try {
      const { text } = await get<LogView>(logPath(runId, LINES), signal);
      if (text !== raw) show(text);
    } catch (error) {
      if (wasAborted(error)) return;
      close('broken');
      return fail(error);
    }
    setTimeout(() => {
      if (!signal.aborted && reading !== null) void open(reading);
    }, TURN_MS);
  };

  // A log that broke off is read anew when the connection is back, for nobody knows how far it came.
  const stop = effect(() => {
    const isWatched = connection.value.is === 'live' && isVisible.value;
    if (isWatched && reading === null && is !== 'ended') {
      reading = new AbortController();
      void open(reading);
    }
    if (!isVisible.value && reading !== null) close('loading');
  });
  return () => {
    stop();
    cancelAnimationFrame(frame);
    reading?.abort();
  };
}

interface StreamListener {
  shown(): string;
  show(text: string): void;
  ended(): void;
  broke(): void;
}

function openStream(runId: string, signal: AbortSignal, listener: StreamListener): void {
  const source = new EventSource(followLogPath(runId, LINES));
  signal.addEventListener('abort', () => source.close(), { once: true });
  /** Read from its tail again: what comes first replaces what there was, without a moment of nothing. */
  let isAnew = true;
  source.addEventListener('open', () => listener.show(listener.shown()));
  source.addEventListener('message', ({ data }: MessageEvent<string>) => {
    listener.show((isAnew ? '' : listener.shown()) + (JSON.parse(data) as string));
    isAnew = false;
  });
  source.addEventListener('end', () => listener.ended());
  source.addEventListener('error', () => listener.broke());
}
