import { MAX_SESSION_NAME_LENGTH } from '../lifecycle/session.ts';
import type { Session } from '../lifecycle/session.ts';

/** One stable session a worker. */
export function reviewerName({ name, id }: Pick<Session, 'name' | 'id'>): string {
  const stable = `review-${name}`;
  return stable.length > MAX_SESSION_NAME_LENGTH ? `review-${id}` : stable;
}
