/** The store's methods about reviews, whose code is loaded by whoever asks for reviews: most starts do not. */
import { randomUUID } from 'node:crypto';
import type { ReviewParts } from './review-writes.ts';
import type { Durability, Sql, SqlDriver } from './sql.ts';
import type { Store } from './store.ts';

// Kept: asking for a module again takes as long as a read does.
let reading: ReturnType<typeof loadReads> | undefined;
let writing: ReturnType<typeof loadWrites> | undefined;
const loadReads = () => import('./reviews.ts');
const loadWrites = () => import('./review-writes.ts');
const reads = () => (reading ??= loadReads());
const writes = () => (writing ??= loadWrites());

export function mountReviews(driver: SqlDriver, parts: ReviewParts) {
  const write = async <T>(
    work: (code: Awaited<ReturnType<typeof writes>>, sql: Sql, op: string) => Promise<T>,
    durability: Durability = 'now',
  ): Promise<T> => {
    const code = await writes();
    const op = randomUUID();
    return driver.write(op, (sql) => work(code, sql, op), durability);
  };
  return {
    reviews: async (query) => (await reads()).readReviews(driver, query),
    reviewTexts: async (id) => (await reads()).reviewTexts(driver, id),
    // Without an event by which a lost commit is known: a lock that is taken again by the same is taken. Should the
    // machine fail, its holder is gone too.
    takeReviewLock: (request) => write((code, sql) => code.takeReviewLock(sql, request), 'with_next'),
    releaseReviewLock: (sessionId, token) =>
      write((code, sql) => code.releaseReviewLock(sql, sessionId, token), 'with_next'),
    writeReviewPlan: (plan, durability) =>
      write((code, sql, op) => code.writeReviewPlan(sql, op, parts, plan), durability),
    stepReviews: (steps, actor, durability) =>
      write((code, sql, op) => code.stepReviews(sql, op, parts, steps, actor), durability),
    submitReview: (submission) => write((code, sql, op) => code.submitReview(sql, op, parts, submission)),
  } satisfies Partial<Store>;
}
