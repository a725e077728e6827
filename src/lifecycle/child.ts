/**
 * A run that was started inside another one, and what becomes of it when that one ends.
 *
 *   owned --its owner ends-->  cancel: ended with it, before the owner is terminal
 *                              detach: let go, owned by nobody from then on
 *                              adopt:  waiting --a successor claims the owner's session--> owned by the successor
 *                                              --none within the bound--> ended
 *
 * The policy is on record with the claim, so that whoever ends the owner, or finds it ended, can carry it out.
 */
import type { LiveRun } from './run.ts';

export const CHILD_POLICIES = ['cancel', 'adopt', 'detach'] as const;

export type OnParentEnd = (typeof CHILD_POLICIES)[number];

/** What a run is told about its being a child, when it is claimed. */
export interface ChildTerms {
  readonly onParentEnd: OnParentEnd;
  /** How long it may wait for a successor of its owner. */
  readonly adoptWithinMs: number;
  /** What it is about, and which state of that: a pull request, and a commit. */
  readonly subject: string | null;
  readonly revision: string | null;
}

export interface Parentage extends ChildTerms {
  /** The run inside which it was started. That never changes. */
  readonly startedBy: string;
  /** The run with whose end it is dealt with; null once it was let go. */
  readonly ownerId: string | null;
  /** Set while its owner is over and no successor has come: when the wait ends. */
  readonly waitsUntilMs: number | null;
}

/** Ten minutes: a restart takes seconds, a person who has to notice that one is due takes longer. */
export const DEFAULT_ADOPT_WITHIN_MS = 10 * 60_000;

export const DEFAULT_TERMS: ChildTerms = {
  onParentEnd: 'cancel',
  adoptWithinMs: DEFAULT_ADOPT_WITHIN_MS,
  subject: null,
  revision: null,
};

/** An agent that starts an agent that starts an agent: deeper than this is a loop, not a plan. */
export const MAX_CHILD_DEPTH = 8;

export type ChildPlan =
  | { readonly do: 'cancel'; readonly because: string }
  | { readonly do: 'await'; readonly withinMs: number }
  | { readonly do: 'detach' };

/** What the end of its owner means for a child. */
export function planForChild(child: LiveRun, owner: { id: string; outcome: string | null }): ChildPlan {
  const how = owner.outcome === null ? 'has ended' : `was ${owner.outcome}`;
  const cancel = { do: 'cancel', because: `its parent, run ${owner.id}, ${how}` } as const;
  if (child.parent === null) return cancel;
  switch (child.parent.onParentEnd) {
    case 'cancel':
      return cancel;
    case 'adopt':
      return { do: 'await', withinMs: child.parent.adoptWithinMs };
    case 'detach':
      return { do: 'detach' };
  }
}
