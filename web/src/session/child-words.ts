/** A child run in words. */
import type { ChildView } from '../../../src/api/session-view.ts';
import type { OnParentEnd } from '../../../src/lifecycle/child.ts';
import { STATUS_OF_OUTCOME } from '../../../src/lifecycle/status.ts';
import type { Status } from '../../../src/lifecycle/status.ts';
import { sessions } from '../live/sessions.ts';

/** What becomes of it when its parent ends. */
export const POLICY_WORDS: Readonly<Record<OnParentEnd, string>> = {
  cancel: 'cancelled with its parent',
  adopt: 'handed on',
  detach: 'on its own',
};

/** As the overview knows it, which hears of more than whether it is alive. */
export function childStatus({ sessionId, run }: ChildView): Status {
  if (run.outcome !== null) return STATUS_OF_OUTCOME[run.outcome];
  const row = sessions.value.get(sessionId);
  if (row?.run.id === run.id && row.run.state !== 'ended') return row.status;
  return run.liveness === 'alive' ? 'working' : 'unknown';
}

/** `pr-7@3f2a91c`; empty when nobody said what it is about. */
export function aboutWords({ subject, revision }: ChildView): string {
  return [subject, revision].filter((word) => word !== null).join('@');
}

export interface Branch {
  readonly child: ChildView;
  readonly below: readonly Branch[];
}

/** As a tree, the earliest first. What hangs from a run that is not among them hangs from the session itself. */
export function branchesOf(children: readonly ChildView[]): readonly Branch[] {
  const known = new Set(children.map(({ run }) => run.id));
  const below = (parent: string): readonly Branch[] =>
    children
      .filter((child) => child.parent === parent)
      .map((child) => ({ child, below: below(child.run.id) }));
  return children
    .filter(({ parent }) => !known.has(parent))
    .map((child) => ({ child, below: below(child.run.id) }));
}
