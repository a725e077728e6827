import type { Sandbox } from '../support/sandbox.ts';
import { notifyCalls } from './notify-calls.ts';
import { reviewCalls } from './review-calls.ts';
import type { Call } from './review-calls.ts';
import { settleCalls } from './settle-calls.ts';
import type { Daemon } from './support.ts';

/** The operations whose calls have files of their own. */
export function partCalls(at: () => { daemon: Daemon; sandbox: Sandbox }): Readonly<Record<string, Call>> {
  return { ...settleCalls(() => at().daemon), ...notifyCalls(at), ...reviewCalls(at) };
}
