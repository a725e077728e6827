/** Which rows are shown, in which groups and in which order. */
import { computed, signal } from '@preact/signals';
import type { SessionRow } from '../../../src/api/http-views.ts';
import { withFamilies } from '../../../src/api/session-family.ts';
import type { Placed } from '../../../src/api/session-family.ts';
import { sessions } from '../live/sessions.ts';
import { STATUS_GROUPS } from '../../../src/api/status-words.ts';
import { isLive, sinceMs } from '../words/status.ts';
import type { StatusGroup } from '../../../src/api/status-words.ts';
import { matches } from './search.ts';

export interface Group extends StatusGroup {
  /** A live child below what it belongs to. */
  readonly rows: readonly Placed<SessionRow>[];
}

export const query = signal('');

/** Null shows all harnesses. */
export const harnessFilter = signal<string | null>(null);

/** The row that keys move from; also after a visit to its page. */
export const selectedId = signal<string | null>(null);

/** The row that shall get the focus as soon as it is in the document. */
export const focusId = signal<string | null>(null);

export const groups = computed<readonly Group[]>(() => {
  const shown = [...sessions.value.values()].filter(
    (row) =>
      (harnessFilter.value === null || row.harness === harnessFilter.value) && matches(row, query.value),
  );
  const families = withFamilies(
    STATUS_GROUPS.map((kind) =>
      ordered(
        shown.filter(({ status }) => kind.statuses.includes(status)),
        kind,
      ),
    ),
  );
  return STATUS_GROUPS.map((kind, index) => ({ ...kind, rows: families[index] ?? [] })).filter(
    ({ rows }) => rows.length > 0,
  );
});

/** In the order of the screen, for keys. */
export const shownIds = computed(() =>
  groups.value.flatMap(({ rows }) => rows.map(({ session }) => session.id)),
);

export const harnesses = computed<readonly (readonly [harness: string, count: number])[]>(() => {
  const counts = new Map<string, number>();
  for (const { harness } of sessions.value.values()) counts.set(harness, (counts.get(harness) ?? 0) + 1);
  return [...counts].sort(([one], [other]) => one.localeCompare(other));
});

/** Of all sessions, whatever is searched for. */
export const needingCount = computed(
  () => [...sessions.value.values()].filter((row) => STATUS_GROUPS[0]?.statuses.includes(row.status)).length,
);

/**
 * Rows must not jump about under a pointer: who waits longest stands first, so that a new one is added below; what is
 * alive stands by its start, which does not change while it works and rests.
 */
function ordered(rows: readonly SessionRow[], { name }: StatusGroup): readonly SessionRow[] {
  const keyOf = (row: SessionRow): number => {
    if (name === 'needs-you') return sinceMs(row);
    return isLive(row) ? -Date.parse(row.run.startedAt) : -sinceMs(row);
  };
  return rows
    .map((row) => [keyOf(row), row] as const)
    .sort(([one, row], [other, another]) => one - other || (row.name < another.name ? -1 : 1))
    .map(([, row]) => row);
}
