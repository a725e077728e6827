/**
 * Whether anybody can see the page. A browser opens six connections to a server at most, for all its tabs together, and
 * a stream holds one: a tab in the background lets go of its own, or the seventh would wait for ever.
 */
import { signal } from '@preact/signals';

export const isVisible = signal(document.visibilityState === 'visible');

document.addEventListener('visibilitychange', () => {
  isVisible.value = document.visibilityState === 'visible';
});
