import { amount } from '../../../src/api/amount.ts';
import type { ReviewView } from '../../../src/api/http-views.ts';
import { REVIEW_MARKS, reviewSinceMs, shortHead } from '../../../src/api/review-words.ts';
import { Age } from '../parts/age.tsx';
import { sessionHref } from '../route.ts';

const VERDICT_WORDS: Readonly<Record<NonNullable<ReviewView['verdict']>, string>> = {
  approve: 'approved',
  changes: 'wants changes',
  comment: 'commented',
};

/** One head of a pull request. Those of older heads stand below the newest, and further in. */
export function ReviewRow({
  review,
  isLatest,
  newer,
}: {
  readonly review: ReviewView;
  readonly isLatest: boolean;
  /** The head that took its place, where that is known. */
  readonly newer: string | null;
}) {
  const { pr, head, status, tokens, isCurrent } = review;
  return (
    <li class={`review is-${status}${isLatest ? '' : ' older'}`} data-review={review.id}>
      <span class="mark" aria-hidden="true">
        {REVIEW_MARKS[status]}
      </span>
      <span class="pr">
        <span class="pr-key">{pr}</span>
        <span class="dim head">
          <span class="unseen">head </span>
          <span class="mono" title={head}>
            {shortHead(head)}
          </span>
          {!isCurrent && ' older'}
        </span>
      </span>
      <span class="state">
        <span>
          <span class="word">{status}</span> <Age sinceMs={reviewSinceMs(review)} />
        </span>
        <Because review={review} newer={newer} />
      </span>
      <span class="tokens dim" title={tokens === null ? undefined : `${tokens.toLocaleString('en')} tokens`}>
        {tokens === null ? '' : `${amount(tokens)} tokens`}
      </span>
      <Reviewer review={review} />
    </li>
  );
}

function Because({
  review: { status, verdict, reason },
  newer,
}: {
  readonly review: ReviewView;
  readonly newer: string | null;
}) {
  const words = [
    // That changes are wanted is its status already.
    verdict === null || status === 'changes-requested' ? null : VERDICT_WORDS[verdict],
    status === 'superseded' && newer !== null ? `${shortHead(newer)} took its place` : reason,
  ].filter((word) => word !== null);
  if (words.length === 0) return null;
  return <span class={status === 'failed' ? 'why' : 'why dim'}>{words.join(': ')}</span>;
}

function Reviewer({ review: { reviewer } }: { readonly review: ReviewView }) {
  if (reviewer === null) return <span class="reviewer dim">nobody yet</span>;
  return (
    <span class="reviewer" title={`run ${reviewer.run}`}>
      <span class="unseen">reviewed by </span>
      <a href={sessionHref(reviewer.session)}>{reviewer.session}</a>
    </span>
  );
}
