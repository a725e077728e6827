import type { Call } from './review-calls.ts';
import type { Daemon } from './support.ts';

/** The operation that settles runs in doubt, called rightly and wrongly. */
export function settleCalls(daemon: () => Daemon): Readonly<Record<string, Call>> {
  const settle = (body: unknown) => daemon().ask('POST', '/v1/settle', { body });
  return {
    settle: { good: () => settle({}), bad: () => settle({ sessions: ['none'] }), code: 'not_found' },
  };
}
