/** `24h`, `7d`, `90m`, a day, or a time, as the moment that is meant. */
import { ReeveError } from './errors.ts';

const UNIT_MS: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};
const SPAN = /^(\d{1,6})([mhdw])$/;
/** A day alone is one in UTC, as the ledger has them; a time without a zone is the reader's own. */
const MOMENT = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)?)?$/;

export function sinceFrom(text: string, nowMs: number): number {
  const agoMs = spanFrom(text);
  const atMs = agoMs === null ? momentFrom(text) : nowMs - agoMs;
  if (atMs !== null) return atMs;
  throw new ReeveError(
    'usage',
    `Since ${JSON.stringify(text.slice(0, 60))} is neither how long ago, like 24h or 7d, nor a day or a time, like 2026-11-01 or 2026-11-01T08:00.`,
    { hint: 'See: reeve usage --help' },
  );
}

/** `90m`, `24h`, `7d`, `2w` in milliseconds; null when it is none. */
export function spanFrom(text: string): number | null {
  const [, count, unit = ''] = SPAN.exec(text) ?? [];
  return count === undefined ? null : Number(count) * (UNIT_MS[unit] ?? 0);
}

/** A day or a time; null when it is none. */
export function momentFrom(text: string): number | null {
  const [, day] = MOMENT.exec(text) ?? [];
  const atMs = day === undefined || !isDay(day) ? Number.NaN : Date.parse(text);
  return Number.isNaN(atMs) ? null : atMs;
}

/** The 30th of February would be taken for a day in March. */
function isDay(day: string): boolean {
  const at = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(day);
}
