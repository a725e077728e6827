import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { byWorker, isOfNow } from '../../../src/api/review-words.ts';
import type { WorkerReviews } from '../../../src/api/review-words.ts';
import type { ReviewView } from '../../../src/api/http-views.ts';
import type { ReviewRange } from '../api/paths.ts';
import { reload, reviewRange, reviewState } from '../live/reviews.ts';
import { valueOf } from '../live/loaded.ts';
import { FailureMessage, FailureText, Message } from '../parts/message.tsx';
import { hasNavigated, sessionHref } from '../route.ts';
import { count } from '../words/short.ts';
import { ReviewRow } from './review-row.tsx';

/** What is reviewed, by worker and pull request: what wants a person first. */
export function ReviewBoard() {
  useEffect(() => {
    document.title = 'Reviews · Reeve';
  }, []);
  const state = reviewState.value;
  const known = valueOf(state);
  if (known === null) {
    return state.is === 'failed' ? (
      <FailureMessage title="The reviews could not be loaded" failure={state.failure} retry={reload} />
    ) : (
      <LoadingBoard />
    );
  }
  if (known.length === 0) return <NoReviews />;
  return (
    <Board reviews={known}>{state.is === 'failed' ? <FailureText failure={state.failure} /> : null}</Board>
  );
}

function Board({
  reviews,
  children,
}: {
  readonly reviews: readonly ReviewView[];
  readonly children: ComponentChildren;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (!hasNavigated.value) return;
    window.scrollTo(0, 0);
    heading.current?.focus({ preventScroll: true });
  }, []);
  const shown = reviewRange.value === 'all' ? reviews : reviews.filter(isOfNow);
  return (
    <div class="board">
      <div class="board-head">
        <h1 ref={heading} tabIndex={-1}>
          Reviews
        </h1>
        <div class="chips" role="group" aria-label="Which reviews">
          <RangeChip range="current" says="of the newest heads" />
          <RangeChip range="all" says="every one there was" />
        </div>
      </div>
      {children}
      {shown.length === 0 ? <p class="dim">Nothing is asked for at the moment.</p> : <ColumnHeads />}
      {byWorker(shown).map((worker) => (
        <Worker key={worker.workerId} worker={worker} />
      ))}
    </div>
  );
}

/** Seen by eyes only: each row names its own parts. */
function ColumnHeads() {
  return (
    <div class="column-heads" aria-hidden="true">
      <span class="head-who">Pull request and head</span>
      <span>Status, and what came of it</span>
      <span class="head-tokens">Tokens</span>
      <span>Reviewer</span>
    </div>
  );
}

function RangeChip({ range, says }: { readonly range: ReviewRange; readonly says: string }) {
  return (
    <button
      type="button"
      class="chip"
      title={says}
      aria-pressed={reviewRange.value === range}
      onClick={() => {
        reviewRange.value = range;
      }}
    >
      {range}
    </button>
  );
}

function Worker({ worker: { worker, workerId, pullRequests } }: { readonly worker: WorkerReviews }) {
  const headingId = `worker-${workerId}`;
  const heads = new Map(
    pullRequests.flatMap(({ reviews }) => reviews.map(({ id, head }) => [id, head] as const)),
  );
  return (
    <section class="worker" aria-labelledby={headingId}>
      <h2 id={headingId}>
        <a href={sessionHref(workerId)}>{worker}</a>{' '}
        <span class="number">{count(pullRequests.length, 'pull request')}</span>
      </h2>
      <ul role="list">
        {pullRequests.map(({ reviews }) =>
          reviews.map((review, index) => (
            <ReviewRow
              key={review.id}
              review={review}
              isLatest={index === 0}
              newer={review.supersededBy === null ? null : (heads.get(review.supersededBy) ?? null)}
            />
          )),
        )}
      </ul>
    </section>
  );
}

function NoReviews() {
  return (
    <Message title="No reviews yet">
      <p>Have the work of a session reviewed; it appears here by itself.</p>
      <pre class="command">
        <code>reeve review trigger --worker SESSION --pr KEY=HEADSHA</code>
      </pre>
      <p class="dim">
        A newer head ends the review of the older one. <code>reeve review watch --repo DIR</code> asks anew
        whenever a branch has moved.
      </p>
    </Message>
  );
}

function LoadingBoard() {
  return (
    <div class="board" aria-busy="true">
      <h1>Reviews</h1>
      <p class="unseen" role="status">
        Loading the reviews
      </p>
      <div class="skeleton" aria-hidden="true" />
      <div class="skeleton" aria-hidden="true" />
    </div>
  );
}
