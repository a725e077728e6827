/**
 * What each verb prints with `--json`, by its name and, where it takes one, its action. `docs/cli.md` tells these shapes to
 * people; a test holds the page to this table, and what the built command prints too. Nothing loads it at run time.
 */
import { z } from '@hono/zod-openapi';
import { VERDICTS } from '../lifecycle/review.ts';
import {
  checkSchema,
  heartbeatSchema,
  hookReportSchema,
  hookStatusSchema,
  pathsSchema,
  queuedHeartbeatSchema,
  queuedSubmitSchema,
  queuedUsageSchema,
  removedSchema,
  scanSchema,
  sentSchema,
  shimChangesSchema,
  shimInstalledSchema,
  shimStatesSchema,
  submitSchema,
  usageAddedSchema,
} from './machine-schemas.ts';
import {
  cancelledSchema,
  childrenSchema,
  logSchema,
  muteSchema,
  notifyTestSchema,
  reviewDetailSchema,
  reviewsSchema,
  runSchema,
  screenSchema,
  sessionBudgetsSchema,
  sessionSchema,
  settleSchema,
  shownSchema,
  submissionDetailSchema,
  submissionsSchema,
  submittedSchema,
  triggerSchema,
  usageSchema,
  whySchema,
} from './schemas.ts';

const detail = shownSchema.omit({ spent: true });
const attached = z
  .object({
    attached: z.literal(true),
    session: z.string(),
    owner: z
      .object({
        run: z.string(),
        epoch: z.int(),
        state: z.enum(['claimed', 'running', 'ended']),
        pid: z.int().nullable(),
        keeperPid: z.int().nullable(),
        host: z.string(),
        since: z.iso.datetime(),
      })
      .strict(),
  })
  .strict();
/** A foreground run has no `replaced`: when it is over, that is on stderr. */
const started = z.union([detail.extend({ replaced: z.string().nullable().optional() }), attached]);
const stopped = detail.extend({ wasLive: z.boolean() });

const daemon = z
  .object({
    pid: z.int(),
    version: z.string(),
    build: z.string().nullable(),
    schema: z.int().nullable(),
    since: z.iso.datetime(),
    url: z.string(),
  })
  .strict();
const part = z
  .object({
    is: z.enum(['good', 'off', 'broken', 'unreadable']),
    says: z.string(),
    since: z.iso.datetime(),
  })
  .strict();

const heads = z.record(z.string(), z.string());
/** A value a line, until it is ended. */
const watched = z.discriminatedUnion('is', [
  z
    .object({
      is: z.literal('watching'),
      branches: z.array(z.object({ branch: z.string(), head: z.string().nullable() }).strict()),
    })
    .strict(),
  z.object({ is: z.literal('triggered'), heads, result: triggerSchema }).strict(),
  z
    .object({
      is: z.enum(['gone', 'returned']),
      what: z.enum(['branch', 'repository']),
      name: z.string(),
    })
    .strict(),
  z
    .object({
      is: z.literal('failed'),
      heads,
      error: z.object({ code: z.string(), message: z.string() }).strict(),
    })
    .strict(),
]);

const removedFromMachine = z
  .object({
    dryRun: z.boolean(),
    stopped: z.array(z.string()),
    hooks: z.array(z.object({ harness: z.string(), path: z.string() }).strict()),
    shims: z.array(z.string()),
    backups: z.array(z.string()),
    daemon: z.object({ pid: z.int() }).strict().nullable(),
    tmux: z.object({ pid: z.int() }).strict().nullable(),
    state: z.string().nullable(),
    sharedStore: z.string().nullable(),
    left: z.array(z.object({ what: z.string(), because: z.string() }).strict()),
    refusal: z.string().nullable(),
  })
  .strict();
const demonstrated = z
  .object({
    held: z.boolean(),
    steps: z.array(
      z
        .object({
          title: z.string(),
          command: z.string(),
          checks: z.array(z.object({ what: z.string(), held: z.boolean() }).strict()),
        })
        .strict(),
    ),
  })
  .strict();
const script = z.object({ shell: z.string(), script: z.string() }).strict();
const changedHooks = z.array(hookReportSchema);

/** The file that `REEVE_REVIEW_QUEUE` names, for a reviewer. */
export const reviewQueueSchema = z.array(
  z
    .object({
      id: z.string(),
      pr: z.string(),
      head: z.string(),
      tree: z.string().nullable(),
      /** A command, word by word; `--verdict` and `--body` are added to it. */
      submit: z.array(z.string()),
    })
    .strict(),
);

export const PRINTED: Readonly<Record<string, z.ZodType>> = {
  run: started,
  resume: started,
  'child run': started,
  'child ls': childrenSchema,
  ls: z.array(sessionSchema),
  top: z.array(sessionSchema),
  show: shownSchema,
  why: whySchema,
  usage: usageSchema,
  logs: z.union([logSchema.omit({ isCut: true }), screenSchema.pick({ screen: true })]),
  attach: z.object({ attached: z.boolean(), session: z.string(), run: runSchema }).strict(),
  send: sentSchema,
  stop: stopped,
  kill: stopped,
  rm: removedSchema,
  settle: settleSchema,
  'review trigger': triggerSchema,
  'review ls': reviewsSchema,
  'review show': reviewDetailSchema,
  'review submit': z.union([
    submittedSchema,
    z
      .object({
        accepted: z.literal(false),
        queued: z.literal(true),
        review: z.string(),
        verdict: z.enum(VERDICTS),
      })
      .strict(),
  ]),
  'review cancel': cancelledSchema,
  'review watch': watched,
  budget: z.array(sessionBudgetsSchema),
  'budget set': sessionBudgetsSchema,
  scan: scanSchema,
  adopt: detail,
  'hooks install': changedHooks,
  'hooks remove': changedHooks,
  'hooks status': z.array(hookStatusSchema),
  'shim install': shimInstalledSchema,
  'shim remove': shimChangesSchema,
  'shim status': shimStatesSchema,
  heartbeat: z.union([heartbeatSchema, queuedHeartbeatSchema]),
  submit: z.union([submitSchema, queuedSubmitSchema]),
  'submit ls': submissionsSchema,
  'submit show': submissionDetailSchema,
  'usage add': z.union([usageAddedSchema, queuedUsageSchema]),
  'notify test': notifyTestSchema,
  'notify mute': muteSchema,
  'notify unmute': muteSchema,
  serve: daemon,
  'serve stop': z.object({ wasRunning: z.boolean() }).strict(),
  'serve status': daemon.extend({ parts: z.record(z.string(), part) }),
  open: z.union([
    z.object({ url: z.string(), page: z.string(), code: z.string(), isOpened: z.boolean() }).strict(),
    z.object({ signedOut: z.int().nullable() }).strict(),
  ]),
  doctor: z.array(checkSchema),
  paths: pathsSchema,
  uninstall: removedFromMachine,
  demo: demonstrated,
  'completion bash': script,
  'completion zsh': script,
  'completion fish': script,
  'completion words': z.object({ words: z.array(z.string()) }).strict(),
};
