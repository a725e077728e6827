/**
 * The wire contract as schemas: what HTTP accepts and answers, from which its OpenAPI is made. Each is held to the type
 * that the rest of Reeve uses, so that the two cannot drift apart. Loaded by the daemon only: a command starts without.
 */
import { z } from '@hono/zod-openapi';
import { VERDICTS } from '../lifecycle/review.ts';
import type {
  CancelledView,
  ChildView,
  DaemonView,
  ErrorView,
  EventsView,
  EventView,
  LogView,
  MemberView,
  OverviewView,
  ReviewDetailView,
  ReviewsView,
  ReviewView,
  ScreenView,
  SessionDetailView,
  SessionRow,
  SubmittedView,
  TreeView,
  TriggeredView,
  TriggerView,
  WhyView,
} from './http-views.ts';
import type { RunView } from './session-view.ts';

const time = () => z.iso.datetime().openapi({ example: '2026-11-15T20:52:11.000Z' });
const nullable = <T extends z.ZodType>(schema: T) => schema.nullable();

export const runSchema = z
  .object({
    id: z.string(),
    epoch: z.int().min(1),
    state: z.enum(['claimed', 'running', 'ended']),
    mode: z.enum(['foreground', 'detached', 'tmux', 'adopted']),
    outcome: nullable(
      z.enum([
        'completed',
        'failed',
        'stopped',
        'superseded',
        'cancelled',
        'reaped',
        'over_budget',
        'lost',
        'never_started',
      ]),
    ),
    actor: z.string().openapi({ description: 'Who started it.' }),
    pid: nullable(z.int()).openapi({ description: 'The harness’s own process; null until it executes.' }),
    keeperPid: nullable(z.int()),
    host: z.string(),
    startedAt: time(),
    endedAt: nullable(time()),
    exitCode: nullable(z.int()),
    signal: nullable(z.string()),
    reason: nullable(z.string()),
    liveness: z.enum(['alive', 'dead', 'unknown']),
    containment: nullable(z.string()),
    logPath: nullable(z.string()),
  })
  .strict()
  .openapi('Run') satisfies z.ZodType<RunView>;

const session = {
  name: z.string(),
  id: z.string(),
  harness: z.string(),
  cwd: z.string(),
  argv: z.array(z.string()),
  nativeId: nullable(z.string()).openapi({ description: 'The conversation in the harness’s own words.' }),
  status: z.enum([
    'working',
    'idle',
    'needs-input',
    'done',
    'failed',
    'superseded',
    'stopped',
    'lost',
    'unknown',
  ]),
  activity: nullable(
    z.object({ since: time(), evidence: z.string(), waitingFor: nullable(z.string()) }).strict(),
  ).openapi({ description: 'On what the status of a living session rests.' }),
  epoch: z.int().min(1),
  run: runSchema,
};
const looks = {
  branch: nullable(z.string()).openapi({ description: 'The branch checked out in its directory.' }),
  memoryBytes: nullable(z.int()).openapi({ description: 'What its whole tree holds in memory.' }),
  tokens: nullable(z.int()).openapi({
    description: 'What it has spent in all, cached input included; null when nothing is known.',
  }),
};
const detailed = {
  runs: z.array(runSchema).openapi({ description: 'Every run of it, the latest last.' }),
  doubt: nullable(z.string()).openapi({ description: 'Why nothing could be proven, when nothing could.' }),
};

const rowSchema = z
  .object({ ...session, ...looks })
  .strict()
  .openapi('SessionRow') satisfies z.ZodType<SessionRow>;
export const overviewSchema = z
  .object({
    sessions: z.array(rowSchema),
    earlier: z.int().openapi({ description: 'How many ended sessions there are beyond these.' }),
    seq: z.int().openapi({ description: 'The number of the last event that this includes.' }),
  })
  .strict()
  .openapi('Overview') satisfies z.ZodType<OverviewView>;
const childSchema = z
  .object({
    session: z.string(),
    sessionId: z.string(),
    parent: z.string().openapi({ description: 'The run inside which it was started.' }),
    argv: z.array(z.string()),
    run: runSchema,
  })
  .strict()
  .openapi('Child') satisfies z.ZodType<ChildView>;
export const detailSchema = z
  .object({ ...session, ...looks, ...detailed, children: z.array(childSchema) })
  .strict()
  .openapi('SessionDetail') satisfies z.ZodType<SessionDetailView>;
/** What became of an act on a session, the same value that the CLI's verb prints. */
export const actedSchema = z
  .object({
    ...session,
    ...detailed,
    wasLive: z.boolean().optional(),
    replaced: nullable(z.string()).optional(),
    attached: z.boolean().optional(),
  })
  .strict()
  .openapi('Acted');

const memberSchema = z
  .object({ pid: z.int(), name: z.string(), memoryBytes: nullable(z.int()) })
  .strict()
  .openapi('Member') satisfies z.ZodType<MemberView>;
export const treeSchema = z
  .object({ run: z.string(), processes: z.array(memberSchema) })
  .strict()
  .openapi('Tree') satisfies z.ZodType<TreeView>;

const eventSchema = z
  .object({
    seq: z.int(),
    at: time(),
    sessionId: z.string(),
    session: nullable(z.string()).openapi({ description: 'Its name; null once it is forgotten.' }),
    run: nullable(z.string()),
    kind: z.string(),
    actor: z.string(),
    text: z.string().openapi({ description: 'The event as a sentence, as `why` tells it.' }),
  })
  .strict()
  .openapi('Event') satisfies z.ZodType<EventView>;
export const eventsSchema = z
  .object({ events: z.array(eventSchema), next: nullable(z.int()) })
  .strict()
  .openapi('Events') satisfies z.ZodType<EventsView>;

export const whySchema = z
  .object({
    session: z.string(),
    sentences: z.array(z.object({ at: time(), run: nullable(z.string()), text: z.string() }).strict()),
    doubt: nullable(z.string()),
  })
  .strict()
  .openapi('Why') satisfies z.ZodType<WhyView>;
export const logSchema = z
  .object({ run: z.string(), logPath: nullable(z.string()), text: z.string(), isCut: z.boolean() })
  .strict()
  .openapi('Log') satisfies z.ZodType<LogView>;
export const screenSchema = z
  .object({ run: z.string(), screen: z.string(), columns: z.int(), rows: z.int() })
  .strict()
  .openapi('Screen') satisfies z.ZodType<ScreenView>;
export const daemonSchema = z
  .object({
    version: z.string(),
    pid: z.int(),
    host: z.string(),
    user: z.string(),
    home: z.string(),
    store: z.string(),
    startedAt: time(),
  })
  .strict()
  .openapi('Daemon') satisfies z.ZodType<DaemonView>;

const review = {
  id: z.string(),
  worker: z.string().openapi({ description: 'The session whose work is reviewed.' }),
  workerId: z.string(),
  pr: z.string(),
  head: z.string(),
  tree: nullable(z.string()),
  status: z.enum([
    'needs-review',
    'running',
    'up-to-date',
    'changes-requested',
    'superseded',
    'cancelled',
    'failed',
  ]),
  verdict: nullable(z.enum(VERDICTS)),
  reason: nullable(z.string()),
  reviewer: nullable(z.object({ session: z.string(), run: z.string() }).strict()),
  tokens: nullable(z.int()).openapi({
    description: 'What its reviewer has spent, also for other reviews of the same queue.',
  }),
  createdAt: time(),
  startedAt: nullable(time()),
  endedAt: nullable(time()),
  supersededBy: nullable(z.string()),
  isCurrent: z.boolean().openapi({ description: 'Whether its head is the one that was last asked for.' }),
};
const reviewSchema = z.object(review).strict().openapi('Review') satisfies z.ZodType<ReviewView>;
export const reviewsSchema = z
  .object({ reviews: z.array(reviewSchema) })
  .strict()
  .openapi('Reviews') satisfies z.ZodType<ReviewsView>;
export const reviewDetailSchema = z
  .object({
    ...review,
    body: nullable(z.string()),
    late: nullable(z.object({ body: z.string(), because: z.string() }).strict()).openapi({
      description: 'What its reviewer wrote too late to count, and why that was refused.',
    }),
    logPath: nullable(z.string()),
  })
  .strict()
  .openapi('ReviewDetail') satisfies z.ZodType<ReviewDetailView>;
const triggeredSchema = z
  .object({
    is: z.enum(['reused', 'up-to-date', 'duplicate', 'created']),
    review: reviewSchema,
    savedTokens: nullable(z.int()).openapi({
      description: 'Of a duplicate: what the review of the same tree had spent.',
    }),
  })
  .strict()
  .openapi('Triggered') satisfies z.ZodType<TriggeredView>;
export const triggerSchema = z
  .object({
    worker: z.string(),
    reviewer: nullable(z.object({ session: z.string(), run: z.string() }).strict()),
    isStarted: z.boolean().openapi({ description: 'Whether a fresh reviewer was started.' }),
    retired: nullable(z.string()).openapi({ description: 'The reviewer’s run that was ended for it.' }),
    pullRequests: z.array(triggeredSchema),
    superseded: z.array(reviewSchema),
  })
  .strict()
  .openapi('Trigger') satisfies z.ZodType<TriggerView>;
export const submittedSchema = z
  .object({ accepted: z.literal(true), again: z.boolean(), review: reviewSchema })
  .strict()
  .openapi('Submitted') satisfies z.ZodType<SubmittedView>;
export const cancelledSchema = z
  .object({ cancelled: z.array(reviewSchema), retired: nullable(z.string()) })
  .strict()
  .openapi('Cancelled') satisfies z.ZodType<CancelledView>;

export const errorSchema = z
  .object({
    error: z
      .object({
        code: z.string(),
        message: z.string(),
        hint: z.string().optional(),
        details: z.record(z.string(), z.unknown()),
      })
      .strict(),
  })
  .strict()
  .openapi('Error') satisfies z.ZodType<ErrorView>;
