/** What a receiver is told: the same JSON for a webhook and a command, and one text for people. */
import { budgetWords, percentOf } from '../../api/budget-words.ts';
import type { AddressedSession } from '../../lifecycle/next-step.ts';
import { nextStep } from '../../lifecycle/next-step.ts';
import type { NotableStatus, Notification } from '../../lifecycle/notification.ts';
import type { BudgetFigures } from '../../lifecycle/session-budget.ts';

export interface SessionDescription extends AddressedSession {
  readonly harness: string;
  readonly cwd: string;
}

/** The session of a notification, as it is now; null when it has been forgotten. */
export type Describe = (
  about: Pick<Notification, 'sessionId' | 'runId'>,
) => Promise<SessionDescription | null>;

/** One limit as a program reads it. */
type BudgetMessage = BudgetFigures & { readonly percent: number };

export interface Message {
  /** The number of the event. A receiver that has seen it has seen this message. */
  readonly key: number;
  readonly status: NotableStatus | 'test';
  /** The session's name; null when it has been forgotten meanwhile, or could not be looked up. */
  readonly session: string | null;
  /** Null in a test message alone. */
  readonly sessionId: string | null;
  /** The run it is about; of a review the reviewer's, or null when nobody had it. */
  readonly run: string | null;
  readonly harness: string | null;
  readonly directory: string | null;
  /** When it happened, which may be a while before it is told. */
  readonly at: string;
  readonly text: string;
  /** What to do about it, which is also the end of the text. */
  readonly next: string;
  /** What was spent of which limit; null when it is not about one. */
  readonly budget: BudgetMessage | null;
  /** How many earlier ones could not be delivered since the last that was. */
  readonly missed: number;
}

const SAYS: Readonly<Record<NotableStatus, string>> = {
  'needs-input': 'needs input',
  budget: 'is at its budget',
  failed: 'has failed',
  lost: 'is lost',
  ended: 'has ended',
  done: 'is done',
  idle: 'is idle',
  review: 'has a review',
};

export function messageOf(
  notification: Notification,
  described: SessionDescription | null,
  missed: number,
): Message {
  const { key, status, sessionId, runId, atMs, what, budget } = notification;
  const session = described === null ? null : printable(described.name);
  const next = printable(nextStep(notification, described));
  const spent = budget === undefined ? '' : ` ${spentWords(budget)}`;
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
    text: `${session ?? sessionId} ${SAYS[status]}. ${printable(what)}${spent}${note} ${next}`,
    next,
    budget: budget === undefined ? null : { ...budget, percent: percentOf(budget.spent / budget.limit) },
    missed,
  };
}

/** `It has used 85%: 1.7M of 2M tokens, session.` */
function spentWords(figures: BudgetFigures): string {
  const fraction = figures.spent / figures.limit;
  const words = budgetWords({ ...figures, fraction, state: fraction < 1 ? 'warn' : 'over' });
  return `It has used ${percentOf(fraction)}%: ${words}.`;
}

/** The text goes to terminals, into environments and onto screens, which a control character would confuse. */
function printable(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, ' ');
}
