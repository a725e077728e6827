/** Sessions in the order in which a person wants to know of them. */
import type { SessionView } from '../../api/session-view.ts';
import { STATUS_GROUPS } from '../../api/status-words.ts';

export interface SessionGroup {
  readonly title: string;
  readonly sessions: readonly SessionView[];
}

/** Empty ones too, always in the same order. */
export function groupsOf(sessions: readonly SessionView[]): SessionGroup[] {
  return STATUS_GROUPS.map(({ title, statuses }) => ({
    title,
    sessions: sessions.filter(({ status }) => statuses.includes(status)),
  }));
}
