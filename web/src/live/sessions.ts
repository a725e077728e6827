/** Every session that the page knows, as the daemon said it last. */
import { computed, signal } from '@preact/signals';
import type { OverviewView, SessionRow } from '../../../src/api/http-views.ts';
import type { RequestFailure } from '../api/request.ts';
import { isLive } from '../words/status.ts';

export type OverviewState =
  | { readonly is: 'loading' }
  | { readonly is: 'ready' }
  | { readonly is: 'failed'; readonly failure: RequestFailure };

export const overviewState = signal<OverviewState>({ is: 'loading' });

/** By session id. A session is in it once, whatever is heard of it how often. */
export const sessions = signal<ReadonlyMap<string, SessionRow>>(new Map());

/** How many ended sessions were not asked for. */
export const earlierCount = signal(0);

/** With one host only, its name on every row would say nothing. */
export const hasSeveralHosts = computed(
  () => new Set([...sessions.value.values()].map(({ run }) => run.host)).size > 1,
);

const liveByRun = computed(
  () => new Map([...sessions.value.values()].filter(isLive).map((row) => [row.run.id, row])),
);

/** The live session that a live one belongs to as a child; null when there is none. */
export function ownerOf(row: SessionRow): SessionRow | null {
  return (isLive(row) && row.run.owner !== null && liveByRun.value.get(row.run.owner)) || null;
}

export function replaceAll(overview: OverviewView): void {
  sessions.value = new Map(overview.sessions.map((row) => [row.id, row]));
  earlierCount.value = overview.earlier;
}

/** What was asked for and is not in the answer was forgotten by the daemon. */
export function merge(askedIds: readonly string[], rows: readonly SessionRow[]): void {
  const merged = new Map(sessions.value);
  for (const id of askedIds) merged.delete(id);
  for (const row of rows) merged.set(row.id, row);
  sessions.value = merged;
}

export function liveIds(): readonly string[] {
  return [...sessions.value.values()].filter(isLive).map(({ id }) => id);
}
