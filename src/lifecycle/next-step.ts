/** What a person can do about a notification, as a sentence with the command to type. */
import type { Notification } from './notification.ts';
import type { RunMode } from './run.ts';
import type { BudgetFigures, BudgetKind } from './session-budget.ts';

/** The session as it is when the notification is sent, which may be a while after what it tells. */
export interface AddressedSession {
  readonly name: string;
  /** Of the run that it is about; null when that is no longer the session's current one, or not known. */
  readonly run: { readonly mode: RunMode; readonly isLive: boolean } | null;
}

/** Null for a session that was forgotten meanwhile, or could not be looked up. */
export function nextStep(notification: Notification, session: AddressedSession | null): string {
  const { status, budget, review } = notification;
  if (session === null) return 'See what there is: reeve ls';
  const { name, run } = session;
  if (review !== undefined) return `Read it: reeve review show ${review}`;
  const mode = run?.isLive === true ? run.mode : null;
  if (budget !== undefined) return raise(name, budget, mode);
  switch (status) {
    case 'needs-input':
      return answer(name, mode);
    case 'idle':
      return goOn(name, mode);
    case 'budget':
      return `Look: reeve budget ${name}`;
    case 'done':
      return run?.mode === 'detached' ? `Look: reeve logs ${name}` : `Look: reeve show ${name}`;
    case 'failed':
    case 'lost':
    case 'ended':
    case 'review':
      return `Look: reeve why ${name}`;
  }
}

function answer(name: string, mode: RunMode | null): string {
  switch (mode) {
    case 'tmux':
      return `Answer: reeve attach ${name}`;
    case 'foreground':
    case 'adopted':
      return 'Answer in the terminal that it runs in.';
    case 'detached':
      // Nobody can type anything into it.
      return `Take it over in tmux to answer: reeve resume ${name} --tmux --on-live retire`;
    case null:
      return `Look: reeve why ${name}`;
  }
}

function goOn(name: string, mode: RunMode | null): string {
  switch (mode) {
    case 'tmux':
      return `Go on: reeve attach ${name}`;
    case 'foreground':
    case 'adopted':
      return 'Go on in the terminal that it runs in.';
    case 'detached':
      return `Look: reeve logs ${name}`;
    case null:
      return `Look: reeve show ${name}`;
  }
}

const FLAGS: Readonly<Record<BudgetKind, string>> = {
  tokens: '--max-tokens MORE',
  cost: '--max-cost MORE',
  minutes: '--max-minutes MORE',
};

/** Only a session's own limit can be set by a command; the others are the configuration's. */
function raise(name: string, { scope, kind }: BudgetFigures, mode: RunMode | null): string {
  if (scope === 'session') {
    return mode === null
      ? `Raise it and go on: reeve resume ${name} ${FLAGS[kind]}`
      : `Raise it: reeve budget set ${name} ${FLAGS[kind]}`;
  }
  const raised = `Raise budget.${scope} in config.toml`;
  return mode === null ? `${raised}, then go on: reeve resume ${name}` : `${raised}, or: reeve stop ${name}`;
}
