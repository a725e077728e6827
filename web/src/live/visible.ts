/**
 * Whether anybody can see the page. A browser opens six connections to a server at most, for all its tabs together: a
 * tab in the background lets go of those that it holds, for the ones that somebody looks at.
 */
import { signal } from '@preact/signals';

export const isVisible = signal(document.visibilityState === 'visible');

document.addEventListener('visibilitychange', () => {
  isVisible.value = document.visibilityState === 'visible';
});
