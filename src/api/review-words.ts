/** How a review is shown, in the terminal and on the page alike: colour is never the only sign. */
import type { ReviewStatus } from '../lifecycle/review.ts';
import type { ReviewView } from './http-views.ts';

export const REVIEW_MARKS: Readonly<Record<ReviewStatus, string>> = {
  'changes-requested': '▲',
  failed: '✗',
  running: '●',
  'needs-review': '○',
  'up-to-date': '✓',
  cancelled: '■',
  superseded: '↷',
};

/** In the order in which a person wants to know of them: what is theirs to do, what is going on, what is over. */
const URGENCY: readonly ReviewStatus[] = [
  'changes-requested',
  'failed',
  'running',
  'needs-review',
  'up-to-date',
  'cancelled',
  'superseded',
];

export interface WorkerReviews {
  readonly worker: string;
  readonly workerId: string;
  readonly pullRequests: readonly {
    readonly pr: string;
    /** The latest first; the others are of older heads, or earlier tries. */
    readonly reviews: readonly ReviewView[];
  }[];
}

/** By worker and pull request, what wants a person first. */
export function byWorker(reviews: readonly ReviewView[]): readonly WorkerReviews[] {
  return grouped(reviews, ({ workerId }) => workerId).map((ofWorker) => ({
    worker: ofWorker[0]?.worker ?? '',
    workerId: ofWorker[0]?.workerId ?? '',
    pullRequests: grouped(ofWorker, ({ pr }) => pr).map((ofPr) => ({ pr: ofPr[0]?.pr ?? '', reviews: ofPr })),
  }));
}

/** What somebody has to do something about. */
export function wantsPerson({ status, isCurrent }: ReviewView): boolean {
  return isCurrent && (status === 'changes-requested' || status === 'failed');
}

/** Only where something is the matter: a review that gave way needs no explanation. */
export function needsExplaining({ status, reason }: ReviewView): boolean {
  return reason !== null && (status === 'failed' || status === 'running' || status === 'needs-review');
}

/** What is so now of each pull request; and what is still being done about an older head, for that is to be seen too. */
export function isOfNow({ status, isCurrent }: ReviewView): boolean {
  return isCurrent || status === 'running' || status === 'needs-review';
}

/** Since when its status is what it is. */
export function reviewSinceMs({ endedAt, startedAt, createdAt }: ReviewView): number {
  return Date.parse(endedAt ?? startedAt ?? createdAt);
}

/** Enough of a commit to tell it from the others of one repository. */
const HEAD_LENGTH = 10;

export function shortHead(head: string): string {
  return head.slice(0, HEAD_LENGTH);
}

function grouped(
  reviews: readonly ReviewView[],
  keyOf: (review: ReviewView) => string,
): readonly (readonly ReviewView[])[] {
  const groups = new Map<string, ReviewView[]>();
  for (const review of reviews) groups.set(keyOf(review), [...(groups.get(keyOf(review)) ?? []), review]);
  return [...groups]
    .map(([key, members]) => [key, members.toSorted(latestFirst)] as const)
    .toSorted(([key, one], [another, other]) => urgency(one) - urgency(other) || (key < another ? -1 : 1))
    .map(([, members]) => members);
}

/** Of what is so now: an older head is nobody's concern any more. */
function urgency(reviews: readonly ReviewView[]): number {
  const current = reviews.filter(isOfNow);
  return Math.min(...(current.length === 0 ? reviews : current).map(({ status }) => URGENCY.indexOf(status)));
}

function latestFirst(one: ReviewView, other: ReviewView): number {
  return (
    Number(other.isCurrent) - Number(one.isCurrent) ||
    Date.parse(other.createdAt) - Date.parse(one.createdAt) ||
    (one.id < other.id ? 1 : -1)
  );
}
