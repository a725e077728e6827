/**
 * The wire contract as schemas: what HTTP accepts and answers, from which its OpenAPI is made. Each is held to the type
 * that the rest of Reeve uses, so that the two cannot drift apart. Loaded by the daemon only: a command starts without.
 */
import { z } from '@hono/zod-openapi';
import type {
  BudgetView,
  DaemonView,
  ErrorView,
  EventsView,
  EventView,
  LogView,
  MemberView,
  OverviewView,
  ScreenView,
  SessionDetailView,
  SessionRow,
  TreeView,
  WhyView,
} from './http-views.ts';
import { CHILD_POLICIES } from '../lifecycle/child.ts';
import type { ChildView, RunView } from './session-view.ts';

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
    parent: nullable(z.string()).openapi({ description: 'The run inside which it was started.' }),
    owner: nullable(z.string()).openapi({ description: 'The run with whose end it is dealt with.' }),
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
const budgetSchema = z
  .object({
    scope: z.enum(['run', 'session', 'tree', 'day']),
    kind: z.enum(['tokens', 'cost', 'minutes']),
    spent: z.number(),
    limit: z.number(),
    fraction: z.number().openapi({ description: 'Of the limit; more than 1 when it was overspent.' }),
    state: z.enum(['within', 'warn', 'over']),
  })
  .strict()
  .openapi('Budget') satisfies z.ZodType<BudgetView>;
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
export const detailSchema = z
  .object({ ...session, ...looks, ...detailed })
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
