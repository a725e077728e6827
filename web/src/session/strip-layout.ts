/**
 * Where the runs of a session stand in the ownership strip.
 *
 * Within a line a width is a length of time: a piece grows by its weight, and the style keeps every run wide enough for
 * its number. A pause is time without an owner; one that would push the runs aside is shortened, and drawn broken.
 * More runs than fit in one line are spread evenly over several, each with a scale of its own.
 */
import type { RunView } from '../../../src/api/session-view.ts';

export type Piece =
  | { readonly kind: 'run'; readonly run: RunView; readonly weight: number }
  /** One run's owner took over from the one before. */
  | { readonly kind: 'handover'; readonly weight: 0 }
  | { readonly kind: 'pause'; readonly lengthMs: number; readonly isCut: boolean; readonly weight: number };

export interface StripLine {
  readonly pieces: readonly Piece[];
  readonly fromMs: number;
  /** Null is now: the last run of the line lives. */
  readonly toMs: number | null;
}

/** As the style has it: room for a number, a mark, and what joins it to the next. */
const RUN_PX = 60;
/** The longest that a pause may be, as a part of what was owned in its line. */
const LONGEST_PAUSE = 0.15;

export function layOutStrip(runs: readonly RunView[], nowMs: number, widthPx: number): readonly StripLine[] {
  const perLine = Math.max(1, Math.floor(widthPx / RUN_PX));
  const lineCount = Math.ceil(runs.length / perLine);
  const size = Math.ceil(runs.length / Math.max(1, lineCount));
  return Array.from({ length: lineCount }, (_, line) =>
    lineOf(runs.slice(line * size, (line + 1) * size), nowMs),
  ).filter(({ pieces }) => pieces.length > 0);
}

export function lengthMs(run: RunView, nowMs: number): number {
  const endMs = run.endedAt === null ? nowMs : Date.parse(run.endedAt);
  return Math.max(0, endMs - Date.parse(run.startedAt));
}

function lineOf(runs: readonly RunView[], nowMs: number): StripLine {
  const ownedMs = runs.reduce((sum, run) => sum + lengthMs(run, nowMs), 0);
  const last = runs.at(-1);
  return {
    pieces: runs.flatMap((run, index) => [
      ...joint(runs[index - 1], run, ownedMs),
      // No weight at all would leave a strip of momentary runs at its left end.
      { kind: 'run' as const, run, weight: Math.max(1, lengthMs(run, nowMs)) },
    ]),
    fromMs: Date.parse(runs[0]?.startedAt ?? ''),
    toMs: last === undefined || last.endedAt === null ? null : Date.parse(last.endedAt),
  };
}

function joint(before: RunView | undefined, run: RunView, ownedMs: number): readonly Piece[] {
  if (before === undefined || before.endedAt === null) return [];
  if (before.outcome === 'superseded') return [{ kind: 'handover', weight: 0 }];
  const pauseMs = Math.max(0, Date.parse(run.startedAt) - Date.parse(before.endedAt));
  const longestMs = ownedMs * LONGEST_PAUSE;
  const isCut = pauseMs > longestMs;
  return [{ kind: 'pause', lengthMs: pauseMs, isCut, weight: isCut ? longestMs : pauseMs }];
}
