/** The reviews: asked for once the sessions are on the screen, and again whenever an event tells of one. */
import { computed, effect, signal } from '@preact/signals';
import type { ReviewsView, ReviewView } from '../../../src/api/http-views.ts';
import { isOfNow } from '../../../src/api/review-words.ts';
import { reviewsPath } from '../api/paths.ts';
import type { ReviewRange } from '../api/paths.ts';
import { failureOf, get } from '../api/request.ts';
import type { RequestFailure } from '../api/request.ts';
import { onEvent, onSessionsChanged } from './feed.ts';
import { askerOf, valueOf } from './loaded.ts';
import type { Loaded } from './loaded.ts';
import { overviewState } from './sessions.ts';

/** A trigger for several pull requests is a burst of events. */
const GATHER_MS = 150;

export const reviewRange = signal<ReviewRange>('current');

export const reviewState = signal<Loaded<readonly ReviewView[]>>({ is: 'loading' });

/** What is so now of each pull request, whatever the board shows. */
export const currentReviews = computed(() => (valueOf(reviewState.value) ?? []).filter(isOfNow));

let asked: ReviewRange = 'current';
const asker = askerOf(load);
let gathering: ReturnType<typeof setTimeout> | undefined;

export function startReviews(): void {
  const isWaiting = computed(() => overviewState.value.is === 'loading');
  effect(() => {
    if (!isWaiting.value) askFor(reviewRange.value);
  });
  onEvent(({ kind }) => {
    if (kind.startsWith('review.')) gathering ??= setTimeout(reload, GATHER_MS);
  });
  // What a reviewer spends, and what was missed, comes without an event.
  onSessionsChanged((changed) => {
    if (changed === 'all' && currentReviews.value.length > 0) asker.ask();
  });
}

function askFor(range: ReviewRange): void {
  asked = range;
  asker.ask();
}

export function reload(): void {
  gathering = undefined;
  asker.ask();
}

async function load(): Promise<void> {
  try {
    const { reviews } = await get<ReviewsView>(reviewsPath(asked));
    reviewState.value = { is: 'ready', value: reviews };
  } catch (error) {
    reviewState.value = afterFailure(failureOf(error), valueOf(reviewState.value));
  }
}

/** A daemon that knows no reviews has none. */
function afterFailure(
  failure: RequestFailure,
  value: readonly ReviewView[] | null,
): Loaded<readonly ReviewView[]> {
  return failure.httpStatus === 404 ? { is: 'ready', value: [] } : { is: 'failed', failure, value };
}
