/** Worlds with children, budgets and reviews. */
import type { BudgetView, ReviewView } from '../../src/api/http-views.ts';
import type { ChildView, RunView } from '../../src/api/session-view.ts';
import { tenSessions } from './fake-scenes.ts';
import { HOUR_MS, MINUTE_MS } from './fake-world.ts';
import type { FakeSession, FakeWorld } from './fake-world.ts';

export const BUDGETS: Readonly<Record<'within' | 'warn' | 'over' | 'minutes' | 'cost', BudgetView>> = {
  within: {
    scope: 'session',
    kind: 'tokens',
    spent: 420_000,
    limit: 2_000_000,
    fraction: 0.21,
    state: 'within',
  },
  warn: {
    scope: 'session',
    kind: 'tokens',
    spent: 1_690_000,
    limit: 2_000_000,
    fraction: 0.845,
    state: 'warn',
  },
  over: { scope: 'tree', kind: 'tokens', spent: 2_080_000, limit: 2_000_000, fraction: 1.04, state: 'over' },
  minutes: { scope: 'run', kind: 'minutes', spent: 27.4, limit: 60, fraction: 0.4566, state: 'within' },
  cost: { scope: 'day', kind: 'cost', spent: 9.5, limit: 10, fraction: 0.95, state: 'warn', currency: 'USD' },
};

/**
 * The ten, and `lead-claude` with a review of a pull request that itself started a linter, one that is handed on and
 * waits, and one that was cancelled; two of them are live sessions.
 */
export function familyWorld(nowMs = Date.now()): FakeWorld {
  const world = tenSessions(nowMs);
  const lead = world.add({
    name: 'lead-claude',
    status: 'working',
    branch: 'feature/tree',
    tokens: 1_690_000,
    budgets: [BUDGETS.warn, BUDGETS.cost, BUDGETS.minutes],
  });
  const { run } = lead.detail;
  const review = world.add({
    name: 'review-pr-7',
    status: 'idle',
    parent: run,
    tokens: 240_000,
    budgets: [BUDGETS.over],
  });
  const lint = world.add({
    name: 'lint-pr-7',
    status: 'working',
    harness: 'command',
    argv: ['npm', 'run', 'lint'],
    parent: review.detail.run,
    onParentEnd: 'detach',
    tokens: null,
    budgets: [BUDGETS.within],
  });
  const asking = world.add({
    name: 'docs-child',
    status: 'needs-input',
    waitingFor: 'permission to fetch',
    parent: run,
    onParentEnd: 'adopt',
    tokens: 12_300,
  });
  const gone = world.add({ name: 'old-review', status: 'superseded', parent: run });
  const children = [
    childOf(review, run, { subject: 'pr-7', revision: '3f2a91c', tokens: 240_000 }),
    childOf(lint, review.detail.run, { onParentEnd: 'detach' }),
    childOf(asking, run, {
      onParentEnd: 'adopt',
      tokens: 12_300,
      waitsUntil: new Date(nowMs + 8 * MINUTE_MS).toISOString(),
    }),
    childOf(gone, run, { tokens: 1_000_000, run: { ...gone.detail.run, outcome: 'cancelled' } }),
  ];
  lead.detail = { ...lead.detail, children };
  return world;
}

function childOf(session: FakeSession, parent: RunView, more: Partial<ChildView>): ChildView {
  const { name, id, argv, run } = session.detail;
  return {
    session: name,
    sessionId: id,
    parent: parent.id,
    owner: parent.id,
    onParentEnd: 'cancel',
    subject: null,
    revision: null,
    waitsUntil: null,
    argv,
    tokens: null,
    run,
    ...more,
  };
}

/** Two workers with reviews of every status. */
export function reviewWorld(nowMs = Date.now()): FakeWorld {
  const world = familyWorld(nowMs);
  const lead = world.named('lead-claude');
  const web = world.named('web-claude');
  world.reviews = [
    reviewOf(web, nowMs, {
      id: 'v-1',
      pr: 'web/12',
      status: 'superseded',
      supersededBy: 'v-2',
      isCurrent: false,
      tokens: 410_000,
    }),
    reviewOf(web, nowMs, {
      id: 'v-2',
      pr: 'web/12',
      head: 'b'.repeat(40),
      status: 'running',
      tokens: 52_000,
    }),
    reviewOf(web, nowMs, {
      id: 'v-3',
      pr: 'web/14',
      status: 'up-to-date',
      verdict: 'approve',
      tokens: 120_000,
    }),
    reviewOf(web, nowMs, {
      id: 'v-4',
      pr: 'web/15',
      status: 'needs-review',
      reviewer: null,
      startedAt: null,
    }),
    reviewOf(lead, nowMs, {
      id: 'v-5',
      pr: 'lead/7',
      status: 'changes-requested',
      verdict: 'changes',
      tokens: 1_690_000,
    }),
    reviewOf(lead, nowMs, {
      id: 'v-6',
      pr: 'lead/8',
      status: 'failed',
      reason: 'the reviewer ended without submitting: it exited with code 3',
    }),
    reviewOf(lead, nowMs, { id: 'v-7', pr: 'lead/9', status: 'cancelled', reason: 'alice gave it up' }),
  ];
  return world;
}

const OVER: ReadonlySet<ReviewView['status']> = new Set([
  'superseded',
  'up-to-date',
  'changes-requested',
  'cancelled',
  'failed',
]);

export function reviewOf(
  worker: FakeSession,
  nowMs: number,
  more: Partial<ReviewView> & Pick<ReviewView, 'id' | 'pr' | 'status'>,
): ReviewView {
  const { name, id } = worker.detail;
  const place = Number(more.id.slice(2));
  const createdMs = nowMs - HOUR_MS + place * MINUTE_MS;
  return {
    worker: name,
    workerId: id,
    head: `${place}a9c3e5f7`.repeat(5).slice(0, 40),
    tree: null,
    verdict: null,
    reason: null,
    reviewer: { session: `review-${name}`, run: `r-review${place}` },
    tokens: null,
    createdAt: new Date(createdMs).toISOString(),
    startedAt: new Date(createdMs + MINUTE_MS).toISOString(),
    endedAt: OVER.has(more.status) ? new Date(createdMs + 10 * MINUTE_MS).toISOString() : null,
    supersededBy: null,
    isCurrent: true,
    ...more,
  };
}
