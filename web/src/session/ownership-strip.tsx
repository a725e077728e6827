import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { SessionDetailView } from '../../../src/api/http-views.ts';
import type { RunView } from '../../../src/api/session-view.ts';
import type { Status } from '../../../src/lifecycle/status.ts';
import { now } from '../live/now.ts';
import { StatusMark } from '../parts/status-mark.tsx';
import { count } from '../words/short.ts';
import { Panel } from './panel.tsx';
import { endWords, ownerWords, runSentence, runStatus, spanWords } from './run-words.ts';
import { layOutStrip } from './strip-layout.ts';
import { StripLineOfRuns } from './strip-line.tsx';

/** Who owned the session when, run after run, and how each ownership ended. */
export function OwnershipStrip({ session }: { readonly session: SessionDetailView }) {
  const { runs, status } = session;
  const strip = useRef<HTMLDivElement>(null);
  const widthPx = useWidth(strip);
  const [chosenId, setChosenId] = useState<string | null>(null);
  const [pointedId, setPointedId] = useState<string | null>(null);
  const latest = runs.at(-1);
  const chosen = runs.find(({ id }) => id === chosenId) ?? latest;
  const told = runs.find(({ id }) => id === pointedId) ?? chosen;
  if (chosen === undefined || told === undefined) return null;
  const lines = layOutStrip(runs, now.value, widthPx);
  return (
    <Panel title="Ownership" note={`${count(runs.length, 'run')}, one owner at a time`} class="ownership">
      <div
        ref={strip}
        class="strip"
        role="toolbar"
        aria-label="Runs, the oldest first"
        onKeyDown={(event) => moveIn(event, runs, chosen, setChosenId)}
        onPointerLeave={() => setPointedId(null)}
      >
        {lines.map((line) => (
          <StripLineOfRuns
            key={line.fromMs}
            line={line}
            status={status}
            chosenId={chosen.id}
            toldId={told.id}
            choose={setChosenId}
            point={setPointedId}
          />
        ))}
      </div>
      <Told run={told} status={status} />
      {runs.length > 1 && <Scale hasLines={lines.length > 1} />}
      <details>
        <summary>As a list</summary>
        <ol class="run-list" role="list">
          {runs.map((run) => (
            <li key={run.id}>
              <StatusMark status={runStatus(run, status)} /> {runSentence(run, now.value)}
            </li>
          ))}
        </ol>
      </details>
    </Panel>
  );
}

function Scale({ hasLines }: { readonly hasLines: boolean }) {
  return (
    <p class="dim scale">
      A width is a length of time{hasLines && ', in each line on its own scale'}; no run is drawn narrower
      than its number. A dashed pause had no owner; one broken by // was longer than drawn. An arrow is a
      take-over.
    </p>
  );
}

/** The run that is pointed at or chosen, in words. */
function Told({ run, status }: { readonly run: RunView; readonly status: Status }) {
  return (
    <p class="told">
      <span class="told-head">
        <StatusMark status={runStatus(run, status)} /> <b>Run {run.epoch}</b>{' '}
        <span class="mono dim">{run.id}</span>
      </span>
      <span>{ownerWords(run)}</span>
      <span>{spanWords(run, now.value)}</span>
      <span class={`end is-${runStatus(run, status)}`}>{endWords(run)}</span>
    </p>
  );
}

const STEPS: Readonly<Record<string, (at: number, last: number) => number>> = {
  ArrowLeft: (at) => Math.max(0, at - 1),
  ArrowRight: (at, last) => Math.min(last, at + 1),
  Home: () => 0,
  End: (_at, last) => last,
};

/** Forty runs are one stop for Tab; arrows go from run to run. */
function moveIn(
  event: KeyboardEvent & { readonly currentTarget: HTMLElement },
  runs: readonly RunView[],
  chosen: RunView,
  choose: (id: string) => void,
): void {
  const next = runs[STEPS[event.key]?.(runs.indexOf(chosen), runs.length - 1) ?? -1];
  if (next === undefined) return;
  event.preventDefault();
  choose(next.id);
  event.currentTarget.querySelector<HTMLElement>(`[data-run="${CSS.escape(next.id)}"]`)?.focus();
}

function useWidth(element: RefObject<HTMLElement | null>): number {
  const [widthPx, setWidthPx] = useState(window.innerWidth);
  useLayoutEffect(() => {
    if (element.current === null) return;
    const observer = new ResizeObserver(([entry]) => {
      if (entry !== undefined) setWidthPx(entry.contentRect.width);
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return widthPx;
}
