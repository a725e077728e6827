/** The store's methods about reviews, whose code is loaded by whoever asks for reviews: most starts do not. */
import { randomUUID } from 'node:crypto';
import type { ReviewParts } from './review-writes.ts';
import type { Sql, SqlDriver } from './sql.ts';
import type { Store } from './store.ts';

const reads = () => import('./reviews.ts');
const writes = () => import('./review-writes.ts');

export function mountReviews(driver: SqlDriver, parts: ReviewParts) {
  const write = async <T>(
    work: (code: Awaited<ReturnType<typeof writes>>, sql: Sql, op: string) => Promise<T>,
  ): Promise<T> => {
    const code = await writes();
    const op = randomUUID();
    return driver.write(op, (sql) => work(code, sql, op));
  };
  return {
    reviews: async (query) => (await reads()).readReviews(driver, query),
    reviewTexts: async (id) => (await reads()).reviewTexts(driver, id),
    // Without an event by which a lost commit is known: a lock that is taken again by the same is taken.
    takeReviewLock: (request) => write((code, sql) => code.takeReviewLock(sql, request)),
    releaseReviewLock: (sessionId, token) =>
      write((code, sql) => code.releaseReviewLock(sql, sessionId, token)),
    writeReviewPlan: (plan) => write((code, sql, op) => code.writeReviewPlan(sql, op, parts, plan)),
    stepReviews: (steps, actor) => write((code, sql, op) => code.stepReviews(sql, op, parts, steps, actor)),
    submitReview: (submission) => write((code, sql, op) => code.submitReview(sql, op, parts, submission)),
  } satisfies Partial<Store>;
}
