/**
 * What a trigger does about the heads it is told of. Facts in, a plan out; how long anything has been going on is no fact
 * that counts. One reviewer serves all pull requests of a worker: when it has to go for the sake of one, the others move
 * to the fresh one with it, which is started once, however many changed.
 */
import { isStanding } from './review.ts';
import type { Review, Verdict } from './review.ts';

export interface WantedHead {
  readonly pr: string;
  readonly head: string;
  /** Null where no repository told: then nothing is taken for a duplicate. */
  readonly tree: string | null;
}

export interface ReviewFacts {
  /** Each pull request once. */
  readonly wanted: readonly WantedHead[];
  /** Those of the worker, the earliest first, as they are after ended reviewers were accounted for. */
  readonly reviews: readonly Review[];
  /** The reviewer's run that is not proven over. */
  readonly liveRunId: string | null;
  /** Whether a head that was reviewed is reviewed again. */
  readonly repeat: 'once' | 'again';
}

export type HeadPlan = WantedHead &
  (
    | { readonly is: 'reuse' | 'up_to_date'; readonly review: string }
    | { readonly is: 'duplicate'; readonly of: string; readonly verdict: Verdict | null }
    | { readonly is: 'create' }
  );

export interface ReviewPlan {
  readonly heads: readonly HeadPlan[];
  /** Of older heads: to be superseded by what is planned for their pull request. */
  readonly supersede: readonly Review[];
  /** Running, and still wanted: they move to the fresh reviewer. */
  readonly move: readonly Review[];
  /** The run to be ended, and proven gone, before anything else. */
  readonly retire: string | null;
  /** Whether one fresh reviewer is started, with all that is then queued. */
  readonly start: boolean;
}

export function planReviews({ wanted, reviews, liveRunId, repeat }: ReviewFacts): ReviewPlan {
  const heads = wanted.map((each) => planHead(each, reviews, repeat));
  const headOf = new Map(wanted.map(({ pr, head }) => [pr, head]));
  const isStale = ({ pr, head }: Review) => (headOf.get(pr) ?? head) !== head;
  const standing = reviews.filter(isStanding);
  const supersede = standing.filter(isStale);
  const staying = standing.filter((review) => !isStale(review));
  // A reviewer that works on what nobody wants any more, by this trigger or by one that died half-way, must not go on.
  const mustEnd = reviews.some(
    (review) => review.state === 'running' && (isStale(review) || !isStanding(review)),
  );
  const isWaiting = staying.some(({ state }) => state === 'queued');
  const isNew = heads.some(({ is }) => is === 'create');
  const start = (isNew || isWaiting || mustEnd) && (isNew || staying.length > 0);
  const retire = start || mustEnd ? liveRunId : null;
  const move = start ? staying.filter(({ state, intent }) => state === 'running' && intent === null) : [];
  return { heads, supersede, move, retire, start };
}

function planHead(wanted: WantedHead, reviews: readonly Review[], repeat: ReviewFacts['repeat']): HeadPlan {
  const ofPr = reviews.filter(({ pr }) => pr === wanted.pr);
  const standing = ofPr.findLast((review) => isStanding(review) && review.head === wanted.head);
  if (standing !== undefined) return { ...wanted, is: 'reuse', review: standing.id };
  if (repeat === 'again') return { ...wanted, is: 'create' };
  const done = ofPr.findLast(
    ({ state, head }) => head === wanted.head && (state === 'submitted' || state === 'duplicate'),
  );
  if (done !== undefined) return { ...wanted, is: 'up_to_date', review: done.id };
  const same = ofPr.findLast(
    ({ state, tree }) => state === 'submitted' && tree !== null && tree === wanted.tree,
  );
  if (same !== undefined) return { ...wanted, is: 'duplicate', of: same.id, verdict: same.verdict };
  return { ...wanted, is: 'create' };
}
