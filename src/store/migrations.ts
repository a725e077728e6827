/**
 * The schema, as steps that are only ever added to. A database knows the number of the last step it took.
 * What the two engines spell differently is passed in.
 */
interface Dialect {
  readonly eventNumber: string;
  readonly bigInteger: string;
  /** Behind a table whose key is text: the rows are kept in the key's own tree, one page less to write each time. */
  readonly keyedByText: string;
  /** An expression for a text that no other store has. */
  readonly freshId: string;
  /** Statements that only this engine needs. */
  readonly extra: readonly string[];
}

const DIALECTS = {
  sqlite: {
    eventNumber: 'integer primary key autoincrement',
    bigInteger: 'integer',
    keyedByText: ' without rowid',
    freshId: 'lower(hex(randomblob(12)))',
    extra: [],
  },
  postgres: {
    eventNumber: 'bigint generated always as identity primary key',
    bigInteger: 'bigint',
    keyedByText: '',
    freshId: 'md5(random()::text || clock_timestamp()::text)',
    // Only here can the answer to a commit be lost, and its op be asked for.
    extra: ['create index events_of_op on events (op)'],
  },
} as const satisfies Record<string, Dialect>;

const LEGACY_TERMS = '{"onParentEnd":"detach","adoptWithinMs":0,"subject":null,"revision":null}';

export const STEPS: readonly ((dialect: Dialect) => readonly string[])[] = [
  ({ eventNumber, bigInteger, keyedByText, extra }) => [
    `create table sessions (
      id text primary key,
      name text not null unique,
      harness text not null,
      cwd text not null,
      argv text not null,
      epoch integer not null,
      current_run_id text not null,
      created_at ${bigInteger} not null
    )${keyedByText}`,
    `create table runs (
      id text primary key,
      session_id text not null references sessions (id),
      epoch integer not null,
      state text not null check (state in ('claimed', 'running', 'ended')),
      mode text not null,
      argv text not null,
      cwd text not null,
      actor text not null,
      launcher text not null,
      token_hash text not null,
      log_path text,
      claimed_at ${bigInteger} not null,
      intent text,
      harness text,
      keeper text,
      containment text,
      started_at ${bigInteger},
      ending text,
      outcome text,
      ended_at ${bigInteger},
      heartbeat_at ${bigInteger},
      unique (session_id, epoch),
      check ((state = 'ended') = (ending is not null)),
      check ((state = 'ended') = (outcome is not null))
    )${keyedByText}`,
    // Promise 1 as the database enforces it, whatever the code above it does.
    `create unique index runs_one_live on runs (session_id) where state <> 'ended'`,
    `create index runs_ended on runs (ended_at) where state = 'ended'`,
    `create table events (
      seq ${eventNumber},
      op text not null,
      at ${bigInteger} not null,
      session_id text not null,
      run_id text,
      kind text not null,
      actor text not null,
      data text not null
    )`,
    'create index events_of_session on events (session_id, seq)',
    ...extra,
  ],
  ({ bigInteger, keyedByText }) => [
    'alter table sessions add column native_id text',
    'alter table runs add column native text',
    'alter table runs add column activity text',
    // Two sessions never serve one conversation, as the database enforces it.
    `create table native_sessions (
      harness text not null,
      native_id text not null,
      session_id text not null references sessions (id),
      bound_at ${bigInteger} not null,
      primary key (harness, native_id)
    )${keyedByText}`,
    'create index native_of_session on native_sessions (session_id)',
  ],
  ({ bigInteger, keyedByText }) => [
    `create table counters (name text primary key, value ${bigInteger} not null)${keyedByText}`,
  ],
  ({ bigInteger, keyedByText }) => {
    const numbers = ['input', 'output', 'cache_read', 'cache_write', 'reasoning']
      .map((column) => `${column} ${bigInteger} not null`)
      .join(', ');
    return [
      // An answer of a model once, however often its harness tells it, and whoever reads that.
      `create table usage (
        session_id text not null references sessions (id),
        message text not null,
        run_id text not null,
        model text not null,
        day text not null,
        at ${bigInteger} not null,
        late integer not null,
        ${numbers},
        primary key (session_id, message)
      )${keyedByText}`,
      'create index usage_of_run on usage (run_id, at)',
      'create index usage_at on usage (at)',
      // The same added up: a list must not read every answer of every session that it shows.
      `create table usage_sums (
        session_id text not null references sessions (id),
        run_id text not null,
        model text not null,
        day text not null,
        late integer not null,
        ${numbers},
        primary key (session_id, run_id, model, day, late)
      )${keyedByText}`,
      `create table usage_files (
        session_id text not null references sessions (id),
        native_id text not null,
        path text not null,
        identity text not null,
        offset_bytes ${bigInteger} not null,
        state text not null,
        primary key (session_id, native_id, path)
      )${keyedByText}`,
      // When what a run spent was read for the last time, after its end.
      `alter table runs add column settled_at ${bigInteger}`,
      `create index runs_unsettled on runs (ended_at) where state = 'ended' and settled_at is null`,
    ];
  },
  ({ bigInteger }) => [
    // Who started it, for ever; with whose end it is dealt with; on which terms; how long it waits for a successor.
    'alter table runs add column parent_run_id text',
    'alter table runs add column owner_run_id text',
    'alter table runs add column child_terms text',
    `alter table runs add column adopt_until ${bigInteger}`,
    // Until now only the actor told. Nothing was promised for these, so nobody owns them.
    `update runs set parent_run_id = substr(actor, 5), child_terms = '${LEGACY_TERMS}' where actor like 'run r-%'`,
    'create index runs_of_parent on runs (parent_run_id) where parent_run_id is not null',
    `create index runs_of_owner on runs (owner_run_id) where owner_run_id is not null and state <> 'ended'`,
  ],
  ({ bigInteger }) => [
    // What runs handed in. The content stands last: whoever reads the rest of a row does not read past it.
    `create table submissions (
      id text primary key,
      session_id text not null references sessions (id),
      run_id text not null,
      at ${bigInteger} not null,
      key text not null,
      digest text not null,
      bytes ${bigInteger} not null,
      accepted integer not null check (accepted in (0, 1)),
      because text,
      data text not null,
      check ((accepted = 0) = (because is not null))
    )`,
    // Accepted once, and put aside once, as the database enforces it.
    'create unique index submissions_accepted on submissions (run_id, key) where accepted = 1',
    'create unique index submissions_kept on submissions (run_id, digest) where accepted = 0',
    'create index submissions_of_session on submissions (session_id, at)',
    'create index submissions_at on submissions (at)',
  ],
  ({ bigInteger, keyedByText }) => [
    'alter table sessions add column budget text',
    'create index sessions_with_budget on sessions (id) where budget is not null',
    // By a clock that stands still while the machine sleeps: since when, and for how long as recorded last.
    `alter table runs add column awake_from ${bigInteger}`,
    `alter table runs add column awake_ms ${bigInteger}`,
    'alter table runs add column over_budget text',
    `alter table runs add column over_budget_at ${bigInteger}`,
    'create index usage_sums_of_day on usage_sums (day)',
    // What a person was told of a budget, so that they are told once, whoever finds it and however often.
    `create table budget_marks (
      key text primary key,
      session_id text not null,
      at ${bigInteger} not null
    )${keyedByText}`,
    'create index budget_marks_of_session on budget_marks (session_id)',
  ],
  ({ bigInteger, keyedByText }) => [
    // `session_id` is the worker's. What the reviewer wrote, in time or too late, is read only when it is asked for.
    `create table reviews (
      id text primary key,
      session_id text not null references sessions (id),
      number integer not null,
      pr text not null,
      head text not null,
      tree text,
      state text not null
        check (state in ('queued', 'running', 'submitted', 'superseded', 'cancelled', 'failed', 'duplicate')),
      intent text check (intent in ('supersede', 'move', 'cancel')),
      superseded_by text,
      same_as text,
      reviewer_run_id text,
      verdict text check (verdict in ('approve', 'changes', 'comment')),
      reason text,
      body text,
      late_body text,
      late_because text,
      created_at ${bigInteger} not null,
      started_at ${bigInteger},
      ended_at ${bigInteger},
      unique (session_id, number),
      check (state <> 'running' or reviewer_run_id is not null),
      check (state <> 'submitted' or verdict is not null)
    )${keyedByText}`,
    // One head of a pull request is under review at a time, as the database enforces it.
    `create unique index reviews_one_standing on reviews (session_id, pr)
      where state in ('queued', 'running') and (intent is null or intent = 'move')`,
    `create index reviews_open on reviews (state) where state in ('queued', 'running')`,
    // The head that was last asked for: freshness, a fact apart from what became of any review.
    `create table review_heads (
      session_id text not null references sessions (id),
      pr text not null,
      head text not null,
      tree text,
      changed_at ${bigInteger} not null,
      primary key (session_id, pr)
    )${keyedByText}`,
    // Who acts on a worker's reviews right now. No lease: a holder is displaced when it is proven dead, never for slowness.
    `create table review_locks (
      session_id text primary key references sessions (id),
      token text not null,
      holder text not null,
      taken_at ${bigInteger} not null
    )${keyedByText}`,
  ],
  ({ bigInteger, keyedByText, freshId }) => [
    // Which store this is, for hosts that have seen it before. One row.
    `create table store_identity (
      id text not null,
      system text not null,
      incarnation integer not null,
      epoch_floor integer not null
    )`,
    `insert into store_identity values (${freshId}, '', 1, 0)`,
    // The installations that have runs in it, and the last incarnation in which each said which of them live.
    `create table hosts (
      id text primary key,
      name text not null,
      announced integer not null,
      seen_at ${bigInteger} not null
    )${keyedByText}`,
  ],
  () => [
    // A list begins with the runs that it shows, and must read neither every session there ever was nor every run that
    // another one of its session came after.
    'create index sessions_of_current on sessions (current_run_id)',
    'alter table runs add column has_successor integer not null default 0',
    'update runs set has_successor = 1 where id not in (select current_run_id from sessions)',
    `create index runs_ended_last on runs (ended_at) where state = 'ended' and has_successor = 0`,
  ],
];

/** The statements that bring a database from `version` to the present one. */
export function migrationsFrom(version: number, engine: keyof typeof DIALECTS): readonly string[] {
  return STEPS.slice(version).flatMap((step) => step(DIALECTS[engine]));
}
