/**
 * What changes of reviews. Rows are locked before anything is decided, and events come last: whoever waits for the order
 * of events holds all its rows already.
 */
import { refuseWrite } from '../lifecycle/fence.ts';
import type { ProcessIdentity } from '../lifecycle/process-identity.ts';
import type { Run } from '../lifecycle/run.ts';
import { takeReviewStep } from '../lifecycle/review.ts';
import type { Review, ReviewEvent } from '../lifecycle/review.ts';
import type { WantedHead } from '../lifecycle/review-plan.ts';
import { lockReviews } from './reviews.ts';
import type { Sql } from './sql.ts';
import type {
  ReviewLockRequest,
  ReviewLockResult,
  ReviewPlanWrite,
  ReviewStepOf,
  ReviewSubmission,
  SessionWithRun,
  StoredEvent,
  ReviewSubmitResult,
} from './store.ts';
import { requireLeft } from './taken-elsewhere.ts';

/** What the store knows of runs and events. */
export interface ReviewParts {
  run(sql: Sql, runId: string, lock?: string): Promise<Run | null>;
  session(sql: Sql, sessionId: string): Promise<SessionWithRun>;
  isTokenOf(run: Run, token: string): boolean;
  addEvent(sql: Sql, op: string, atMs: number, event: Omit<StoredEvent, 'seq' | 'atMs'>): Promise<void>;
}

export async function takeReviewLock(sql: Sql, request: ReviewLockRequest): Promise<ReviewLockResult> {
  const { sessionId, token, holder, instead } = request;
  const [session] = await sql.all('select id from sessions where id = ?', [sessionId]);
  if (session === undefined) return { is: 'gone' };
  if (instead !== null) {
    await sql.run('delete from review_locks where session_id = ? and token = ?', [sessionId, instead]);
  }
  await sql.run(
    `insert into review_locks (session_id, token, holder, taken_at) values (?, ?, ?, ?)
     on conflict (session_id) do nothing`,
    [sessionId, token, JSON.stringify(holder), await sql.nowMs()],
  );
  const [lock] = await sql.all('select token, holder from review_locks where session_id = ?', [sessionId]);
  if (lock === undefined || lock['token'] === token) return { is: 'taken' };
  // Written above, by whoever holds it.
  const other = JSON.parse(String(lock['holder'])) as ProcessIdentity;
  return { is: 'held', token: String(lock['token']), holder: other };
}

export async function releaseReviewLock(sql: Sql, sessionId: string, token: string): Promise<void> {
  await sql.run('delete from review_locks where session_id = ? and token = ?', [sessionId, token]);
}

export async function writeReviewPlan(
  sql: Sql,
  op: string,
  parts: ReviewParts,
  plan: ReviewPlanWrite,
): Promise<boolean> {
  const { sessionId, lockToken, actor } = plan;
  const held = await sql.all(
    `select token from review_locks where session_id = ? and token = ?${sql.forUpdate}`,
    [sessionId, lockToken],
  );
  if (held.length === 0) return false;
  const atMs = await sql.nowMs();
  const events: NewEvent[] = [];
  for (const head of plan.heads) await writeHead(sql, sessionId, head, atMs);
  // What gives way first, for a pull request has one standing review at a time.
  events.push(...(await takeSteps(sql, plan.steps, atMs)).events);
  let number = await lastNumber(sql, sessionId);
  for (const each of plan.created) {
    number += 1;
    events.push(await insertReview(sql, sessionId, each, number, atMs));
  }
  for (const event of events) await parts.addEvent(sql, op, atMs, eventFor(event, actor));
  return true;
}

export async function stepReviews(
  sql: Sql,
  op: string,
  parts: ReviewParts,
  steps: readonly ReviewStepOf[],
  actor: string,
): Promise<readonly string[]> {
  const atMs = await sql.nowMs();
  const { ids, events } = await takeSteps(sql, steps, atMs);
  for (const event of events) await parts.addEvent(sql, op, atMs, eventFor(event, actor));
  return ids;
}

export async function submitReview(
  sql: Sql,
  op: string,
  parts: ReviewParts,
  submission: ReviewSubmission,
): Promise<ReviewSubmitResult> {
  const { id, runId, token, verdict, body } = submission;
  const review = (await lockReviews(sql, [id])).get(id);
  const run = await parts.run(sql, runId, sql.forUpdate);
  if (review === undefined) return refusal('there is no such review');
  if (run === null || !parts.isTokenOf(run, token)) return refusal('the token is not that of a run');
  requireLeft(submission);
  const atMs = await sql.nowMs();
  if (review.state === 'submitted' && review.reviewerRunId === runId) {
    const [stored] = await sql.all('select body from reviews where id = ?', [id]);
    if (review.verdict === verdict && stored?.['body'] === body) return { is: 'again', review };
  }
  const because = await refuseSubmission(sql, parts, review, run);
  const result = because === null ? takeReviewStep(review, { kind: 'submit', verdict }, atMs) : null;
  if (result?.taken === true && (await update(sql, review, result.review)) === 1) {
    await sql.run('update reviews set body = ? where id = ?', [body, id]);
    const event = { sessionId: review.sessionId, ...result.event };
    await parts.addEvent(sql, op, atMs, eventFor(event, `run ${runId}`));
    return { is: 'accepted', review: result.review };
  }
  return putAside(sql, op, parts, review, { ...submission, because: because ?? 'it is not running', atMs });
}

function refusal(because: string): ReviewSubmitResult {
  return { is: 'refused', because, isKept: false };
}

/** Null when it may be accepted. That the run is the token's holder is known. */
async function refuseSubmission(
  sql: Sql,
  parts: ReviewParts,
  review: Review,
  run: Run,
): Promise<string | null> {
  const { state, reviewerRunId, supersededBy, intent, verdict } = review;
  if (supersededBy !== null) return `it is superseded by review ${supersededBy}`;
  if (state === 'queued') return 'it waits for a fresh reviewer';
  if (verdict !== null) return `this review already has a verdict (${verdict})`;
  if (state !== 'running') return `this review ${state === 'failed' ? 'has failed' : `was ${state}`}`;
  if (reviewerRunId !== run.id) return `run ${reviewerRunId} reviews it now`;
  if (intent === 'cancel') return 'it is being cancelled';
  const [head] = await sql.all('select head from review_heads where session_id = ? and pr = ?', [
    review.sessionId,
    review.pr,
  ]);
  if (head?.['head'] !== review.head) return `the head of ${review.pr} is ${String(head?.['head'])} now`;
  const { run: current } = await parts.session(sql, run.sessionId);
  return refuseWrite({ run, currentId: current.id, isHolder: true })?.because ?? null;
}

/** What a reviewer wrote too late may still be worth reading. Only one that had, or might have had, this review. */
async function putAside(
  sql: Sql,
  op: string,
  parts: ReviewParts,
  review: Review,
  { runId, body, because, atMs }: ReviewSubmission & { because: string; atMs: number },
): Promise<ReviewSubmitResult> {
  const had = review.reviewerRunId === runId || (await wasStartedFor(sql, review, runId));
  if (!had) return refusal(because);
  const [before] = await sql.all('select late_body, late_because from reviews where id = ?', [review.id]);
  const isKept = before?.['late_body'] === body && before['late_because'] === because;
  if (isKept) return { is: 'refused', because, isKept };
  await sql.run('update reviews set late_body = ?, late_because = ? where id = ?', [
    body,
    because,
    review.id,
  ]);
  const { id, pr, head, sessionId } = review;
  const data = { review: id, pr, head, run: runId, because };
  await parts.addEvent(sql, op, atMs, eventFor({ sessionId, kind: 'review.fenced', data }, `run ${runId}`));
  return { is: 'refused', because, isKept: true };
}

/** Whether this run had the review before another one: its start is in the worker's log. */
async function wasStartedFor(sql: Sql, { id, sessionId }: Review, runId: string): Promise<boolean> {
  const rows = await sql.all(`select data from events where session_id = ? and kind = 'review.started'`, [
    sessionId,
  ]);
  return rows.some(({ data }) => {
    // Written by `bind`.
    const started = JSON.parse(String(data)) as { review?: unknown; run?: unknown };
    return started.review === id && started.run === runId;
  });
}

interface NewEvent extends ReviewEvent {
  readonly sessionId: string;
}

function eventFor({ sessionId, kind, data }: NewEvent, actor: string): Omit<StoredEvent, 'seq' | 'atMs'> {
  return { sessionId, runId: null, kind, actor, data };
}

async function takeSteps(
  sql: Sql,
  steps: readonly ReviewStepOf[],
  atMs: number,
): Promise<{ ids: readonly string[]; events: readonly NewEvent[] }> {
  const reviews = new Map(
    await lockReviews(
      sql,
      steps.map(({ id }) => id),
    ),
  );
  const ids: string[] = [];
  const events: NewEvent[] = [];
  for (const { id, step } of steps) {
    const review = reviews.get(id);
    const result = review === undefined ? null : takeReviewStep(review, step, atMs);
    if (review === undefined || result?.taken !== true) continue;
    if ((await update(sql, review, result.review)) !== 1) continue;
    reviews.set(id, result.review);
    ids.push(id);
    events.push({ sessionId: review.sessionId, ...result.event });
  }
  return { ids, events };
}

function update(sql: Sql, before: Review, after: Review): Promise<number> {
  return sql.run(
    `update reviews set state = ?, intent = ?, superseded_by = ?, reviewer_run_id = ?, verdict = ?, reason = ?,
       started_at = ?, ended_at = ? where id = ? and state = ?`,
    [
      after.state,
      after.intent,
      after.supersededBy,
      after.reviewerRunId,
      after.verdict,
      after.reason,
      after.startedAtMs,
      after.endedAtMs,
      before.id,
      before.state,
    ],
  );
}

async function writeHead(sql: Sql, sessionId: string, { pr, head, tree }: WantedHead, atMs: number) {
  await sql.run(
    `insert into review_heads (session_id, pr, head, tree, changed_at) values (?, ?, ?, ?, ?)
     on conflict (session_id, pr) do update set head = excluded.head, tree = excluded.tree,
       changed_at = excluded.changed_at where review_heads.head <> excluded.head`,
    [sessionId, pr, head, tree, atMs],
  );
}

async function lastNumber(sql: Sql, sessionId: string): Promise<number> {
  const [row] = await sql.all('select max(number) as number from reviews where session_id = ?', [sessionId]);
  return Number(row?.['number'] ?? 0);
}

async function insertReview(
  sql: Sql,
  sessionId: string,
  created: ReviewPlanWrite['created'][number],
  number: number,
  atMs: number,
): Promise<NewEvent> {
  const { id, pr, head, tree, state } = created;
  const [sameAs, verdict] = state === 'duplicate' ? [created.sameAs, created.verdict] : [null, null];
  await sql.run(
    `insert into reviews (id, session_id, number, pr, head, tree, state, same_as, verdict, created_at, ended_at)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [
      id,
      sessionId,
      number,
      pr,
      head,
      tree,
      state,
      sameAs,
      verdict,
      atMs,
      state === 'duplicate' ? atMs : null,
    ],
  );
  const data = { review: id, pr, head, ...(sameAs === null ? {} : { sameAs, verdict }) };
  return { sessionId, kind: state === 'duplicate' ? 'review.skipped' : 'review.created', data };
}
