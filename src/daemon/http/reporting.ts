/** The operations for what runs report of themselves, and for looking at it. */
import { z } from '@hono/zod-openapi';
import { ReeveError } from '../../api/errors.ts';
import { submitSchema, usageAddedSchema } from '../../api/machine-schemas.ts';
import { submissionDetailSchema, submissionsSchema } from '../../api/schemas.ts';
import type { RunCredentials } from '../../supervisor/run-credentials.ts';
import type { Caller } from './access.ts';
import { addOperation } from './operation.ts';
import type { App } from './operation.ts';
import type { Parts } from './parts.ts';

const tokens = z.number().optional();
const key = z.string().optional().openapi({ description: 'What makes it the same when it is sent again.' });

export function addReporting(app: App, parts: Parts): void {
  addSubmitting(app, parts);
  addSpending(app, parts);
  addSubmissions(app, parts);
}

function addSubmitting(app: App, { reeve }: Parts): void {
  addOperation(app, {
    method: 'post',
    path: '/v1/submit',
    name: 'submit',
    group: 'Reporting',
    says: 'From inside a run, with its token as bearer: hand in a text, once. Fenced; a late one is kept aside.',
    body: z.object({ data: z.string(), key }).strict(),
    answer: submitSchema,
    forRuns: 'its own run',
    does: async ({ caller, body }) => reeve.submit(body, holderOf(caller)),
  });
}

function addSpending(app: App, { reeve }: Parts): void {
  addOperation(app, {
    method: 'post',
    path: '/v1/usage/add',
    name: 'usageAdd',
    group: 'Reporting',
    says: 'From inside a run of a plain command, with its token as bearer: what it spent. Fenced.',
    body: z
      .object({
        model: z.string(),
        key,
        input: tokens,
        output: tokens,
        cacheRead: tokens,
        cacheWrite: tokens,
        reasoning: tokens,
      })
      .strict(),
    answer: usageAddedSchema,
    forRuns: 'its own run',
    does: async ({ caller, body }) => reeve.addUsage(body, holderOf(caller)),
  });
}

function addSubmissions(app: App, { reeve }: Parts): void {
  addOperation(app, {
    method: 'get',
    path: '/v1/submissions',
    name: 'submitLs',
    group: 'Reporting',
    says: 'What runs handed in, the latest first, without the content.',
    query: z.object({
      session: z.string().min(1).max(200).optional(),
      refused: z.enum(['true', 'false']).default('false'),
    }),
    answer: submissionsSchema,
    forRuns: 'its own session',
    does: ({ query }) => reeve.submissions({ session: query.session, refused: query.refused === 'true' }),
  });
  addOperation(app, {
    method: 'get',
    path: '/v1/submissions/{id}',
    name: 'submitShow',
    group: 'Reporting',
    says: 'What was handed in.',
    params: z.object({ id: z.string().min(1).max(200) }),
    answer: submissionDetailSchema,
    forRuns: 'its own session',
    does: ({ params }) => reeve.submission(params.id),
  });
}

function holderOf(caller: Caller): RunCredentials {
  if (caller.is === 'run') return caller;
  throw new ReeveError('usage', 'A report is a run’s own: send it with that run’s token.', {
    hint: 'Authorization: Bearer $REEVE_RUN.$REEVE_TOKEN',
  });
}
