/** Sessions in the order in which a person wants to know of them. */
import { withFamilies } from '../../api/session-family.ts';
import type { Placed } from '../../api/session-family.ts';
import type { SessionView } from '../../api/session-view.ts';
import { STATUS_GROUPS } from '../../api/status-words.ts';

interface SessionGroup<T> {
  readonly title: string;
  readonly sessions: readonly T[];
}

/** Each by its own status. Empty ones too, always in the same order. */
export function groupsOf<T extends SessionView>(sessions: readonly T[]): SessionGroup<T>[] {
  return STATUS_GROUPS.map(({ title, statuses }) => ({
    title,
    sessions: sessions.filter(({ status }) => statuses.includes(status)),
  }));
}

/** As they stand on a screen: a live child below what it belongs to. */
export function placedGroups<T extends SessionView>(
  sessions: readonly T[],
): { readonly title: string; readonly placed: readonly Placed<T>[] }[] {
  const groups = groupsOf(sessions);
  const families = withFamilies(groups.map((group) => group.sessions));
  return groups.map(({ title }, index) => ({ title, placed: families[index] ?? [] }));
}
