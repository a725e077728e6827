/**
 * What a model was paid for, and which run spent it.
 *
 * Harnesses count differently; here every kind is counted once, whoever tells it:
 *   input       what the model read afresh, neither from a cache nor into one
 *   cacheRead   what it read from a cache        cacheWrite  what it read and put into one
 *   output      all that it wrote, its reasoning included
 *   reasoning   the part of the output that nobody saw; a part, so it adds nothing to a total
 *
 * A record belongs to the last run of its session that had started when it happened. What happened after that run was
 * over, or after somebody had put a successor on record, is that run's all the same, but late: nobody wanted it any
 * more. What happened before the first run is none of ours: a conversation that was begun elsewhere, or copied.
 */
import type { Run } from './run.ts';

export const TOKEN_KINDS = ['input', 'output', 'cacheRead', 'cacheWrite', 'reasoning'] as const;

export type TokenKind = (typeof TOKEN_KINDS)[number];

export type Tokens = Readonly<Record<TokenKind, number>>;

export const NO_TOKENS: Tokens = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 };

/** More of a kind than any run reports of itself at once; a sum of thousands of such still is exact. */
export const MAX_REPORTED_TOKENS = 1e12;

/** What one answer of a model cost. */
export interface UsageRecord extends Tokens {
  /** The same answer has the same key, however often it is told; another answer of the session has another one. */
  readonly key: string;
  readonly model: string;
  readonly atMs: number;
}

/** How far a transcript has been read: enough to go on there, or to notice that it is not the same any more. */
export interface UsagePosition {
  /** Which file it was: another one under the same name has another identity. */
  readonly identity: string;
  readonly offset: number;
  /** What the reader has to remember, in its own words. */
  readonly state: string;
}

export interface Spender {
  readonly runId: string;
  readonly isLate: boolean;
}

/** `runs` are all of the session, the earliest first. */
export function spenderOf(runs: readonly Run[], atMs: number): Spender | null {
  const run = runs.findLast((each) => wasStarted(each) && begunAtMs(each) <= atMs);
  return run === undefined ? null : { runId: run.id, isLate: atMs > unwantedAfterMs(run) };
}

/** From when on what a run spends is late. */
export function unwantedAfterMs({ intent, ending }: Run): number {
  const endedAtMs = ending?.endedAtMs ?? Number.POSITIVE_INFINITY;
  return intent?.outcome === 'superseded' ? Math.min(intent.atMs, endedAtMs) : endedAtMs;
}

export function totalOf({ input, output, cacheRead, cacheWrite }: Tokens): number {
  return input + output + cacheRead + cacheWrite;
}

export function tokensFrom(valueOf: (kind: TokenKind) => number): Tokens {
  return {
    input: valueOf('input'),
    output: valueOf('output'),
    cacheRead: valueOf('cacheRead'),
    cacheWrite: valueOf('cacheWrite'),
    reasoning: valueOf('reasoning'),
  };
}

// Written out: these are done for every answer of a transcript, and a call for each kind is most of what that takes.

/** A harness tells an answer again while it grows, never smaller: the larger of two tellings is the later one. */
export function larger(one: Tokens, other: Tokens): Tokens {
  return {
    input: Math.max(one.input, other.input),
    output: Math.max(one.output, other.output),
    cacheRead: Math.max(one.cacheRead, other.cacheRead),
    cacheWrite: Math.max(one.cacheWrite, other.cacheWrite),
    reasoning: Math.max(one.reasoning, other.reasoning),
  };
}

export function sum(one: Tokens, other: Tokens): Tokens {
  return {
    input: one.input + other.input,
    output: one.output + other.output,
    cacheRead: one.cacheRead + other.cacheRead,
    cacheWrite: one.cacheWrite + other.cacheWrite,
    reasoning: one.reasoning + other.reasoning,
  };
}

export function difference(one: Tokens, other: Tokens): Tokens {
  return {
    input: one.input - other.input,
    output: one.output - other.output,
    cacheRead: one.cacheRead - other.cacheRead,
    cacheWrite: one.cacheWrite - other.cacheWrite,
    reasoning: one.reasoning - other.reasoning,
  };
}

export function isNothing(tokens: Tokens): boolean {
  return TOKEN_KINDS.every((kind) => tokens[kind] === 0);
}

function wasStarted(run: Run): boolean {
  return run.startedAtMs !== null || run.state !== 'ended';
}

/** By the clock of the host that also wrote the transcript; the time of the claim is the store's. */
function begunAtMs(run: Run): number {
  return run.startedAtMs ?? run.claimedAtMs;
}
