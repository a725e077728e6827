/**
 * Whether what is shown is kept current.
 *
 *   connecting --the stream opens--> live --it breaks--> lost --it opens again--> live
 *        any --the daemon does not know this browser--> refused --somebody asks to try again--> connecting
 *
 * `lost` keeps the moment at which it began: what is shown is as of then.
 */
import { signal } from '@preact/signals';

export type Connection =
  | { readonly is: 'connecting' }
  | { readonly is: 'live' }
  | { readonly is: 'lost'; readonly sinceMs: number }
  | { readonly is: 'refused' };

export const connection = signal<Connection>({ is: 'connecting' });

export function markLive(): void {
  connection.value = { is: 'live' };
}

/** Only the first break counts; failing to come back is the same one. */
export function markLost(): void {
  if (connection.value.is !== 'lost') connection.value = { is: 'lost', sinceMs: Date.now() };
}

export function markRefused(): void {
  connection.value = { is: 'refused' };
}
