/** The lock on a worker's reviews: given back whatever happens, and not waited for without end. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { identify } from '../../src/process/process-table.ts';
import { openContext } from '../../src/supervisor/context.ts';
import type { Context } from '../../src/supervisor/context.ts';
import { withReviewLock } from '../../src/supervisor/review-lock.ts';
import { claimOf, won } from '../store/examples.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
let context: Context;
let worker: string;
beforeEach(async () => {
  sandbox = createSandbox();
  context = await openContext({ home: sandbox.home, environment: sandbox.env });
  worker = (await won(context.store, claimOf('w'))).session.id;
});
afterEach(async () => {
  vi.restoreAllMocks();
  await context.store.close();
  await sandbox.cleanUp();
});

/** By this process, which is alive. */
function take(token: string) {
  const holder = identify(context.table, process.pid);
  return context.store.takeReviewLock({ sessionId: worker, token, holder, instead: null });
}

describe('the lock on reviews', () => {
  it('is held while the work goes on, and given back after it, also when that fails', async () => {
    const works = [async () => 'done', () => Promise.reject(new Error('It failed.'))];
    for (const [index, work] of works.entries()) {
      const working = withReviewLock(context, worker, 'refuse', async (token) => {
        expect(await take(`other-${index}`)).toMatchObject({ is: 'held', token });
        return work();
      });
      await (index === 0
        ? expect(working).resolves.toBe('done')
        : expect(working).rejects.toThrow('It failed.'));
      expect(await take(`after-${index}`)).toStrictEqual({ is: 'taken' });
      await context.store.releaseReviewLock(worker, `after-${index}`);
    }
  });

  it('that cannot be given back changes nothing about what was done', async () => {
    vi.spyOn(context.store, 'releaseReviewLock').mockRejectedValue(new Error('The store is away.'));
    expect(await withReviewLock(context, worker, 'refuse', async () => 'done')).toBe('done');
  });

  it('of one who is alive is not taken over however long it takes: who waits gives up, and nothing is done', async () => {
    await take('theirs');
    let nowMs = 0;
    // A minute a look.
    vi.spyOn(performance, 'now').mockImplementation(() => (nowMs += 60_000));
    const work = vi.fn<() => Promise<void>>();
    for (const terms of ['refuse', 'assume_gone'] as const) {
      await expect(withReviewLock(context, worker, terms, work)).rejects.toMatchObject({
        code: 'busy',
        details: { pid: process.pid },
      });
    }
    expect(work).not.toHaveBeenCalled();
    expect(await take('mine')).toMatchObject({ is: 'held', token: 'theirs' });
  });
});
