/**
 * For how long something was live on a machine that was awake. A clock that stands still while the machine sleeps tells,
 * and its readings mean something only beside others of the same clock: of one boot of one machine.
 */
import type { Run } from './run.ts';

/** Between two readings of one clock. */
export interface AwakeSpan {
  readonly clock: string;
  readonly fromMs: number;
  readonly toMs: number;
}

export interface AwakeNow {
  readonly clock: string;
  /** Null where no clock tells. */
  readonly nowMs: number | null;
}

export function clockOf({ boot, pidNamespace }: { boot: string; pidNamespace: string }): string {
  return `${boot} ${pidNamespace}`;
}

/** Of a run that is over, or on another clock than this process's, what was recorded last is all that is known. */
export function awakeSpan(run: Run, here: AwakeNow): AwakeSpan | null {
  if (run.awake === null || run.keeper === null) return null;
  const { fromMs, ms } = run.awake;
  const clock = clockOf(run.keeper);
  const isNow = run.state !== 'ended' && clock === here.clock;
  const toMs = isNow && here.nowMs !== null ? here.nowMs : fromMs + (ms ?? 0);
  return { clock, fromMs, toMs: Math.max(fromMs, toMs) };
}

/**
 * What is recorded with its end; undefined when only what was recorded before is known. An end may be found long after
 * it: then the wall clock bounds it, unless that was set back meanwhile.
 */
export function awakeAtEnd(run: Run, here: AwakeNow, endedAtMs: number): number | undefined {
  if (run.awake === null || run.keeper === null || run.startedAtMs === null || here.nowMs === null)
    return undefined;
  if (clockOf(run.keeper) !== here.clock) return undefined;
  const { fromMs, ms } = run.awake;
  const passedMs = Math.max(0, here.nowMs - fromMs);
  const wallMs = endedAtMs - run.startedAtMs;
  return wallMs < 0 ? passedMs : Math.min(passedMs, Math.max(wallMs, ms ?? 0));
}

/** The part of it since a moment of the wall clock, as far as can be told: no longer than the wall clock says. */
export function spanSince(span: AwakeSpan, sinceMs: number, untilMs: number): AwakeSpan {
  const fromMs = Math.max(span.fromMs, span.toMs - Math.max(0, untilMs - sinceMs));
  return { ...span, fromMs };
}

/** What goes on side by side is counted once: it is the time of whoever waits for all of it. */
export function awakeTotalMs(spans: readonly AwakeSpan[]): number {
  const sorted = spans.toSorted(
    (one, other) => one.clock.localeCompare(other.clock) || one.fromMs - other.fromMs,
  );
  let [total, clock, reachedMs] = [0, '', 0];
  for (const span of sorted) {
    if (span.clock !== clock) [clock, reachedMs] = [span.clock, Number.NEGATIVE_INFINITY];
    total += Math.max(0, span.toMs - Math.max(span.fromMs, reachedMs));
    reachedMs = Math.max(reachedMs, span.toMs);
  }
  return total;
}
