/** Rows to facts and back. The schema's checks guarantee what the casts here assume. */
import type { ChildTerms, Parentage } from '../lifecycle/child.ts';
import type { SessionBudget } from '../lifecycle/session-budget.ts';
import type { Awake, Ending, Run } from '../lifecycle/run.ts';
import type { Session } from '../lifecycle/session.ts';
import type { Row, SqlValue } from './sql.ts';
import type { SessionWithRun, StoredEvent } from './store.ts';

const RUN_COLUMNS = [
  'id',
  'session_id',
  'epoch',
  'state',
  'mode',
  'argv',
  'cwd',
  'actor',
  'launcher',
  'token_hash',
  'log_path',
  'claimed_at',
  'intent',
  'harness',
  'keeper',
  'containment',
  'started_at',
  'ending',
  'native',
  'activity',
  'parent_run_id',
  'owner_run_id',
  'child_terms',
  'adopt_until',
  'awake_from',
  'awake_ms',
  'over_budget',
  'over_budget_at',
] as const;

export const SELECT_RUN = `select ${RUN_COLUMNS.join(', ')} from runs`;

/** A session's columns carry the prefix s_, its run's none. */
const SELECT_BOTH = `select ${RUN_COLUMNS.map((column) => `r.${column}`).join(', ')},
  s.id as s_id, s.name as s_name, s.harness as s_harness, s.cwd as s_cwd, s.argv as s_argv, s.epoch as s_epoch,
  s.created_at as s_created_at, s.native_id as s_native_id, s.budget as s_budget`;

/** With its current run. */
export const SELECT_SESSION_WITH_RUN = `${SELECT_BOTH} from sessions s join runs r on r.id = s.current_run_id`;

/**
 * The same for lists, which begin with the few runs that they show, by an index of their own, and find the session of
 * each: a cross join is one whose order SQLite keeps. The session is found by its current run alone: with one condition
 * more, PostgreSQL would expect next to no rows, and read all sessions for a list of fifty.
 */
export const SELECT_CURRENT_RUNS = `${SELECT_BOTH} from runs r cross join sessions s where s.current_run_id = r.id`;

/** Any run, also one that others came after. */
export const SELECT_RUN_WITH_SESSION = `${SELECT_BOTH} from runs r join sessions s on s.id = r.session_id`;

export function runOf(row: Row): Run {
  // One cast for the union: the schema ties keeper, containment, started_at and ending to the state.
  return {
    id: text(row, 'id'),
    sessionId: text(row, 'session_id'),
    epoch: Number(row['epoch']),
    state: row['state'],
    mode: row['mode'],
    argv: json(row['argv']),
    cwd: text(row, 'cwd'),
    actor: text(row, 'actor'),
    launcher: json(row['launcher']),
    tokenHash: text(row, 'token_hash'),
    logPath: row['log_path'] ?? null,
    claimedAtMs: Number(row['claimed_at']),
    intent: json(row['intent']),
    harness: json(row['harness']),
    keeper: json(row['keeper']),
    containment: json(row['containment']),
    startedAtMs: row['started_at'] ?? null,
    ending: json(row['ending']),
    native: json(row['native']),
    activity: json(row['activity']),
    parent: parentageOf(row),
    awake: awakeOf(row),
    overBudget:
      row['over_budget'] === null
        ? null
        : { what: text(row, 'over_budget'), sinceMs: Number(row['over_budget_at']) },
  } as Run;
}

function parentageOf(row: Row): Parentage | null {
  if (row['parent_run_id'] === null) return null;
  return {
    ...(json(row['child_terms']) as ChildTerms), // Written together with the parent's id.
    startedBy: text(row, 'parent_run_id'),
    ownerId: row['owner_run_id'] === null ? null : text(row, 'owner_run_id'),
    waitsUntilMs: row['adopt_until'] === null ? null : Number(row['adopt_until']),
  };
}

function awakeOf(row: Row): Awake | null {
  if (row['awake_from'] === null) return null;
  return { fromMs: Number(row['awake_from']), ms: row['awake_ms'] === null ? null : Number(row['awake_ms']) };
}

export function sessionWithRunOf(row: Row): SessionWithRun {
  const session: Session = {
    id: text(row, 's_id'),
    name: text(row, 's_name'),
    harness: text(row, 's_harness'),
    cwd: text(row, 's_cwd'),
    argv: json(row['s_argv']) as readonly string[], // Written by the claim as an array of strings.
    epoch: Number(row['s_epoch']),
    createdAtMs: Number(row['s_created_at']),
    nativeId: row['s_native_id'] === null ? null : text(row, 's_native_id'),
    budget: json(row['s_budget']) as SessionBudget | null, // Written by the claim, and by whoever sets it.
  };
  return { session, run: runOf(row) };
}

export function eventOf(row: Row): StoredEvent {
  return {
    seq: Number(row['seq']),
    atMs: Number(row['at']),
    sessionId: text(row, 'session_id'),
    runId: row['run_id'] === null ? null : text(row, 'run_id'),
    kind: text(row, 'kind'),
    actor: text(row, 'actor'),
    data: json(row['data']) as Record<string, unknown>, // Always written as an object.
  };
}

/** What a step can change of a run, as columns and values. */
export function changedColumns(run: Run): Readonly<Record<string, SqlValue>> {
  const ending: Ending | null = run.ending;
  return {
    state: run.state,
    intent: jsonOrNull(run.intent),
    harness: jsonOrNull(run.harness),
    keeper: jsonOrNull(run.keeper),
    containment: jsonOrNull(run.containment),
    started_at: run.startedAtMs,
    ending: jsonOrNull(ending),
    outcome: ending?.outcome ?? null,
    ended_at: ending?.endedAtMs ?? null,
    native: jsonOrNull(run.native),
    activity: jsonOrNull(run.activity),
    owner_run_id: run.parent?.ownerId ?? null,
    adopt_until: run.parent?.waitsUntilMs ?? null,
    awake_from: run.awake?.fromMs ?? null,
    awake_ms: run.awake?.ms ?? null,
  };
}

function text(row: Row, column: string): string {
  return String(row[column]);
}

function json(value: SqlValue | undefined): unknown {
  return typeof value === 'string' ? JSON.parse(value) : null;
}

function jsonOrNull(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value);
}
