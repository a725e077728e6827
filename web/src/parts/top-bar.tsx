import { isHelpOpen } from '../keys.ts';
import { REVIEWS_HREF, route } from '../route.ts';
import { connection } from '../live/connection.ts';
import { currentReviews } from '../live/reviews.ts';
import { nextTheme, theme } from '../theme.ts';
import type { Theme } from '../theme.ts';
import { wantsPerson } from '../../../src/api/review-words.ts';
import { needingCount } from '../overview/groups.ts';
import { count } from '../words/short.ts';

const THEME_MARKS: Readonly<Record<Theme, string>> = { system: '◐', light: '☀', dark: '☾' };

export function TopBar() {
  const needing = needingCount.value;
  return (
    <header class="top-bar">
      <a class="brand" href="/">
        Reeve
      </a>
      <ReviewsLink />
      <p class="needing" role="status">
        {needing > 0 && (
          <a href="/">
            <span aria-hidden="true">▲ </span>
            {needing}
            <span class="words"> {needing === 1 ? 'session needs' : 'sessions need'} you</span>
          </a>
        )}
      </p>
      <LiveMark />
      <button
        type="button"
        class="small quiet"
        onClick={nextTheme}
        aria-label={`Theme: ${theme.value}. Change it.`}
        title={`Theme: ${theme.value}`}
      >
        <span aria-hidden="true">{THEME_MARKS[theme.value]}</span>
      </button>
      <button
        type="button"
        class="small quiet"
        onClick={() => {
          isHelpOpen.value = true;
        }}
        aria-label="Keys"
        title="Keys (?)"
      >
        <span aria-hidden="true">?</span>
      </button>
    </header>
  );
}

/** Only for those who have any: most have none. */
function ReviewsLink() {
  const isThere = route.value.page === 'reviews';
  const reviews = currentReviews.value;
  if (reviews.length === 0 && !isThere) return null;
  const wanting = reviews.filter(wantsPerson).length;
  return (
    <nav class="pages" aria-label="Pages">
      <a href={REVIEWS_HREF} aria-current={isThere ? 'page' : undefined}>
        Reviews <span class="number">{reviews.length}</span>
        {wanting > 0 && (
          <span class="wanting" title={`${count(wanting, 'review wants', 'reviews want')} you`}>
            <span aria-hidden="true"> ▲{wanting}</span>
            <span class="unseen">, {count(wanting, 'wants', 'want')} you</span>
          </span>
        )}
      </a>
    </nav>
  );
}

const LIVE_WORDS = {
  connecting: 'connecting',
  live: 'live',
  lost: 'not connected',
  refused: 'not signed in',
} as const;

function LiveMark() {
  const { is } = connection.value;
  return (
    <span class={`live-mark is-${is}`}>
      <span aria-hidden="true">{is === 'live' ? '●' : '○'} </span>
      {LIVE_WORDS[is]}
    </span>
  );
}
