/** The wire contract, continued: what is answered about this machine, its harnesses, and what runs report. */
import { z } from '@hono/zod-openapi';
import { ERRORS } from './errors.ts';
import type { ErrorCode } from './errors.ts';

const text = () => z.string().nullable();
const words = () => z.array(z.string());

// The keys of the table are exactly the codes, and there are some.
const ERROR_CODES = Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]];

export const checkSchema = z
  .object({
    name: z.string(),
    is: z.enum(['good', 'poor', 'bad']),
    says: z.string(),
    code: z
      .enum(ERROR_CODES)
      .optional()
      .openapi({ description: 'Of what is bad: the error that other commands end with for it.' }),
  })
  .strict();

export const pathsSchema = z.object({ home: z.string(), store: z.string(), runs: z.string() }).strict();

export const scanSchema = z
  .object({
    harnesses: z.array(
      z
        .object({
          pid: z.int(),
          harness: z.string(),
          nativeId: text(),
          state: z.enum(['managed', 'nested', 'unmanaged']),
          session: text(),
          run: text(),
          duplicates: z.array(z.int()),
          argv: words(),
          cwd: text(),
          since: text(),
          evidence: z.string(),
        })
        .strict(),
    ),
    leftovers: z.array(
      z.object({ pid: z.int(), name: z.string(), argv: words(), since: text(), mark: z.string() }).strict(),
    ),
  })
  .strict();

const hooksOf = { target: z.string(), path: z.string() };
export const hookStatusSchema = z.discriminatedUnion('is', [
  z.object({ ...hooksOf, is: z.literal('installed'), switchedOffBy: text() }).strict(),
  z
    .object({
      ...hooksOf,
      is: z.literal('partly'),
      missing: words().openapi({ description: 'Events without a hook of Reeve’s.' }),
      outdated: words(),
      untrusted: words(),
      switchedOffBy: text(),
    })
    .strict(),
  z.object({ ...hooksOf, is: z.literal('absent') }).strict(),
  z.object({ ...hooksOf, is: z.literal('unreadable'), because: z.string() }).strict(),
]);
export const hookReportSchema = z
  .object({
    target: z.string(),
    changes: z
      .array(
        z
          .object({ path: z.string(), is: z.enum(['created', 'changed', 'removed']), backup: text() })
          .strict(),
      )
      .openapi({ description: 'Empty when everything was as wanted already.' }),
    notes: words(),
  })
  .strict();

const shimChange = z
  .object({
    name: z.string(),
    path: z.string(),
    is: z.enum(['created', 'changed', 'unchanged', 'removed', 'absent']),
  })
  .strict();
const shimStates = {
  directory: z.string(),
  shims: z.array(
    z
      .object({
        name: z.string(),
        path: z.string(),
        is: z.enum(['installed', 'outdated', 'foreign', 'absent']),
        real: text().openapi({ description: 'The program that it would run; null when there is none.' }),
        first: z.enum(['shim', 'real', 'nothing']).openapi({ description: 'What a shell finds first.' }),
      })
      .strict(),
  ),
};
export const shimStatesSchema = z.object(shimStates).strict();
export const shimChangesSchema = z.object({ directory: z.string(), shims: z.array(shimChange) }).strict();
/** On the command line an installation also tells how it stands after it. */
export const shimInstalledSchema = z.object({ ...shimStates, changes: z.array(shimChange) }).strict();

export const removedSchema = z.object({ removed: words() }).strict();
export const sentSchema = z.object({ session: z.string(), run: z.string(), characters: z.int() }).strict();

/** What a run reports. Without a store or a daemon to be asked it is `queued`, and taken in later. */
const queued = { accepted: z.literal(false), queued: z.literal(true) };
export const heartbeatSchema = z.object({ accepted: z.literal(true), run: z.string() }).strict();
export const queuedHeartbeatSchema = z.object({ ...queued, run: z.string() }).strict();
export const submitSchema = z
  .object({ accepted: z.literal(true), again: z.boolean(), id: z.string() })
  .strict();
export const queuedSubmitSchema = z.object({ ...queued, key: z.string() }).strict();
const spent = {
  run: z.string(),
  model: z.string(),
  input: z.int(),
  output: z.int(),
  cacheRead: z.int(),
  cacheWrite: z.int(),
  reasoning: z.int(),
};
export const usageAddedSchema = z
  .object({ accepted: z.literal(true), again: z.boolean(), ...spent })
  .strict();
export const queuedUsageSchema = z.object({ ...queued, ...spent }).strict();
