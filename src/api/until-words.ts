/** `--for 2h` and `--until 08:00`, as the moment that is meant. */
import { ReeveError } from './errors.ts';
import { momentFrom, spanFrom } from './since-words.ts';

export interface UntilWords {
  readonly for?: string | undefined;
  readonly until?: string | undefined;
}

/** Null when neither is given: for good. What is over already is a slip, and refused. */
export function untilFrom(words: UntilWords, nowMs: number): number | null {
  if (words.for === undefined && words.until === undefined) return null;
  const spanMs = words.for === undefined ? null : spanFrom(words.for);
  const atMs = words.until === undefined ? null : (timeOfDay(words.until, nowMs) ?? momentFrom(words.until));
  const untilMs = spanMs === null ? atMs : nowMs + spanMs;
  if (untilMs !== null && untilMs > nowMs) return untilMs;
  const given = JSON.stringify((words.for ?? words.until ?? '').slice(0, 60));
  throw new ReeveError(
    'usage',
    words.for === undefined
      ? `${given} is no time to come, like 08:00, 2026-11-01 or 2026-11-01T08:00.`
      : `${given} is no length of time, like 30m, 2h or 7d.`,
    { hint: 'See: reeve notify mute --help' },
  );
}

const TIME_OF_DAY = /^([01]?\d|2[0-3]):([0-5]\d)$/;

/** The next time at which the reader's clock shows it. */
function timeOfDay(text: string, nowMs: number): number | null {
  const [, hour, minute] = TIME_OF_DAY.exec(text) ?? [];
  if (hour === undefined || minute === undefined) return null;
  const at = new Date(nowMs);
  at.setHours(Number(hour), Number(minute), 0, 0);
  if (at.getTime() <= nowMs) at.setDate(at.getDate() + 1);
  return at.getTime();
}
