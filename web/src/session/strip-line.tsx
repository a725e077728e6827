import type { RunView } from '../../../src/api/session-view.ts';
import type { Status } from '../../../src/lifecycle/status.ts';
import { now } from '../live/now.ts';
import { MARKS } from '../../../src/api/status-words.ts';
import { length, shortClock } from '../words/time.ts';
import { runLabel, runStatus } from './run-words.ts';
import type { Piece, StripLine } from './strip-layout.ts';

interface Choice {
  /** Of the session, and so of its live run. */
  readonly status: Status;
  /** The one that Tab comes to. */
  readonly chosenId: string;
  /** The one that is told below. */
  readonly toldId: string;
  readonly choose: (id: string) => void;
  readonly point: (id: string | null) => void;
}

export function StripLineOfRuns({ line, ...choice }: Choice & { readonly line: StripLine }) {
  return (
    <div class="strip-line">
      <div class="pieces">
        {line.pieces.map((piece, index) =>
          piece.kind === 'run' ? (
            <Segment key={piece.run.id} run={piece.run} weight={piece.weight} {...choice} />
          ) : (
            <Joint key={index} piece={piece} />
          ),
        )}
      </div>
      <div class="ends dim" aria-hidden="true">
        <span>{shortClock(line.fromMs, now.peek())}</span>
        <span>{line.toMs === null ? 'now' : shortClock(line.toMs, now.peek())}</span>
      </div>
    </div>
  );
}

function Segment({
  run,
  weight,
  status: sessionStatus,
  chosenId,
  toldId,
  choose,
  point,
}: Choice & { readonly run: RunView; readonly weight: number }) {
  const status = runStatus(run, sessionStatus);
  return (
    <button
      type="button"
      class={`segment is-${status}${run.state === 'ended' ? '' : ' owner'}${toldId === run.id ? ' told' : ''}`}
      style={{ flexGrow: weight }}
      data-run={run.id}
      tabIndex={chosenId === run.id ? 0 : -1}
      aria-label={runLabel(run, now.value)}
      onFocus={() => choose(run.id)}
      onClick={() => choose(run.id)}
      onPointerEnter={() => point(run.id)}
    >
      <b>{run.epoch}</b> <span class="by">{run.actor}</span>
      <span class="end-mark" aria-hidden="true">
        {MARKS[status]}
      </span>
    </button>
  );
}

function Joint({ piece }: { readonly piece: Exclude<Piece, { kind: 'run' }> }) {
  if (piece.kind === 'handover') {
    return (
      <svg class="handover" viewBox="0 0 16 34" aria-hidden="true">
        <title>take-over</title>
        <path d="M1 17h11m-4.5-4.5L12 17l-4.5 4.5" />
      </svg>
    );
  }
  return (
    <span
      class={piece.isCut ? 'pause cut' : 'pause'}
      style={{ flexGrow: piece.weight }}
      title={`no owner for ${length(piece.lengthMs)}`}
      aria-hidden="true"
    >
      {piece.isCut && <span class="break">//</span>}
    </span>
  );
}
