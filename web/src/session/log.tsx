import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { RunView } from '../../../src/api/session-view.ts';
import { FailureText } from '../parts/message.tsx';
import { followLog } from './follow-log.ts';
import type { LogState } from './follow-log.ts';
import { Panel } from './panel.tsx';

/** From the end by less than this counts as at the end. */
const NEAR_END_PX = 24;

/** The end of the log, growing. It follows as long as its end is in sight, and stays put for one who reads above. */
export function Log({ run }: { readonly run: RunView }) {
  const [log, setLog] = useState<LogState>({ is: 'loading', text: '', failure: null });
  const box = useRef<HTMLPreElement>(null);
  const isAtEnd = useRef(true);
  const [isBehind, setIsBehind] = useState(false);
  useEffect(() => followLog(run.id, setLog), [run.id]);
  useLayoutEffect(() => {
    if (isAtEnd.current) toEnd(box.current);
    else setIsBehind(true);
  }, [log.text]);
  const look = () => {
    isAtEnd.current = isNearEnd(box.current);
    if (isAtEnd.current) setIsBehind(false);
  };
  return (
    <Panel title="Log" note={NOTES[log.is]} class="log-panel">
      {log.failure !== null && <FailureText failure={log.failure} />}
      <div class="log-box">
        {/* Scrolled by keys too, so it takes the focus. */}
        <pre ref={box} class="log" onScroll={look} tabIndex={0} role="region" aria-label="The end of the log">
          {log.text}
        </pre>
        {isBehind && (
          <button type="button" class="small to-end" onClick={() => toEnd(box.current)}>
            Newer below ↓
          </button>
        )}
      </div>
      {log.text === '' && log.is !== 'loading' && log.failure === null && (
        <p class="dim">It has written nothing{log.is === 'ended' ? '' : ' yet'}.</p>
      )}
      {run.logPath !== null && <p class="dim mono log-path">{run.logPath}</p>}
    </Panel>
  );
}

const NOTES: Readonly<Record<LogState['is'], string>> = {
  loading: 'loading',
  following: 'following',
  ended: 'the run is over',
  broken: 'broken off; it goes on with the connection',
};

function isNearEnd(box: HTMLElement | null): boolean {
  return box === null || box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_END_PX;
}

function toEnd(box: HTMLElement | null): void {
  box?.scrollTo({ top: box.scrollHeight });
}
