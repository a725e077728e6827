/** The keys of the page. While somebody types, or a dialog is open, they mean themselves. */
import { signal } from '@preact/signals';
import { go, REVIEWS_HREF, route } from './route.ts';

export const isHelpOpen = signal(false);

/** What the overview does with its keys, while it is shown. */
export interface RowKeys {
  move(by: 1 | -1): void;
  focusSearch(): void;
  /** Whether there was a search to leave. */
  leaveSearch(): boolean;
}

let rowKeys: RowKeys | null = null;
/** Slash was pressed before there was a search to go to. Any other key takes that back. */
let isSearchWanted = false;

/**
 * Returns how to give them up. Both belong into a layout effect: other effects, and what undoes them, run after the
 * next paint, and a key that is pressed before it would go to the page that was left.
 */
export function takeRowKeys(keys: RowKeys): () => void {
  rowKeys = keys;
  if (isSearchWanted) keys.focusSearch();
  isSearchWanted = false;
  return () => {
    if (rowKeys === keys) rowKeys = null;
  };
}

/** For the help dialog. */
export const KEYS: readonly (readonly [key: string, meaning: string])[] = [
  ['j', 'the next session'],
  ['k', 'the one before'],
  ['Enter', 'open it'],
  ['/', 'search'],
  ['v', 'the reviews, and back'],
  ['Esc', 'leave the search, a dialog, or the session'],
  ['← →', 'in the ownership strip: the run before, the next one'],
  ['?', 'this help'],
];

export function startKeys(): void {
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (document.querySelector('dialog[open]') !== null) return;
    if (isTyping(event.target) && event.key !== 'Escape') return;
    if (take(event.key)) event.preventDefault();
  });
}

function take(key: string): boolean {
  // The route changes before the page does.
  const rows = route.value.page === 'overview' ? rowKeys : null;
  isSearchWanted = false;
  switch (key) {
    case 'j':
    case 'k':
      rows?.move(key === 'j' ? 1 : -1);
      return rows !== null;
    case '/':
      search(rows);
      return true;
    case 'v':
      go(route.value.page === 'reviews' ? '/' : REVIEWS_HREF);
      return true;
    case '?':
      isHelpOpen.value = true;
      return true;
    case 'Escape':
      return leave(rows);
    default:
      return false;
  }
}

function search(rows: RowKeys | null): void {
  if (rows !== null) return rows.focusSearch();
  isSearchWanted = true;
  go('/');
}

function leave(rows: RowKeys | null): boolean {
  if (rows !== null) return rows.leaveSearch();
  if (route.value.page === 'overview') return false;
  go('/');
  return true;
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]');
}
