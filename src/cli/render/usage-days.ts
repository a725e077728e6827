/** Every day from the first to the last, also those on which nothing was spent, as one line. */
import type { UsageRowView } from '../../api/usage-view.ts';
import { sparkline } from './bar.ts';
import { span } from './line.ts';
import type { Line } from './line.ts';
import { cyan, dim } from './style.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
/** More than a year of them is no line any more. */
const MAX_DAYS = 366;
const LABELS_WIDTH = 2 * ('2026-11-01'.length + 1);

/** Null for one day, of which a line says nothing. The latest, where there are too many. */
export function daysLine(rows: readonly UsageRowView[], width: number): Line | null {
  // A transcript may say any time; what is not of these thousands of years is in the table alone.
  const spentOn = new Map(
    rows.filter(({ name }) => /^\d{4}-\d\d-\d\d$/.test(name)).map((row) => [row.name, row.total]),
  );
  const days = [...spentOn.keys()];
  const [first, last] = [days[0], days.at(-1)];
  const room = Math.min(MAX_DAYS, width - LABELS_WIDTH);
  if (first === undefined || last === undefined || first === last || room < 2) return null;
  const lastMs = Date.parse(last);
  const count = Math.min(room, (lastMs - Date.parse(first)) / DAY_MS + 1);
  const shown = Array.from({ length: count }, (_, index) => dayOf(lastMs - (count - 1 - index) * DAY_MS));
  const line = sparkline(shown.map((day) => spentOn.get(day) ?? 0));
  return [span(`${shown[0]} `, dim), span(line, cyan), span(` ${last}`, dim)];
}

function dayOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}
