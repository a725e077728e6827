/** Sessions in the order in which a person wants to know of them. */
import type { SessionView } from '../../api/session-view.ts';
import type { Status } from '../../lifecycle/status.ts';

export interface SessionGroup {
  readonly title: string;
  readonly sessions: readonly SessionView[];
}

const GROUPS: readonly (readonly [title: string, statuses: readonly Status[]])[] = [
  ['Needs you', ['needs-input', 'unknown']],
  ['Working', ['working']],
  ['Idle', ['idle']],
  ['Ended', ['done', 'failed', 'lost', 'stopped', 'superseded']],
];

/** Empty ones too, always in the same order. */
export function groupsOf(sessions: readonly SessionView[]): SessionGroup[] {
  return GROUPS.map(([title, statuses]) => ({
    title,
    sessions: sessions.filter(({ status }) => statuses.includes(status)),
  }));
}
