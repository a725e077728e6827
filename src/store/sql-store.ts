/**
 * The store, written once for both engines.
 *
 * A claim and every step are one transaction: read the run as it is, let `lifecycle` decide, write on the condition
 * that it still is so, and add the event. Nought rows changed means that the race was lost, and the caller is told.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { refuseWrite } from '../lifecycle/fence.ts';
import { changeBudget } from '../lifecycle/session-budget.ts';
import { takeStep } from '../lifecycle/run.ts';
import type { ClaimedRun, Run, RunningRun, Step, StepResult } from '../lifecycle/run.ts';
import type { Session } from '../lifecycle/session.ts';
import {
  changedColumns,
  runOf,
  SELECT_CURRENT_RUNS,
  SELECT_RUN,
  SELECT_SESSION_WITH_RUN,
  sessionWithRunOf,
} from './rows.ts';
import { budgetMethods } from './budget-methods.ts';
import { adoptWaiting, ancestorsOf, below, overdueChildren, startedBy, undealtChildren } from './children.ts';
import { count, figures, lastSeq, latestEvent, readEvents, sessionEvents } from './log.ts';
import { mountReviews } from './mount-reviews.ts';
import { bindNative, observe } from './observe.ts';
import { runWrites } from './run-writes.ts';
import { inTransaction, isUnstorable, slotsFor } from './sql.ts';
import { refuseUnannounced, stateMethods } from './state-methods.ts';
import { usageMethods } from './usage-methods.ts';
import type { Row, Sql, SqlDriver } from './sql.ts';
import type { ClaimRequest, ClaimResult, SessionWithRun, Store, StoredEvent, Overview } from './store.ts';

/** More candidates than this help nobody to choose. */
const MAX_CANDIDATES = 10;

/** What goes with a session that is forgotten. */
const TABLES_OF_SESSION = [
  'events',
  'usage',
  'usage_sums',
  'usage_files',
  'submissions',
  'budget_marks',
  'reviews',
  'review_heads',
  'review_locks',
  'runs',
  'native_sessions',
] as const;

const LIVE = `${SELECT_CURRENT_RUNS} and r.state <> 'ended'`;
const IN_ORDER = 'order by r.claimed_at, r.id';

/** A session can be removed between finding that it exists and locking it, but not so often in a row. */
const LOCK_ATTEMPTS = 10;

type NewEvent = Omit<StoredEvent, 'seq' | 'atMs'>;

/** What the parts of the store that have files of their own need of this one. */
const PARTS = { run: readRun, session: sessionOf, isTokenOf, addEvent: insertEvent, insertRun };

export function createStore(driver: SqlDriver): Store {
  return {
    engine: driver.engine,
    place: driver.place,
    claim: (request) =>
      inTransaction(driver, async (sql, op) => {
        // A file has one host, which has spoken up when it opened it.
        if (driver.engine === 'postgres') await refuseUnannounced(sql);
        return claim(sql, op, request);
      }),
    ...stateMethods(driver, { ...PARTS, claim, step: stepRun, remove: removeSession }),
    step: (runId, step) =>
      inTransaction(
        driver,
        (sql, op) => stepRun(sql, op, runId, step),
        // The harness's own record says the same, and is on disk before it executes.
        step.kind === 'executing' ? 'with_next' : 'now',
      ),
    heldBy: async (runId, token) => {
      const run = await driver.read((sql) => readRun(sql, runId));
      return run !== null && isTokenOf(run, token) ? run : null;
    },
    observe: (runId, fact, source) =>
      inTransaction(driver, (sql, op) => observe(sql, op, PARTS, { runId, fact, source })),
    sessionByNative: async (harness, nativeId) => {
      const where =
        'where s.id = (select session_id from native_sessions where harness = ? and native_id = ?)';
      return (await sessions(driver, where, [harness, nativeId]))[0] ?? null;
    },
    nowMs: () => driver.read((sql) => sql.nowMs()),
    note: (event, once) => inTransaction(driver, (sql, op) => note(sql, op, event, once)),
    run: (runId) => driver.read((sql) => readRun(sql, runId)),
    sessionByName: async (name) => (await sessions(driver, 'where s.name = ?', [name]))[0] ?? null,
    find: (reference) => driver.read((sql) => find(sql, reference)),
    sessionsOf: async (given) => {
      const ids = given.filter((id) => !isUnstorable(id));
      if (ids.length === 0) return [];
      const { places, values } = slotsFor(ids);
      return sessions(driver, `where s.id in (${places})`, values);
    },
    live: () => listed(driver, `${LIVE} ${IN_ORDER}`),
    liveHarnesses: () => listed(driver, `${LIVE} and s.harness <> 'command' ${IN_ORDER}`),
    overview: (limit) => overview(driver, limit),
    runsOf: (sessionId) =>
      driver.read(async (sql) =>
        (await sql.all(`${SELECT_RUN} where session_id = ? order by epoch`, [sessionId])).map(runOf),
      ),
    startedBy: (runIds) => driver.read((sql) => startedBy(sql, runIds)),
    below: (runIds, which) => driver.read((sql) => below(sql, runIds, which)),
    ancestorsOf: (runId) => driver.read((sql) => ancestorsOf(sql, runId)),
    undealtChildren: (runId) => driver.read((sql) => undealtChildren(sql, runId)),
    overdueChildren: () => driver.read(overdueChildren),
    eventsOf: (sessionId) => sessionEvents(driver, sessionId),
    latestOf: (sessionId, kinds) => latestEvent(driver, sessionId, kinds),
    events: (range) => readEvents(driver, range),
    lastSeq: () => lastSeq(driver),
    count: (counter) => inTransaction(driver, (sql) => count(sql, counter)),
    figures: () => figures(driver),
    ...runWrites(driver, PARTS),
    ...usageMethods(driver, (work) => inTransaction(driver, work)),
    ...budgetMethods(driver, (work) =>
      inTransaction(driver, (sql, op) => work(sql, (event) => addEvent(sql, op, event))),
    ),
    ...mountReviews(driver, PARTS),
    watch: (listener) => driver.watch(listener),
    removeSession: (sessionId, actor) =>
      inTransaction(driver, (sql, op) => removeSession(sql, op, sessionId, actor)),
    close: () => driver.close(),
  };
}

export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

async function claim(sql: Sql, op: string, request: ClaimRequest): Promise<ClaimResult> {
  const atMs = await sql.nowMs();
  const { earlier, epoch: floor } = await insertOrLockSession(sql, request, atMs);
  if (earlier !== null && earlier.run.state !== 'ended') return { won: false, because: 'owned', ...earlier };
  if (earlier !== null && request.mustBeNew) return { won: false, because: 'name_taken', ...earlier };

  const claimed = claimedFrom(request, earlier?.session ?? null, floor, atMs);
  const { session, run } = claimed;
  const refusal = await refuseParent(sql, request);
  const holder = refusal === null ? await bindRequested(sql, request, session.id, atMs) : null;
  if (refusal !== null || holder !== null) {
    if (earlier === null) await sql.run('delete from sessions where id = ?', [session.id]);
    return refusal ?? { won: false, because: 'native_taken', ...(await sessionOf(sql, holder ?? '')) };
  }
  await insertRun(sql, run);
  if (earlier !== null) {
    await sql.run('update runs set has_successor = 1 where id = ?', [earlier.run.id]);
    await sql.run(
      'update sessions set epoch = ?, current_run_id = ?, cwd = ?, argv = ?, harness = ?, native_id = ?, budget = ? where id = ?',
      [
        session.epoch,
        run.id,
        session.cwd,
        JSON.stringify(session.argv),
        session.harness,
        session.nativeId,
        budgetText(session),
        session.id,
      ],
    );
  }
  await insertEvent(sql, op, atMs, {
    sessionId: session.id,
    runId: run.id,
    kind: 'run.claimed',
    actor: run.actor,
    data: {
      epoch: run.epoch,
      argv: run.argv,
      cwd: run.cwd,
      mode: run.mode,
      launcher: run.launcher,
      ...(run.parent === null ? {} : { parent: run.parent }),
    },
  });
  if (request.budget !== undefined) {
    const event = { sessionId: session.id, runId: run.id, kind: 'budget.set', actor: run.actor };
    await insertEvent(sql, op, atMs, { ...event, data: { budget: session.budget } });
  }
  if (earlier !== null) {
    const add = (event: NewEvent) => insertEvent(sql, op, atMs, event);
    await adoptWaiting(sql, run, atMs, add);
  }
  return { won: true, ...claimed };
}

/** Locked, so that it cannot end while a child of it comes into being: it would not know of it. */
async function refuseParent(
  sql: Sql,
  { parent }: ClaimRequest,
): Promise<Extract<ClaimResult, { because: 'parent_over' }> | null> {
  if (parent === null) return null;
  const run = await readRun(sql, parent.runId, sql.forUpdate);
  if (run === null) throw new Error(`Run ${parent.runId}, inside which this is started, is not on record.`);
  const owner = await sessionOf(sql, run.sessionId);
  const why =
    refuseWrite({
      run,
      currentId: owner.run.id,
      isHolder: parent.token === null || isTokenOf(run, parent.token),
    })?.because ?? (run.intent === null ? null : `it is being ended (${run.intent.outcome})`);
  return why === null ? null : { won: false, because: 'parent_over', why, ...owner, run };
}

/** The session as it was before, locked; or null when this made it. The lock serialises claims of side by side writers. */
async function insertOrLockSession(
  sql: Sql,
  request: ClaimRequest,
  atMs: number,
): Promise<{ earlier: SessionWithRun | null; epoch: number }> {
  for (let attempt = 1; attempt <= LOCK_ATTEMPTS; attempt += 1) {
    const [made] = await insertSession(sql, request, atMs);
    if (made !== undefined) return { earlier: null, epoch: Number(made['epoch']) };
    const [locked] = await sql.all(`select id from sessions where name = ?${sql.forUpdate}`, [
      request.sessionName,
    ]);
    if (locked === undefined) continue;
    const earlier = await sessionOf(sql, String(locked['id']));
    return { earlier, epoch: earlier.session.epoch + 1 };
  }
  throw new Error(`Session ${request.sessionName} was removed again and again while it was being claimed.`);
}

/** The session that already has the conversation asked for, if that is another one. */
async function bindRequested(sql: Sql, request: ClaimRequest, sessionId: string, atMs: number) {
  const { harness, nativeId } = request;
  return nativeId === null ? null : bindNative(sql, { harness, nativeId, sessionId, atMs });
}

/** With the epoch of its first run; nothing when there is one of that name. */
function insertSession(sql: Sql, request: ClaimRequest, atMs: number): Promise<readonly Row[]> {
  return sql.all(
    `insert into sessions (id, name, harness, cwd, argv, epoch, current_run_id, created_at, native_id, budget)
     values (?, ?, ?, ?, ?, (select epoch_floor + 1 from store_identity), ?, ?, ?, ?)
     on conflict (name) do nothing returning epoch`,
    [
      request.sessionId,
      request.sessionName,
      request.harness,
      request.cwd,
      JSON.stringify(request.argv),
      request.runId,
      atMs,
      request.nativeId,
      budgetText({ budget: changeBudget(null, request.budget ?? {}) }),
    ],
  );
}

function budgetText({ budget }: Pick<Session, 'budget'>): string | null {
  return budget === null ? null : JSON.stringify(budget);
}

/** What the claim writes, as facts. */
function claimedFrom(
  request: ClaimRequest,
  earlier: Session | null,
  epoch: number,
  atMs: number,
): { session: Session; run: ClaimedRun } {
  const { harness, cwd, argv, mode, actor, launcher, tokenHash, logPath, nativeId } = request;
  const session: Session = {
    id: earlier?.id ?? request.sessionId,
    name: request.sessionName,
    harness,
    cwd,
    argv,
    epoch,
    createdAtMs: earlier?.createdAtMs ?? atMs,
    nativeId,
    budget: changeBudget(earlier?.budget ?? null, request.budget ?? {}),
  };
  const run: ClaimedRun = {
    id: request.runId,
    sessionId: session.id,
    epoch,
    state: 'claimed',
    mode,
    argv,
    cwd,
    actor,
    launcher,
    tokenHash,
    logPath,
    claimedAtMs: atMs,
    intent: null,
    harness: null,
    keeper: null,
    containment: null,
    startedAtMs: null,
    ending: null,
    native: nativeId === null ? null : { is: 'asked', id: nativeId },
    activity: null,
    parent: parentageFrom(request),
    awake: null,
    overBudget: null,
  };
  return { session, run };
}

function parentageFrom({ parent }: ClaimRequest): ClaimedRun['parent'] {
  if (parent === null) return null;
  const { runId, token: _token, ...terms } = parent;
  return { ...terms, startedBy: runId, ownerId: runId, waitsUntilMs: null };
}

async function insertRun(sql: Sql, run: ClaimedRun | RunningRun): Promise<void> {
  const { startedBy: parentId = null, ownerId = null, waitsUntilMs: _none, ...terms } = run.parent ?? {};
  await sql.run(
    `insert into runs (id, session_id, epoch, state, mode, argv, cwd, actor, launcher, token_hash, log_path, claimed_at, native,
       parent_run_id, owner_run_id, child_terms)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [
      run.id,
      run.sessionId,
      run.epoch,
      run.state,
      run.mode,
      JSON.stringify(run.argv),
      run.cwd,
      run.actor,
      JSON.stringify(run.launcher),
      run.tokenHash,
      run.logPath,
      run.claimedAtMs,
      run.native === null ? null : JSON.stringify(run.native),
      parentId,
      ownerId,
      parentId === null ? null : JSON.stringify(terms),
    ],
  );
}

async function stepRun(sql: Sql, op: string, runId: string, step: Step): Promise<StepResult> {
  const run = await readRun(sql, runId, sql.forUpdate);
  if (run === null) return { taken: false, because: 'ended' };
  // Store time decides how long anybody waits, not a host's.
  const timed = step.kind === 'await' ? { ...step, atMs: await sql.nowMs() } : step;
  const result = takeStep(run, timed);
  if (!result.taken) return result;
  if (step.kind === 'end' && (await undealtChildren(sql, run.id)).length > 0) {
    return { taken: false, because: 'has_children' };
  }
  const columns = changedColumns(result.run);
  const changed = await sql.run(
    `update runs set ${Object.keys(columns)
      .map((column) => `${column} = ?`)
      .join(', ')} where id = ? and state = ? and epoch = ?`,
    [...Object.values(columns), run.id, run.state, run.epoch],
  );
  if (changed !== 1) return { taken: false, because: 'ended' };
  await insertEvent(sql, op, await sql.nowMs(), { sessionId: run.sessionId, runId: run.id, ...result.event });
  return result;
}

function isTokenOf({ tokenHash }: Run, token: string): boolean {
  return timingSafeEqual(Buffer.from(hashToken(token)), Buffer.from(tokenHash));
}

async function note(sql: Sql, op: string, event: NewEvent, once: 'once' | 'always'): Promise<void> {
  if (once === 'once') {
    // Before looking: of two that look side by side, neither would see what the other is about to add.
    await sql.lock(`${event.kind} ${event.sessionId} ${event.runId}`);
    const known = await sql.all(
      'select 1 as found from events where session_id = ? and run_id = ? and kind = ? limit 1',
      [event.sessionId, event.runId, event.kind],
    );
    if (known.length > 0) return;
  }
  await insertEvent(sql, op, await sql.nowMs(), event);
}

async function addEvent(sql: Sql, op: string, event: NewEvent): Promise<void> {
  return insertEvent(sql, op, await sql.nowMs(), event);
}

async function insertEvent(sql: Sql, op: string, atMs: number, event: NewEvent): Promise<void> {
  await sql.announceEvents(op);
  await sql.run(
    'insert into events (op, at, session_id, run_id, kind, actor, data) values (?, ?, ?, ?, ?, ?, ?)',
    [op, atMs, event.sessionId, event.runId, event.kind, event.actor, JSON.stringify(event.data)],
  );
}

async function removeSession(sql: Sql, op: string, sessionId: string, actor: string): Promise<boolean> {
  const [locked] = await sql.all(`select name, epoch from sessions where id = ?${sql.forUpdate}`, [
    sessionId,
  ]);
  if (locked === undefined) return true;
  const live = await sql.all(`select id from runs where session_id = ? and state <> 'ended'`, [sessionId]);
  if (live.length > 0) return false;
  for (const table of TABLES_OF_SESSION) {
    await sql.run(`delete from ${table} where session_id = ?`, [sessionId]);
  }
  await sql.run('delete from sessions where id = ?', [sessionId]);
  await insertEvent(sql, op, await sql.nowMs(), {
    sessionId,
    runId: null,
    kind: 'session.removed',
    actor,
    data: { name: locked['name'], epoch: locked['epoch'] },
  });
  return true;
}

async function readRun(sql: Sql, runId: string, lock = ''): Promise<Run | null> {
  const [row] = await sql.all(`${SELECT_RUN} where id = ?${lock}`, [runId]);
  return row === undefined ? null : runOf(row);
}

async function sessionOf(sql: Sql, sessionId: string): Promise<SessionWithRun> {
  const [row] = await sql.all(`${SELECT_SESSION_WITH_RUN} where s.id = ?`, [sessionId]);
  if (row === undefined) throw new Error(`Session ${sessionId} has no current run.`);
  return sessionWithRunOf(row);
}

function sessions(driver: SqlDriver, where: string, values: readonly (string | number)[] = []) {
  return listed(driver, `${SELECT_SESSION_WITH_RUN} ${where}`, values);
}

function listed(driver: SqlDriver, text: string, values: readonly (string | number)[] = []) {
  return driver.read(async (sql) => (await sql.all(text, values)).map(sessionWithRunOf));
}

/** One statement, so one instant: a session that ends or begins meanwhile is in exactly one of the two. */
async function overview(driver: SqlDriver, endedLimit: number): Promise<Overview> {
  const all = await listed(
    driver,
    `${LIVE} union all
     select * from (${SELECT_CURRENT_RUNS} and r.state = 'ended' and r.has_successor = 0
                    order by r.ended_at desc limit ?) as latest`,
    [endedLimit],
  );
  return {
    live: all
      .filter(({ run }) => run.state !== 'ended')
      .toSorted((a, b) => a.run.claimedAtMs - b.run.claimedAtMs || a.run.id.localeCompare(b.run.id)),
    ended: all
      .filter(({ run }) => run.state === 'ended')
      .toSorted((a, b) => (b.run.ending?.endedAtMs ?? 0) - (a.run.ending?.endedAtMs ?? 0)),
  };
}

async function find(sql: Sql, reference: string): Promise<{ matches: readonly SessionWithRun[] }> {
  if (isUnstorable(reference)) return { matches: [] };
  const beginning = (column: string) => `substr(${column}, 1, ?) = ?`;
  const [own, native] = [
    `${beginning('s.id')} or s.id in (select session_id from runs where ${beginning('id')})`,
    `s.id in (select session_id from native_sessions where ${beginning('native_id')})`,
  ];
  const given = (times: number) => Array.from({ length: times }, () => [reference.length, reference]).flat();
  // A name may also be the beginning of another session's id: then it is ambiguous, and nobody is hit by mistake.
  const mayBegin = /^[rs]-[0-9a-z]+$/.test(reference);
  const attempts: [where: string, values: readonly (string | number)[]][] = [
    ['s.id = ? or s.id in (select session_id from runs where id = ?)', [reference, reference]],
    [
      `s.name = ? or s.id in (select session_id from native_sessions where native_id = ?)${mayBegin ? ` or ${own}` : ''}`,
      [reference, reference, ...(mayBegin ? given(2) : [])],
    ],
    [`${own} or ${native}`, given(3)],
  ];
  for (const [where, values] of attempts) {
    const rows = await sql.all(
      `${SELECT_SESSION_WITH_RUN} where ${where} order by s.name limit ${MAX_CANDIDATES}`,
      values,
    );
    if (rows.length > 0) return { matches: rows.map(sessionWithRunOf) };
  }
  return { matches: [] };
}
