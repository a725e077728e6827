import type { Review } from '../../src/lifecycle/review.ts';

export function reviewOf(changes: Partial<Review> = {}): Review {
  const running = changes.state === undefined || changes.state === 'running';
  return {
    id: 'rev-1',
    sessionId: 's-worker',
    pr: '17',
    head: 'aaaa',
    tree: null,
    state: 'running',
    intent: null,
    supersededBy: null,
    sameAs: null,
    reviewerRunId: running ? 'r-1' : null,
    verdict: null,
    reason: null,
    createdAtMs: 1,
    startedAtMs: running ? 2 : null,
    endedAtMs: null,
    ...changes,
  };
}
