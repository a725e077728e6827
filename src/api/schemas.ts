/**
 * The wire contract as schemas: what HTTP accepts and answers, from which its OpenAPI is made. Each is held to the type
 * that the rest of Reeve uses, so that the two cannot drift apart. Loaded by the daemon only: a command starts without.
 */
import { z } from '@hono/zod-openapi';
import { REVIEW_STATUSES, VERDICTS } from '../lifecycle/review.ts';
import { OUTCOMES, RUN_MODES } from '../lifecycle/run.ts';
import { STATUSES } from '../lifecycle/status.ts';
import type {
  JoinView,
  BudgetDetail,
  BudgetView,
  CancelledView,
  DaemonView,
  ErrorView,
  EventsView,
  EventView,
  LogView,
  MemberView,
  OverviewView,
  MuteView,
  NotifyTestView,
  ReviewDetailView,
  ReviewsView,
  ReviewView,
  ScreenView,
  SessionBudgets,
  SessionDetailView,
  SessionRow,
  SubmittedView,
  TreeView,
  TriggeredView,
  TriggerView,
  WhyView,
} from './http-views.ts';
import { CHILD_POLICIES } from '../lifecycle/child.ts';
import type { ChildView, RunView, SessionView, SettleView } from './session-view.ts';
import type { SubmissionDetailView, SubmissionsView, SubmissionView } from './submission-view.ts';
import { USAGE_BY } from './usage-view.ts';
import type { SessionSpentView, SpentView, UsageView } from './usage-view.ts';

const time = () => z.iso.datetime().openapi({ example: '2026-11-15T20:52:11.000Z' });
const nullable = <T extends z.ZodType>(schema: T) => schema.nullable();

export const runSchema = z
  .object({
    id: z.string(),
    epoch: z.int().min(1),
    state: z.enum(['claimed', 'running', 'ended']),
    mode: z.enum(RUN_MODES),
    outcome: nullable(z.enum(OUTCOMES)),
    actor: z.string().openapi({ description: 'Who started it.' }),
    pid: nullable(z.int()).openapi({ description: 'The harness’s own process; null until it executes.' }),
    keeperPid: nullable(z.int()),
    host: z.string(),
    startedAt: time(),
    endedAt: nullable(time()),
    exitCode: nullable(z.int()),
    signal: nullable(z.string()),
    proof: nullable(z.enum(['kernel', 'not_seen', 'lease', 'word'])).openapi({
      description: 'How its end is known. Only `kernel` is proven; `not_seen`: no process of it was found.',
    }),
    reason: nullable(z.string()),
    liveness: z.enum(['alive', 'dead', 'unknown']),
    containment: nullable(z.string()),
    parent: nullable(z.string()).openapi({ description: 'The run inside which it was started.' }),
    owner: nullable(z.string()).openapi({ description: 'The run with whose end it is dealt with.' }),
    onParentEnd: nullable(z.enum(CHILD_POLICIES)).openapi({
      description: 'What becomes of it when that run ends; null when it is nobody’s child.',
    }),
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
  status: z.enum(STATUSES),
  activity: nullable(
    z.object({ since: time(), evidence: z.string(), waitingFor: nullable(z.string()) }).strict(),
  ).openapi({ description: 'On what the status of a living session rests.' }),
  epoch: z.int().min(1),
  run: runSchema,
};
/** As `ls --json` has it. HTTP also looks up what costs more. */
export const sessionSchema = z.object(session).strict() satisfies z.ZodType<SessionView>;
const budgetShape = {
  scope: z.enum(['run', 'session', 'tree', 'day']),
  kind: z.enum(['tokens', 'cost', 'minutes']),
  spent: z.number(),
  limit: z.number(),
  fraction: z.number().openapi({ description: 'Of the limit; more than 1 when it was overspent.' }),
  state: z.enum(['within', 'warn', 'over', 'unknown']).openapi({
    description: 'Unknown: at least `spent` was spent, and another host has not said how much more.',
  }),
  currency: z.string().optional().openapi({ description: 'Of a cost: that of the configured prices.' }),
  measuredOn: z.string().optional().openapi({ description: 'That host.' }),
};
const budgetSchema = z.object(budgetShape).strict().openapi('Budget') satisfies z.ZodType<BudgetView>;
const onExceeded = z.enum(['end', 'ask']);
const budgetDetailSchema = z
  .object({
    ...budgetShape,
    holder: z.string().openapi({ description: 'Whose it is: a run, a session, or a day.' }),
    onExceeded,
    unpriced: z.array(z.string()).openapi({ description: 'Models whose price is not known.' }),
  })
  .strict()
  .openapi('BudgetDetail') satisfies z.ZodType<BudgetDetail>;
export const sessionBudgetsSchema = z
  .object({
    session: z.string(),
    id: z.string(),
    live: z.boolean(),
    onExceeded,
    ownTokens: z.int().openapi({ description: 'What its own runs spent, without those below them.' }),
    budgets: z.array(budgetDetailSchema),
  })
  .strict()
  .openapi('SessionBudgets') satisfies z.ZodType<SessionBudgets>;
const looks = {
  branch: nullable(z.string()).openapi({ description: 'The branch checked out in its directory.' }),
  memoryBytes: nullable(z.int()).openapi({ description: 'What its whole tree holds in memory.' }),
  tokens: nullable(z.int()).openapi({
    description: 'What it has spent in all, cached input included; null when nothing is known.',
  }),
  budgets: z
    .array(budgetSchema)
    .openapi({ description: 'The limits that count for it, the one that is used up most first.' }),
};
const childSchema = z
  .object({
    session: z.string(),
    sessionId: z.string(),
    parent: z.string().openapi({ description: 'The run inside which it was started.' }),
    owner: nullable(z.string()).openapi({ description: 'The run with whose end it is dealt with.' }),
    onParentEnd: z.enum(CHILD_POLICIES),
    subject: nullable(z.string()),
    revision: nullable(z.string()),
    waitsUntil: nullable(time()).openapi({
      description: 'Until when it waits for a successor of its owner, while it does.',
    }),
    argv: z.array(z.string()),
    tokens: nullable(z.int()).openapi({ description: 'What it has spent by itself.' }),
    run: runSchema,
  })
  .strict()
  .openapi('Child') satisfies z.ZodType<ChildView>;
export const childrenSchema = z
  .object({ children: z.array(childSchema) })
  .strict()
  .openapi('Children');
const detailed = {
  children: z
    .array(childSchema)
    .openapi({ description: 'What its runs started, and what those started in turn.' }),
  runs: z.array(runSchema).openapi({ description: 'Every run of it, the latest last.' }),
  doubt: nullable(z.string()).openapi({ description: 'Why nothing could be proven, when nothing could.' }),
  mute: nullable(z.object({ until: nullable(time()) }).strict()).openapi({
    description: 'Its notifications are muted, until then or for good.',
  }),
};
export const muteSchema = z
  .object({ session: z.string(), id: z.string(), muted: z.boolean(), until: nullable(time()) })
  .strict()
  .openapi('Mute') satisfies z.ZodType<MuteView>;
export const notifyTestSchema = z
  .object({
    channels: z.array(
      z.object({ name: z.string(), sent: z.boolean(), because: nullable(z.string()) }).strict(),
    ),
  })
  .strict()
  .openapi('NotifyTest') satisfies z.ZodType<NotifyTestView>;

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
const spending = {
  input: z.int().openapi({ description: 'What was read afresh, neither from a cache nor into one.' }),
  output: z.int().openapi({ description: 'All that was written, reasoning included.' }),
  cacheRead: z.int(),
  cacheWrite: z.int(),
  reasoning: z.int().openapi({ description: 'Reasoning tokens, part of the output.' }),
  total: z.int(),
  late: z.int().openapi({ description: 'Of the total, after its run had been superseded, or was over.' }),
  cost: nullable(z.number()).openapi({
    description: 'Of what has a price in the configuration; null when nothing has one.',
  }),
  unpricedTokens: z.int().openapi({ description: 'How many tokens have no price.' }),
};
const spentSchema = z.object(spending).strict().openapi('Spent') satisfies z.ZodType<SpentView>;
const sessionSpentSchema = z
  .object({ ...spending, currency: z.string() })
  .strict() satisfies z.ZodType<SessionSpentView>;
export const usageSchema = z
  .object({
    by: z.enum(USAGE_BY),
    session: nullable(z.string()),
    since: nullable(time()),
    currency: z.string(),
    rows: z
      .array(z.object({ name: z.string(), session: nullable(z.string()), ...spending }).strict())
      .openapi({ description: 'The largest first; days, which are days in UTC, in their order.' }),
    all: spentSchema,
    // Not by its name: in the document, a name stands for what may be null everywhere or nowhere.
    children: nullable(z.object(spending).strict()).openapi({
      description: 'What those spent that were started by runs of the session; null when there are none.',
    }),
    tree: nullable(
      z.array(
        z
          .object({
            depth: z.int().min(0),
            session: z.string(),
            run: nullable(z.string()),
            own: spentSchema,
            inclusive: spentSchema,
          })
          .strict(),
      ),
    ).openapi({ description: 'In its order: each row is below the last one above it that is less deep.' }),
    problems: z.array(z.string()).openapi({ description: 'What could not be read, a sentence each.' }),
  })
  .strict()
  .openapi('Usage') satisfies z.ZodType<UsageView>;

export const detailSchema = z
  .object({ ...session, ...looks, ...detailed, spent: nullable(sessionSpentSchema) })
  .strict()
  .openapi('SessionDetail') satisfies z.ZodType<SessionDetailView>;
/** As `show --json` has it. */
export const shownSchema = z
  .object({ ...session, ...detailed, spent: nullable(sessionSpentSchema) })
  .strict();
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

const inDoubt = { session: z.string(), run: z.string() };
export const settleSchema = z
  .object({
    settled: z.array(
      z
        .object({ ...inDoubt, outcome: z.string(), reason: z.string(), evidence: z.array(z.string()) })
        .strict(),
    ),
    remaining: z.array(z.object({ ...inDoubt, because: z.string(), next: z.string() }).strict()),
  })
  .strict()
  .openapi('Settled') satisfies z.ZodType<SettleView>;

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
    build: z.string(),
    schema: z.int(),
    pid: z.int(),
    host: z.string(),
    user: z.string(),
    home: z.string(),
    store: z.string(),
    startedAt: time(),
  })
  .strict()
  .openapi('Daemon') satisfies z.ZodType<DaemonView>;

const submission = {
  id: z.string(),
  session: nullable(z.string()).openapi({ description: 'Its name; null once it is forgotten.' }),
  sessionId: z.string(),
  run: z.string(),
  at: time(),
  key: z.string(),
  digest: z.string().openapi({ description: 'The SHA-256 of its content.' }),
  bytes: z.int(),
  accepted: z.boolean(),
  because: nullable(z.string()).openapi({ description: 'Why it was not.' }),
};
const submissionSchema = z
  .object(submission)
  .strict()
  .openapi('Submission') satisfies z.ZodType<SubmissionView>;
export const submissionDetailSchema = z
  .object({ ...submission, data: z.string() })
  .strict()
  .openapi('SubmissionDetail') satisfies z.ZodType<SubmissionDetailView>;
export const submissionsSchema = z
  .object({
    submissions: z.array(submissionSchema).openapi({ description: 'The latest first.' }),
    isCut: z.boolean().openapi({ description: 'Whether there are more.' }),
  })
  .strict()
  .openapi('Submissions') satisfies z.ZodType<SubmissionsView>;
const review = {
  id: z.string(),
  worker: z.string().openapi({ description: 'The session whose work is reviewed.' }),
  workerId: z.string(),
  pr: z.string(),
  head: z.string(),
  tree: nullable(z.string()),
  status: z.enum(REVIEW_STATUSES),
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

export const joinSchema = z
  .object({
    command: z.string(),
    host: nullable(z.string()).openapi({
      description: 'The machine on which to type it; null for the daemon’s own.',
    }),
  })
  .strict() satisfies z.ZodType<JoinView>;
