/** Reads a run's log to its end, and on while it is written. */
import { effect } from '@preact/signals';
import type { LogView } from '../../../src/api/http-views.ts';
import { followLogPath, logPath } from '../api/paths.ts';
import { failureOf, get } from '../api/request.ts';
import type { RequestFailure } from '../api/request.ts';
import { connection } from '../live/connection.ts';
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

/** Calls `changed` until the returned function is called. */
export function followLog(runId: string, changed: (state: LogState) => void): () => void {
  let source: EventSource | null = null;
  let raw = '';
  /** Read from its tail again: what comes first replaces what there was, without a moment of nothing. */
  let isAnew = false;
  let is: LogState['is'] = 'loading';
  let frame = 0;

  // Many chunks come at once; one rendering a frame is enough.
  const tell = () => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => changed({ is, text: plainOutput(raw), failure: null }));
  };
  const close = (as: LogState['is']) => {
    source?.close();
    source = null;
    is = as;
    tell();
  };
  const open = () => {
    isAnew = true;
    source = new EventSource(followLogPath(runId, LINES));
    source.addEventListener('open', () => {
      is = 'following';
      tell();
    });
    source.addEventListener('message', ({ data }: MessageEvent<string>) => {
      raw = ((isAnew ? '' : raw) + (JSON.parse(data) as string)).slice(-MAX_CHARACTERS);
      isAnew = false;
      tell();
    });
    source.addEventListener('end', () => close('ended'));
    source.addEventListener('error', () => {
      close('broken');
      // A stream does not say why it was refused; a plain request does.
      get<LogView>(logPath(runId)).catch((error: unknown) => {
        const failure = failureOf(error);
        if (!failure.isUnreachable) changed({ is: 'broken', text: plainOutput(raw), failure });
      });
    });
  };

  // A log that broke off is read anew when the connection is back, for nobody knows how far it came.
  const stop = effect(() => {
    const isWatched = connection.value.is === 'live' && isVisible.value;
    if (isWatched && source === null && is !== 'ended') open();
    if (!isVisible.value && source !== null) close('loading');
  });
  return () => {
    stop();
    cancelAnimationFrame(frame);
    source?.close();
  };
}
