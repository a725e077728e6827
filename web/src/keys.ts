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

/** Returns how to give them up. */
export function takeRowKeys(keys: RowKeys): () => void {
  rowKeys = keys;
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
  switch (key) {
    case 'j':
    case 'k':
      rowKeys?.move(key === 'j' ? 1 : -1);
      return rowKeys !== null;
    case '/':
      if (rowKeys === null) go('/');
      // From a session's page, the overview is only there after this has been dealt with.
      setTimeout(() => rowKeys?.focusSearch());
      return true;
    case 'v':
      go(route.value.page === 'reviews' ? '/' : REVIEWS_HREF);
      return true;
    case '?':
      isHelpOpen.value = true;
      return true;
    case 'Escape':
      return leave();
    default:
      return false;
  }
}

function leave(): boolean {
  if (rowKeys !== null) return rowKeys.leaveSearch();
  if (route.value.page === 'overview') return false;
  go('/');
  return true;
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]');
}
