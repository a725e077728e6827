import { useEffect, useRef, useState } from 'preact/hooks';
import type { ScreenView } from '../../../src/api/http-views.ts';
import { screenPath } from '../api/paths.ts';
import { failureOf, get } from '../api/request.ts';
import type { RequestFailure } from '../api/request.ts';
import { isVisible } from '../live/visible.ts';
import { FailureText } from '../parts/message.tsx';
import { Panel } from './panel.tsx';
import type { paintScreen } from './terminal.ts';

const POLL_MS = 1000;

/** The pane of a session in tmux, once a second while somebody looks. It can only be looked at here. */
export function Screen({ runId }: { readonly runId: string }) {
  const box = useRef<HTMLPreElement>(null);
  const [size, setSize] = useState<string | null>(null);
  const [failure, setFailure] = useState<RequestFailure | null>(null);
  useEffect(() => {
    let last = '';
    return poll(async () => {
      try {
        const view = await get<ScreenView>(screenPath(runId));
        setFailure(null);
        setSize(`${view.columns} × ${view.rows}`);
        const shown = JSON.stringify(view);
        if (shown !== last && box.current !== null) await (await painter())(box.current, view);
        last = shown;
      } catch (error) {
        setFailure(failureOf(error));
      }
    });
  }, [runId]);
  return (
    <Panel title="Screen" note={size === null ? 'loading' : `${size}, live, to look at only`}>
      {failure !== null && <FailureText failure={failure} />}
      <pre ref={box} class="screen" tabIndex={0} role="region" aria-label="The screen of its terminal" />
    </Panel>
  );
}

/** A terminal's emulation is larger than all the rest of the page, and most pages have no screen. */
async function painter(): Promise<typeof paintScreen> {
  return (await import('./terminal.ts')).paintScreen;
}

/** One at a time, and none for a page that nobody sees. */
function poll(look: () => Promise<void>): () => void {
  let isStopped = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const turn = async () => {
    if (isVisible.peek()) await look();
    if (!isStopped) timer = setTimeout(() => void turn(), POLL_MS);
  };
  void turn();
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}
