/** Which session stands below which on a screen, in the terminal and on the page alike. */
import type { SessionView } from './session-view.ts';
import { STATUS_GROUPS } from './status-words.ts';

export interface Placed<T> {
  readonly session: T;
  /** 0 for one that stands by itself, 1 for its child, and so on. */
  readonly depth: number;
}

/**
 * The same groups, in which every live child follows the live session that it belongs to, in whatever group that is.
 * But one that needs somebody stands where people look for those, unless what it belongs to is there too.
 */
export function withFamilies<T extends SessionView>(
  groups: readonly (readonly T[])[],
): readonly Placed<T>[][] {
  const parents = parentsOf(groups.flat());
  const children = new Map<T, T[]>();
  for (const [child, parent] of parents) children.set(parent, [...(children.get(parent) ?? []), child]);
  const family = (session: T, depth: number): Placed<T>[] => [
    { session, depth },
    ...(children.get(session) ?? []).toSorted(earlierFirst).flatMap((child) => family(child, depth + 1)),
  ];
  return groups.map((group) =>
    group.filter((session) => !parents.has(session)).flatMap((session) => family(session, 0)),
  );
}

function parentsOf<T extends SessionView>(sessions: readonly T[]): ReadonlyMap<T, T> {
  const live = new Map(
    sessions.flatMap((session) =>
      session.run.state === 'ended' ? [] : [[session.run.id, session] as const],
    ),
  );
  const found = new Map<T, T>();
  for (const session of live.values()) {
    const parent = session.run.owner === null ? undefined : live.get(session.run.owner);
    if (parent !== undefined && (!needsSomebody(session) || needsSomebody(parent)))
      found.set(session, parent);
  }
  // A ring cannot come about, but of a damaged record nobody is to be left out.
  return new Map([...found].filter(([session]) => !isInRing(session, found)));
}

function isInRing<T>(session: T, parents: ReadonlyMap<T, T>): boolean {
  const seen = new Set<T>();
  for (let at: T | undefined = session; at !== undefined; at = parents.get(at)) {
    if (seen.has(at)) return true;
    seen.add(at);
  }
  return false;
}

/** A child's place among its siblings does not change while it lives. */
function earlierFirst(one: SessionView, other: SessionView): number {
  return Date.parse(one.run.startedAt) - Date.parse(other.run.startedAt) || (one.name < other.name ? -1 : 1);
}

function needsSomebody({ status }: SessionView): boolean {
  return STATUS_GROUPS[0]?.statuses.includes(status) ?? false;
}
