/** The operations that only look, named as the verbs of the command line that do the same. */
import { z } from '@hono/zod-openapi';
import {
  detailSchema,
  eventsSchema,
  logSchema,
  overviewSchema,
  runSchema,
  screenSchema,
  treeSchema,
  usageSchema,
  whySchema,
} from '../../api/schemas.ts';
import { sinceFrom } from '../../api/since-words.ts';
import { USAGE_BY } from '../../api/usage-view.ts';
import { events } from '../../supervisor/events.ts';
import { logTail } from '../../supervisor/log-tail.ts';
import { detail, overview, tree as processTree } from '../../supervisor/overview.ts';
import { picture } from '../../supervisor/pane.ts';
import { viewStory } from '../../supervisor/view.ts';
import { addOperation } from './operation.ts';
import type { App } from './operation.ts';
import type { Parts } from './parts.ts';

/** More than a person looks at; a program asks again from where it was. */
const MAX_EVENTS = 1_000;
const MAX_LINES = 10_000;
const MAX_IDS = 200;

export const SESSION = z.object({
  session: z
    .string()
    .min(1)
    .max(200)
    .openapi({ description: 'A name, an id, or a unique beginning of an id.', example: 'reeve-claude' }),
});

const wholeNumber = (most: number) => z.coerce.number().int().min(0).max(most);

export function addLooking(app: App, parts: Parts): void {
  addList(app, parts);
  addOne(app, parts);
  addUsage(app, parts);
  addEvents(app, parts);
  addOutput(app, parts);
}

function addList(app: App, { context, metrics }: Parts): void {
  addOperation(app, {
    method: 'get',
    path: '/v1/sessions',
    name: 'ls',
    group: 'Looking',
    says: 'The live sessions, and those that ended lately.',
    query: z.object({
      range: z.enum(['live', 'recent', 'all']).default('recent'),
      ids: z
        .string()
        .max(MAX_IDS * 64)
        .optional()
        .openapi({ description: `Only these, separated by commas; at most ${MAX_IDS}.` }),
    }),
    answer: overviewSchema,
    does: async ({ query: { range, ids } }) => {
      // Before the rest is read: what changes meanwhile is told by an event with a higher number.
      const seq = await context.store.lastSeq();
      const wanted = ids
        ?.split(',')
        .filter((id) => id !== '')
        .slice(0, MAX_IDS);
      const sessions = await overview(context, wanted === undefined ? { range } : { ids: wanted });
      const ended = sessions.filter(({ run }) => run.state === 'ended').length;
      // The two are not counted at one instant.
      const earlier = wanted === undefined ? Math.max(0, metrics.endedSessions() - ended) : 0;
      return { sessions, earlier, seq };
    },
  });
}

function addOne(app: App, { context, reeve }: Parts): void {
  addOperation(app, {
    method: 'get',
    path: '/v1/sessions/{session}',
    name: 'show',
    group: 'Looking',
    says: 'Everything about one session.',
    params: SESSION,
    answer: detailSchema,
    forRuns: 'its own session',
    does: ({ params }) => detail(context, params.session),
  });
  addOperation(app, {
    method: 'get',
    path: '/v1/sessions/{session}/runs',
    name: 'runs',
    group: 'Looking',
    says: 'Every run of a session, the latest last.',
    params: SESSION,
    answer: z.object({ runs: z.array(runSchema) }),
    forRuns: 'its own session',
    does: async ({ params }) => ({ runs: (await reeve.show(params.session)).runs }),
  });
  addOperation(app, {
    method: 'get',
    path: '/v1/sessions/{session}/why',
    name: 'why',
    group: 'Looking',
    says: 'Who started it, who took over, what ended it, on what evidence.',
    params: SESSION,
    answer: whySchema,
    forRuns: 'its own session',
    does: async ({ params }) => viewStory(await reeve.why(params.session)),
  });
  addOperation(app, {
    method: 'get',
    path: '/v1/sessions/{session}/tree',
    name: 'tree',
    group: 'Looking',
    says: 'The processes that would end with its run.',
    params: SESSION,
    answer: treeSchema,
    does: ({ params }) => processTree(context, params.session),
  });
}

function addUsage(app: App, { reeve }: Parts): void {
  addOperation(app, {
    method: 'get',
    path: '/v1/usage',
    name: 'usage',
    group: 'Looking',
    says: 'What was spent, by run, session, model, day or harness, and what it cost where prices are known.',
    query: z
      .object({
        session: SESSION.shape.session.optional().openapi({ description: 'Only this one.' }),
        by: z
          .enum(USAGE_BY)
          .optional()
          .openapi({ description: 'By session, or of one session by run, unless it is said.' }),
        since: z
          .string()
          .max(40)
          .optional()
          .openapi({ description: '`24h`, `7d`, a day (UTC), or a time.', example: '2026-11-01' }),
        tree: z
          .enum(['true', 'false'])
          .default('false')
          .openapi({ description: 'Of one session: also what its runs started, and what those started.' }),
      })
      .strict(),
    answer: usageSchema,
    forRuns: 'its own session',
    does: ({ query: { since, tree, ...query } }) =>
      reeve.usage({
        ...query,
        sinceMs: since === undefined ? undefined : sinceFrom(since, Date.now()),
        tree: tree === 'true',
      }),
  });
}

const eventRange = {
  after: wholeNumber(Number.MAX_SAFE_INTEGER)
    .optional()
    .openapi({ description: 'Those behind this number, the earliest first. Without it, the latest.' }),
  before: wholeNumber(Number.MAX_SAFE_INTEGER).optional(),
  limit: wholeNumber(MAX_EVENTS).default(100),
};

function addEvents(app: App, { context }: Parts): void {
  addOperation(app, {
    method: 'get',
    path: '/v1/sessions/{session}/events',
    name: 'sessionEvents',
    group: 'Looking',
    says: 'What happened to one session.',
    params: SESSION,
    query: z.object(eventRange),
    answer: eventsSchema,
    forRuns: 'its own session',
    does: ({ params, query }) => events(context, { ...query, session: params.session }),
  });
  addOperation(app, {
    method: 'get',
    path: '/v1/events',
    name: 'events',
    group: 'Looking',
    says: 'What happened to all sessions. With `Accept: text/event-stream` it goes on: each event once, its number as id, resumed by Last-Event-ID.',
    query: z.object(eventRange),
    answer: eventsSchema,
    does: ({ query }) => events(context, query),
  });
}

function addOutput(app: App, { context }: Parts): void {
  addOperation(app, {
    method: 'get',
    path: '/v1/sessions/{session}/logs',
    name: 'logs',
    group: 'Looking',
    says: 'The end of what a detached run wrote. With `follow=true` it goes on, as server-sent events of JSON strings, until `end`.',
    params: SESSION,
    query: z.object({
      lines: wholeNumber(MAX_LINES).default(200),
      follow: z.enum(['true', 'false']).default('false'),
    }),
    answer: logSchema,
    forRuns: 'its own session',
    does: ({ params, query }) => logTail(context, params.session, query.lines),
  });
  addOperation(app, {
    method: 'get',
    path: '/v1/sessions/{session}/screen',
    name: 'screen',
    group: 'Looking',
    says: 'What the screen of a session in tmux shows, with the escape sequences of its colours.',
    params: SESSION,
    answer: screenSchema,
    does: ({ params }) => picture(context, params.session),
  });
}
