/** The time, once a second, for ages that grow while somebody looks. */
import { signal } from '@preact/signals';
import { isVisible } from './visible.ts';

const TICK_MS = 1000;

export const now = signal(Date.now());

export function startClock(): void {
  setInterval(tick, TICK_MS);
  // A hidden page's timers are slowed down; what is shown when it comes back must not be old.
  isVisible.subscribe(tick);
}

function tick(): void {
  if (isVisible.peek()) now.value = Date.now();
}
