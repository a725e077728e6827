/** What a receiver is told: the same JSON for a webhook and a command, and one text for people. */
import type { NotableStatus, Notification } from '../../lifecycle/notification.ts';

export interface SessionDescription {
  readonly name: string;
  readonly harness: string;
  readonly cwd: string;
}

export interface Message {
  /** The number of the event. A receiver that has seen it has seen this message. */
  readonly key: number;
  readonly status: NotableStatus;
  /** The session's name; null when it has been forgotten meanwhile, or could not be looked up. */
  readonly session: string | null;
  readonly sessionId: string;
  readonly run: string;
  readonly harness: string | null;
  readonly directory: string | null;
  /** When it happened, which may be a while before it is told. */
  readonly at: string;
  readonly text: string;
  /** How many earlier ones could not be delivered since the last that was. */
  readonly missed: number;
}

const SAYS: Readonly<Record<NotableStatus, string>> = {
  'needs-input': 'needs input',
  budget: 'is at its budget',
  failed: 'has failed',
  lost: 'is lost',
};

export function messageOf(
  notification: Notification,
  described: SessionDescription | null,
  missed: number,
): Message {
  const { key, status, sessionId, runId, atMs, what } = notification;
  const session = described === null ? null : printable(described.name);
  const note =
    missed === 0
      ? ''
      : ` ${missed} earlier ${missed === 1 ? 'notification was' : 'notifications were'} missed.`;
  return {
    key,
    status,
    session,
    sessionId,
    run: runId,
    harness: described?.harness ?? null,
    directory: described?.cwd ?? null,
    at: new Date(atMs).toISOString(),
    text: `${session ?? sessionId} ${SAYS[status]}. ${printable(what)}${note}`,
    missed,
  };
}

/** The text goes to terminals, into environments and onto screens, which a control character would confuse. */
function printable(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, ' ');
}
