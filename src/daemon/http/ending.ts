/**
 * What is being done for somebody when the daemon ends.
 *
 *   asked --done--> answered
 *     |  \--the daemon ends--> it has a moment --done--> answered
 *     |                                        \--not done--> told that it was not finished
 *     \--asked for while the daemon ends, and changes something--> told that it was not begun
 *
 * A connection is never cut instead. What was begun is on record before it has an effect, so whoever asks again, of the
 * next daemon or in a terminal, goes on from there.
 */
import type { MiddlewareHandler } from 'hono';
import { ReeveError } from '../../api/errors.ts';
import { answerError } from './operation.ts';
import type { Environment } from './operation.ts';

/** A stop that a harness heeds takes less, and `serve stop` waits for longer than this. */
export const FINISH_WITHIN_MS = 3_000;

export function answerBeforeEnd(closing: AbortSignal): MiddlewareHandler<Environment> {
  const unfinished = new Set<() => void>();
  const tellAll = () => {
    for (const tell of unfinished) tell();
  };
  // It keeps nothing alive: without anybody who waits there is nobody to tell.
  closing.addEventListener('abort', () => setTimeout(tellAll, FINISH_WITHIN_MS).unref(), { once: true });
  return async (request, next) => {
    if (closing.aborted && request.req.method !== 'GET') throw notBegun();
    let tell = () => {};
    const over = new Promise<'over'>((resolve) => {
      tell = () => resolve('over');
      unfinished.add(tell);
    });
    try {
      const is = await Promise.race([next().then(() => 'done' as const), over]);
      if (is === 'done') return;
      const answer = answerError(request, notFinished());
      answer.headers.set('connection', 'close');
      return answer;
    } finally {
      unfinished.delete(tell);
    }
  };
}

function notBegun(): ReeveError {
  return new ReeveError('daemon_stopping', 'The daemon is ending. Nothing was begun.', {
    hint: 'Ask the next daemon, or use the command line, which needs none.',
  });
}

function notFinished(): ReeveError {
  return new ReeveError('daemon_stopping', 'The daemon is ending, and did not finish this.', {
    hint: 'What was begun is on record. Look at the session; ask again to go on from there.',
  });
}
