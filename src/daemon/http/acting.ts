/** The operations that change something, named as the verbs of the command line that do the same. */
import { z } from '@hono/zod-openapi';
import { ReeveError } from '../../api/errors.ts';
import { heartbeatSchema, removedSchema, sentSchema } from '../../api/machine-schemas.ts';
import {
  actedSchema,
  childrenSchema,
  joinSchema,
  sessionBudgetsSchema,
  settleSchema,
} from '../../api/schemas.ts';
import { CHILD_POLICIES, DEFAULT_ADOPT_WITHIN_MS } from '../../lifecycle/child.ts';
import { isLimit, ON_EXCEEDED } from '../../lifecycle/session-budget.ts';
import type { BudgetChange } from '../../lifecycle/session-budget.ts';
import { joinCommand } from '../../supervisor/join-command.ts';
import { accepted } from '../../supervisor/owner-words.ts';
import { resolveCurrent } from '../../supervisor/resolve.ts';
import type { LaunchResult } from '../../supervisor/launch.ts';
import { SESSION } from './looking.ts';
import { addOperation } from './operation.ts';
import type { App } from './operation.ts';
import type { Parts } from './parts.ts';

const MAX_GRACE_SECONDS = 86_400;
const grace = z.number().min(0).max(MAX_GRACE_SECONDS).optional();
const graceMs = (seconds: number | undefined) => (seconds === undefined ? {} : { graceMs: seconds * 1000 });

/** A commit, the name of a pull request, or of several. */
const MAX_ABOUT = 1000;

const HARNESSES = ['claude', 'codex', 'gemini', 'opencode', 'code', 'command'] as const;
const limitOf = (kind: 'tokens' | 'cost' | 'minutes') =>
  z
    .number()
    .refine((value) => isLimit(kind, value), { error: 'is not a limit' })
    .nullable()
    .optional();
const budgetChange = z
  .object({
    tokens: limitOf('tokens').openapi({ description: 'Null lifts the limit, as with the others.' }),
    cost: limitOf('cost'),
    minutes: limitOf('minutes'),
    onExceeded: z.enum(ON_EXCEEDED).nullable().optional(),
  })
  .strict();
const start = {
  cwd: z.string().max(4096).optional().openapi({ description: 'An absolute directory.' }),
  tmux: z.boolean().default(false).openapi({ description: 'In a tmux pane of its own; otherwise detached.' }),
  onLive: z.enum(['refuse', 'attach', 'retire']).default('refuse'),
  unmanaged: z.boolean().default(false),
  harness: z.enum(HARNESSES).optional(),
  graceSeconds: grace,
  budget: budgetChange.optional().openapi({ description: 'What changes about what it may spend.' }),
};
const argv = z
  .array(z.string().max(128 * 1024))
  .min(1)
  .max(1000);

export function addActing(app: App, parts: Parts): void {
  addStarting(app, parts);
  addChildren(app, parts);
  addEnding(app, parts);
  addSettling(app, parts);
  addTalking(app, parts);
  addBudgets(app, parts);
}

function addStarting(app: App, { reeve }: Parts): void {
  addOperation(app, {
    method: 'post',
    path: '/v1/run',
    name: 'run',
    group: 'Starting',
    says: 'Start a command as a session’s owner, detached or in tmux.',
    body: z.object({ argv, session: z.string().max(300).optional(), ...start }).strict(),
    answer: actedSchema,
    does: async ({ body }) => {
      if (body.cwd === undefined) throw needsDirectory();
      const { argv: words, session, ...rest } = body;
      return concluded(reeve, await reeve.launch({ argv: words, session, ...startOf(rest) }));
    },
  });
  addOperation(app, {
    method: 'post',
    path: '/v1/sessions/{session}/resume',
    name: 'resume',
    group: 'Starting',
    says: 'Go on with a session, or with a conversation that a harness has on file.',
    params: SESSION,
    body: z.object({ argv: argv.optional(), prompt: z.string().max(100_000).optional(), ...start }).strict(),
    answer: actedSchema,
    does: async ({ params, body }) => {
      const { argv: words, prompt, ...rest } = body;
      const request = { argv: words, prompt, ...startOf(rest) };
      return concluded(reeve, await reeve.resume(params.session, request));
    },
  });
}

function addChildren(app: App, { reeve, context }: Parts): void {
  addOperation(app, {
    method: 'post',
    path: '/v1/sessions/{session}/children',
    name: 'childRun',
    group: 'Children',
    says: 'Start a run that belongs to the session’s current one, and is dealt with when that ends.',
    params: SESSION,
    body: z
      .object({
        argv,
        session: z.string().max(300).optional(),
        onParentEnd: z.enum(CHILD_POLICIES).default('cancel'),
        adoptWithinSeconds: z
          .number()
          .min(0)
          .max(MAX_GRACE_SECONDS)
          .default(DEFAULT_ADOPT_WITHIN_MS / 1000),
        subject: z.string().max(MAX_ABOUT).nullable().default(null),
        revision: z.string().max(MAX_ABOUT).nullable().default(null),
        ...start,
      })
      .strict(),
    answer: actedSchema,
    // Not for the bearer of a run's token: what the daemon starts is outside of whatever holds that run's harness in.
    does: async ({ params, body }) => {
      const { argv: words, session, onParentEnd, adoptWithinSeconds, subject, revision, ...rest } = body;
      if (rest.cwd === undefined) throw needsDirectory();
      const terms = { onParentEnd, adoptWithinMs: adoptWithinSeconds * 1000, subject, revision };
      const { run } = await resolveCurrent(context, params.session);
      const child = { ...terms, isRequired: true, of: { run: run.id, token: null } };
      return concluded(reeve, await reeve.launch({ argv: words, session, child, ...startOf(rest) }));
    },
  });
  addOperation(app, {
    method: 'get',
    path: '/v1/children',
    name: 'childLs',
    group: 'Children',
    says: 'What the runs of a session started, and what those started in turn; without one, every live child.',
    query: z.object({ session: z.string().max(300).optional() }).strict(),
    answer: childrenSchema,
    does: async ({ query }) => ({ children: await reeve.children(query.session) }),
  });
}

/** The daemon's own directory means nothing to whoever asks. */
function needsDirectory(): ReeveError {
  return new ReeveError('usage', 'cwd: is needed, for a daemon has no directory of the caller’s.', {
    hint: 'Give an absolute directory.',
  });
}

function startOf({
  cwd,
  tmux,
  onLive,
  unmanaged,
  harness,
  graceSeconds,
  budget,
}: z.infer<z.ZodObject<typeof start>>) {
  if (cwd !== undefined && !cwd.startsWith('/')) throw needsDirectory();
  const mode = tmux ? ('tmux' as const) : ('detached' as const);
  return { cwd, mode, onLive, unmanaged, harness, budget: changeOf(budget), ...graceMs(graceSeconds) };
}

/** What was left out is not changed; JSON has no word for that. */
function changeOf(given: z.infer<typeof budgetChange> | undefined): BudgetChange | undefined {
  if (given === undefined) return undefined;
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

async function concluded(reeve: Parts['reeve'], result: LaunchResult): Promise<unknown> {
  const started = accepted(result, Date.now());
  if (started.is === 'attached') {
    return { ...(await reeve.show(started.session.id)), attached: true, replaced: null };
  }
  started.release();
  return {
    ...(await reeve.show(started.session.id)),
    attached: false,
    replaced: started.replaced?.id ?? null,
  };
}

function addEnding(app: App, { reeve }: Parts): void {
  const ending = { params: SESSION, group: 'Ending', method: 'post', answer: actedSchema } as const;
  const body = z.object({ graceSeconds: grace, assumeGone: z.boolean().default(false) }).strict();
  const stop = async (session: string, options: { graceMs?: number }, assumeGone: boolean) => {
    const ended = assumeGone ? await reeve.assumeGone(session) : await reeve.stop(session, options);
    const now = await reeve.show(ended.session.id);
    const run = now.runs.find(({ id }) => id === ended.run.id) ?? now.run;
    if (now.run.id === ended.run.id || now.run.state === 'ended')
      return { ...now, run, wasLive: ended.wasLive };
    throw new ReeveError('live_owner', `${now.name} has another owner by now: run ${now.run.id}.`, {
      details: { run: ended.run.id, current: now.run.id },
    });
  };
  addOperation(app, {
    ...ending,
    path: '/v1/sessions/{session}/stop',
    name: 'stop',
    says: 'Ask its run to end, kill it after a grace, and prove it gone.',
    body,
    does: ({ params, body: given }) => stop(params.session, graceMs(given.graceSeconds), given.assumeGone),
  });
  addOperation(app, {
    ...ending,
    path: '/v1/sessions/{session}/kill',
    name: 'kill',
    says: 'The same without a grace.',
    body: body.omit({ graceSeconds: true }),
    does: ({ params, body: given }) => stop(params.session, { graceMs: 0 }, given.assumeGone),
  });
  addOperation(app, {
    ...ending,
    path: '/v1/sessions/{session}/retire',
    name: 'retire',
    says: 'End its run as superseded, as a take-over does, and prove it gone.',
    body: body.omit({ assumeGone: true }),
    does: async ({ params, body: given }) => {
      const result = await reeve.retire(params.session, graceMs(given.graceSeconds));
      if (result.is === 'ended') {
        const now = await reeve.show(params.session);
        return { ...now, wasLive: result.run.intent !== null };
      }
      const because = result.because ?? 'processes of it are alive';
      throw new ReeveError(
        result.is === 'survivors' ? 'survivors' : 'unproven',
        `${params.session} could not be retired: ${because}.`,
        { details: result.is === 'survivors' ? { survivors: result.survivors } : {} },
      );
    },
  });
  addOperation(app, {
    method: 'delete',
    path: '/v1/sessions/{session}',
    name: 'rm',
    group: 'Ending',
    says: 'Forget an ended session, its events and logs.',
    params: SESSION,
    answer: removedSchema,
    does: async ({ params }) => ({ removed: [(await reeve.remove(params.session)).name] }),
  });
}

function addSettling(app: App, { reeve }: Parts): void {
  addOperation(app, {
    method: 'post',
    path: '/v1/settle',
    name: 'settle',
    group: 'Ending',
    says: 'Look once more at runs in doubt, each for itself, end what is left of them, and record it.',
    body: z
      .object({
        sessions: z.array(z.string().min(1).max(300)).max(1000).default([]),
        hostGone: z.string().min(1).max(300).optional(),
      })
      .strict(),
    answer: settleSchema,
    does: ({ body: given }) => reeve.settle(given.sessions, { hostGone: given.hostGone }),
  });
}

function addTalking(app: App, { reeve, context }: Parts): void {
  addOperation(app, {
    method: 'post',
    path: '/v1/sessions/{session}/send',
    name: 'send',
    group: 'Talking',
    says: 'Type a message into a session in tmux; done when the harness has taken it.',
    params: SESSION,
    body: z.object({ text: z.string().min(1).max(100_000), queue: z.boolean().default(false) }).strict(),
    answer: sentSchema,
    does: ({ params, body, signal }) => reeve.send(params.session, { ...body, signal }),
  });
  addOperation(app, {
    method: 'post',
    path: '/v1/sessions/{session}/attach',
    name: 'attach',
    group: 'Talking',
    says: 'The command that joins the session, for a terminal.',
    params: SESSION,
    body: z.object({}).strict(),
    answer: joinSchema,
    does: async ({ params }) => {
      // A look first: what is dead by now is on record as ended then.
      const { id } = await reeve.show(params.session);
      return joinCommand(context, await resolveCurrent(context, id));
    },
  });
  addOperation(app, {
    method: 'post',
    path: '/v1/heartbeat',
    name: 'heartbeat',
    group: 'Talking',
    says: 'From inside a run, with its token as bearer: say that it is at work. Fenced.',
    body: z.object({}).strict(),
    answer: heartbeatSchema,
    forRuns: 'its own run',
    does: async ({ caller }) => {
      if (caller.is === 'run') return reeve.heartbeat(caller);
      throw new ReeveError('usage', 'A heartbeat is a run’s own: send it with that run’s token.', {
        hint: 'Authorization: Bearer $REEVE_RUN.$REEVE_TOKEN',
      });
    },
  });
}

function addBudgets(app: App, { reeve }: Parts): void {
  addOperation(app, {
    method: 'get',
    path: '/v1/budget',
    name: 'budget',
    group: 'Budgets',
    says: 'What may be spent, and what is spent of it; of all live sessions, or of one.',
    query: z.object({ session: z.string().min(1).max(200).optional() }),
    answer: z.object({ sessions: z.array(sessionBudgetsSchema) }),
    forRuns: 'its own session',
    does: async ({ query }) => ({ sessions: await reeve.budget(query.session) }),
  });
  addOperation(app, {
    method: 'post',
    path: '/v1/sessions/{session}/budget',
    name: 'budgetSet',
    group: 'Budgets',
    says: 'Change what a session may spend; what was spent stays spent.',
    params: SESSION,
    body: budgetChange,
    answer: sessionBudgetsSchema,
    does: async ({ params, body }) => reeve.setBudget(params.session, changeOf(body) ?? {}),
  });
}
