/** The rollouts of a thread of Codex and of its subagents. */
import { basename, join } from 'node:path';
import type { Environment } from './adapter.ts';
import { filesAt, headOf, isObject, namesIn, textField } from './transcript.ts';
import { codexLines } from './usage-codex.ts';
import { readerOfLines } from './usage-lines.ts';
import type { UsageReader } from './usage.ts';

/** A subagent begins while somebody looks: on the day of its thread's beginning, or on one of the latest. */
const LATEST_DAYS = 3;
/** Which thread a rollout belongs to never changes; a path and an id each. */
const MAX_KNOWN = 20_000;
const DAY_MS = 24 * 60 * 60 * 1000;
/** The latest moment that has a date. */
const LATEST_MS = 8.64e15;
const THREAD = /([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl$/i;

export function codexUsage(homeIn: (environment: Environment) => string): UsageReader {
  const rootOf = rememberedRoots();
  return readerOfLines(codexLines, ({ environment }, nativeId) => {
    const sessions = join(homeIn(environment), 'sessions');
    const days = daysIn(sessions);
    const own = rolloutsOf(sessions, days, nativeId);
    const around = new Set([...own.map((path) => join(path, '..')), ...days.slice(-LATEST_DAYS)]);
    const below = [...around].flatMap((day) =>
      filesAt(day, 0, (name) => (THREAD.exec(name)?.[1] ?? '') > nativeId).filter(
        (path) => rootOf(path) === nativeId,
      ),
    );
    return [...own, ...below];
  });
}

/** In order. */
function daysIn(sessions: string): readonly string[] {
  return namesIn(sessions)
    .flatMap((year) => namesIn(join(sessions, year)).map((month) => join(sessions, year, month)))
    .flatMap((month) => namesIn(month).map((day) => join(month, day)))
    .toSorted();
}

/** The day is looked for first where the id says that it began: ids begin with the time, local days are a day off. */
function rolloutsOf(sessions: string, days: readonly string[], nativeId: string): readonly string[] {
  const wanted = (name: string) => name.startsWith('rollout-') && name.endsWith(`${nativeId}.jsonl`);
  const begunAtMs = Number.parseInt(nativeId.replaceAll('-', '').slice(0, 12), 16);
  const near = [-1, 0, 1].map((later) => dayOf(sessions, begunAtMs + later * DAY_MS));
  const found = near.flatMap((day) => filesAt(day, 0, wanted));
  return found.length > 0 ? found : days.flatMap((day) => filesAt(day, 0, wanted));
}

function dayOf(sessions: string, atMs: number): string {
  // An id that does not begin with a time.
  if (!(atMs <= LATEST_MS)) return join(sessions, 'none');
  const date = new Date(atMs).toISOString().slice(0, 10);
  return join(sessions, ...date.split('-'));
}

/** The thread at the root of a rollout's, as its first line says. */
function rememberedRoots(): (path: string) => string | null {
  const known = new Map<string, string | null>();
  return (path) => {
    const remembered = known.get(basename(path));
    if (remembered !== undefined) return remembered;
    const [meta] = headOf(path);
    // Not written yet.
    if (meta === undefined) return null;
    const root = isObject(meta['payload']) ? textField(meta['payload'], 'session_id') : null;
    if (known.size < MAX_KNOWN) known.set(basename(path), root);
    return root;
  };
}
