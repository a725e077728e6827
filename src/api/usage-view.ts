/** What was spent, as `usage --json` and HTTP tell it. Times are ISO 8601; days are days in UTC. */
import type { Tokens } from '../lifecycle/usage.ts';

export const USAGE_BY = ['run', 'session', 'model', 'day', 'harness'] as const;

export type UsageBy = (typeof USAGE_BY)[number];

export interface SpentView extends Tokens {
  /** Input, output and both kinds of cache; reasoning is part of the output. */
  readonly total: number;
  /** How much of the total was spent after its run had been superseded, or was over. */
  readonly late: number;
  /** Of what has a price; null when nothing has one. */
  readonly cost: number | null;
  /** How many tokens have none. */
  readonly unpricedTokens: number;
}

/** What one session spent in all. */
export interface SessionSpentView extends SpentView {
  readonly currency: string;
}

export interface UsageRowView extends SpentView {
  /** Of the session, the model or the harness, the day, or the id of the run. */
  readonly name: string;
  /** Whose it is; null where a row is of several sessions. */
  readonly session: string | null;
}

/** A session, or a run below it or below a run, deeper by one than what it belongs to; in the order of the tree. */
export interface UsageTreeRowView {
  readonly depth: number;
  readonly session: string;
  /** Null for the session itself, in the first row. */
  readonly run: string | null;
  readonly own: SpentView;
  /** With all that is below. */
  readonly inclusive: SpentView;
}

export interface UsageView {
  readonly by: UsageBy;
  /** Null for all sessions. */
  readonly session: string | null;
  readonly since: string | null;
  readonly currency: string;
  /** The largest first; days in their order. */
  readonly rows: readonly UsageRowView[];
  readonly all: SpentView;
  /** What the runs spent that runs of the session started, and those below them; null when there are none. */
  readonly children: SpentView | null;
  /** Null unless it was asked for. */
  readonly tree: readonly UsageTreeRowView[] | null;
  /** What could not be read, a sentence each: there, more may have been spent. */
  readonly problems: readonly string[];
}
