/** The operations about reviews, named as the verbs of the command line that do the same. */
import { z } from '@hono/zod-openapi';
import { ReeveError } from '../../api/errors.ts';
import {
  cancelledSchema,
  reviewDetailSchema,
  reviewsSchema,
  submittedSchema,
  triggerSchema,
} from '../../api/schemas.ts';
import { VERDICTS } from '../../lifecycle/review.ts';
import { addOperation } from './operation.ts';
import type { App } from './operation.ts';
import type { Parts } from './parts.ts';

const MAX_GRACE_SECONDS = 86_400;
const graceSeconds = z.number().min(0).max(MAX_GRACE_SECONDS).optional();
const assumeGone = z.boolean().default(false).openapi({
  description: 'On the caller’s word, another trigger of which nothing can be proven from here is gone.',
});
const worker = z.string().min(1).max(200).openapi({ description: 'The session whose work is reviewed.' });
const pr = z.string().min(1).max(200).openapi({ description: 'The key of the pull request.', example: '17' });
/** The daemon's own directory means nothing to whoever asks. */
const directory = z.string().max(4096).startsWith('/', 'must be an absolute directory').optional();
const HARNESSES = ['claude', 'codex', 'gemini', 'opencode', 'code'] as const;
const REVIEW = z.object({
  review: z.string().min(1).max(200).openapi({ description: 'Its id, or a unique beginning of it.' }),
});

/** Whole: which other reviews there are is not for a run to know. */
const OWN_REVIEW = z.object({
  review: z
    .string()
    .regex(/^rev-[a-z0-9]{16}$/, 'must be the whole id of a review')
    .openapi({ description: 'Its whole id.' }),
});

export function addReviewing(app: App, parts: Parts): void {
  addLooking(app, parts);
  addTrigger(app, parts);
  addEnding(app, parts);
}

function addLooking(app: App, { reeve }: Parts): void {
  addOperation(app, {
    method: 'get',
    path: '/v1/reviews',
    name: 'reviewLs',
    group: 'Reviews',
    says: 'List the review state of each pull request.',
    query: z.object({
      worker: worker.optional(),
      all: z.enum(['true', 'false']).default('false').openapi({ description: 'Every one there ever was.' }),
    }),
    answer: reviewsSchema,
    does: async ({ query }) => ({
      reviews: await reeve.reviews.list({ worker: query.worker, all: query.all === 'true' }),
    }),
  });
  addOperation(app, {
    method: 'get',
    path: '/v1/reviews/{review}',
    name: 'reviewShow',
    group: 'Reviews',
    says: 'One review, with what its reviewer wrote.',
    params: REVIEW,
    answer: reviewDetailSchema,
    does: ({ params }) => reeve.reviews.show(params.review),
  });
}

function addTrigger(app: App, { reeve }: Parts): void {
  addOperation(app, {
    method: 'post',
    path: '/v1/reviews/trigger',
    name: 'reviewTrigger',
    group: 'Reviews',
    says: 'Have these heads reviewed; what is obsolete is ended first, what is done is not done again.',
    body: z
      .object({
        worker,
        pullRequests: z
          .array(z.object({ pr, head: z.string().max(64) }).strict())
          .min(1)
          .max(100),
        reviewer: z
          .array(z.string().max(128 * 1024))
          .min(1)
          .max(1000)
          .optional()
          .openapi({ description: 'The program that reviews, with its arguments.' }),
        harness: z.enum(HARNESSES).optional(),
        cwd: directory,
        repo: directory,
        again: z.boolean().default(false),
        graceSeconds,
        assumeGone,
      })
      .strict(),
    answer: triggerSchema,
    does: ({ body: { graceSeconds: grace, ...request } }) =>
      reeve.reviews.trigger({ ...request, graceMs: grace === undefined ? undefined : grace * 1000 }),
  });
}

function addEnding(app: App, { reeve }: Parts): void {
  addOperation(app, {
    method: 'post',
    path: '/v1/reviews/{review}/submit',
    name: 'reviewSubmit',
    group: 'Reviews',
    says: 'From inside a reviewer, with its run’s token as bearer: what it found. Fenced.',
    params: OWN_REVIEW,
    body: z.object({ verdict: z.enum(VERDICTS), body: z.string() }).strict(),
    answer: submittedSchema,
    forRuns: 'its own run',
    does: async ({ params, body, caller }) => {
      if (caller.is === 'run') return reeve.reviews.submit({ ...params, ...body }, caller);
      throw new ReeveError('usage', 'A review is submitted by its reviewer: send it with that run’s token.', {
        hint: 'Authorization: Bearer $REEVE_RUN.$REEVE_TOKEN',
      });
    },
  });
  addOperation(app, {
    method: 'post',
    path: '/v1/reviews/cancel',
    name: 'reviewCancel',
    group: 'Reviews',
    says: 'Give reviews up: one, or a worker’s, or those of one of its pull requests.',
    body: z
      .object({
        review: z.string().min(1).max(200).optional(),
        worker: worker.optional(),
        pr: pr.optional(),
        graceSeconds,
        assumeGone,
      })
      .strict(),
    answer: cancelledSchema,
    does: async ({ body }) => {
      const graceMs = body.graceSeconds === undefined ? undefined : body.graceSeconds * 1000;
      const { review, worker: session, pr: key, assumeGone: isGone } = body;
      const how = { graceMs, assumeGone: isGone };
      if (review !== undefined && session === undefined && key === undefined)
        return reeve.reviews.cancel({ review, ...how });
      if (session !== undefined && review === undefined)
        return reeve.reviews.cancel({ worker: session, pr: key, ...how });
      throw new ReeveError('usage', 'Either a review is given, or a worker and perhaps a pull request.');
    },
  });
}
