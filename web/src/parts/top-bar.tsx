import { isHelpOpen } from '../keys.ts';
import { connection } from '../live/connection.ts';
import { nextTheme, theme } from '../theme.ts';
import type { Theme } from '../theme.ts';
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
      <p class="needing" role="status">
        {needing > 0 && (
          <a href="/">
            <span aria-hidden="true">▲ </span>
            {count(needing, 'session needs you', 'sessions need you')}
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

const LIVE_WORDS = {
  connecting: 'connecting',
  live: 'live',
  lost: 'not connected',
  refused: 'not authorised',
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
