/**
 * What runs handed in, as it is stored: accepted once for each key of a run, or put aside once for each content.
 * The session is locked from the decision to the end of the transaction, so two that submit the same find each other.
 */
import { planSubmission } from '../lifecycle/submission.ts';
import type { SubmissionFacts } from '../lifecycle/submission.ts';
import { noteFenced, REFUSED_UNKNOWN, weigh } from './fence.ts';
import type { FenceParts, Weighed } from './fence.ts';
import type { Row, Sql, SqlDriver } from './sql.ts';
import type {
  NewSubmission,
  Submission,
  SubmissionsQuery,
  SubmissionWithData,
  SubmitResult,
} from './store.ts';

export async function submit(
  sql: Sql,
  op: string,
  parts: FenceParts,
  given: NewSubmission,
): Promise<SubmitResult> {
  const weighed = await weigh(sql, parts, given);
  if (weighed === null) {
    return { is: 'fenced', ...REFUSED_UNKNOWN, known: null, why: 'only what a run itself submits is kept' };
  }
  const { run, owner } = weighed;
  const plan = planSubmission(await gather(sql, weighed, given));
  const fenced = { run, current: owner.run, write: 'submission' } as const;
  switch (plan.do) {
    case 'accept':
      await insert(sql, weighed, given);
      await parts.addEvent(sql, op, await sql.nowMs(), {
        sessionId: run.sessionId,
        runId: run.id,
        kind: 'submission.accepted',
        actor: `run ${run.id}`,
        data: { submission: given.id, bytes: given.bytes, digest: given.digest },
      });
      return { is: 'accepted', id: given.id, again: false };
    case 'repeat':
      return { is: 'accepted', id: plan.id, again: true };
    case 'object':
      return { is: 'conflict', id: plan.id };
    case 'decline':
      return { is: 'full', because: plan.because };
    case 'keep': {
      const { because } = plan.refusal;
      await insert(sql, weighed, given);
      await noteFenced(sql, op, parts, { ...fenced, because, kept: given.id });
      const known = { id: given.id, as: 'kept' } as const;
      return { is: 'fenced', because, current: owner.run, known, why: 'it came too late to be accepted' };
    }
    case 'refuse': {
      const { because } = plan.refusal;
      // Taken in a second time, by one who came after a reader that was killed: it was told the first time.
      const isTold = given.isStillLeft !== undefined && plan.known !== null;
      if (!isTold) await noteFenced(sql, op, parts, { ...fenced, because });
      return { is: 'fenced', because, current: owner.run, known: plan.known, why: plan.why };
    }
  }
}

async function gather(sql: Sql, { run, refusal }: Weighed, given: NewSubmission): Promise<SubmissionFacts> {
  const { key, digest, bytes } = given;
  const [underKey] = await sql.all(
    'select id, digest from submissions where run_id = ? and key = ? and accepted = 1',
    [run.id, key],
  );
  const idOf = async (text: string) => {
    const [row] = await sql.all(`select id from submissions where run_id = ? and digest = ? and ${text}`, [
      run.id,
      digest,
    ]);
    return row === undefined ? null : String(row['id']);
  };
  const [accepted] = await sql.all(
    'select count(*) as count, cast(coalesce(sum(bytes), 0) as bigint) as bytes from submissions where run_id = ? and accepted = 1',
    [run.id],
  );
  const [kept] = await sql.all(
    'select count(*) as count from submissions where run_id = ? and accepted = 0',
    [run.id],
  );
  return {
    refusal,
    digest,
    bytes,
    underKey:
      underKey === undefined ? null : { id: String(underKey['id']), digest: String(underKey['digest']) },
    acceptedAs: await idOf('accepted = 1'),
    keptAs: await idOf('accepted = 0'),
    accepted: { count: Number(accepted?.['count']), bytes: Number(accepted?.['bytes']) },
    keptCount: Number(kept?.['count']),
  };
}

async function insert(sql: Sql, { run, refusal }: Weighed, given: NewSubmission): Promise<void> {
  await sql.run(
    `insert into submissions (id, session_id, run_id, at, key, digest, bytes, accepted, because, data)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [
      given.id,
      run.sessionId,
      run.id,
      await sql.nowMs(),
      given.key,
      given.digest,
      given.bytes,
      refusal === null ? 1 : 0,
      refusal?.because ?? null,
      given.data,
    ],
  );
}

const COLUMNS = 'id, session_id, run_id, at, key, digest, bytes, accepted, because';

export function submissions(driver: SqlDriver, query: SubmissionsQuery): Promise<readonly Submission[]> {
  const { sessionId, which, limit } = query;
  const conditions = [
    ...(sessionId === undefined ? [] : ['session_id = ?']),
    ...(which === 'refused' ? ['accepted = 0'] : []),
  ];
  const where = conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`;
  return driver.read(async (sql) =>
    (
      await sql.all(`select ${COLUMNS} from submissions ${where} order by at desc, id desc limit ?`, [
        ...(sessionId === undefined ? [] : [sessionId]),
        limit,
      ])
    ).map(submissionOf),
  );
}

/** Two are enough to tell that a beginning of an id fits more than one. */
const MAX_MATCHES = 2;

export function findSubmissions(
  driver: SqlDriver,
  reference: string,
): Promise<readonly SubmissionWithData[]> {
  return driver.read(async (sql) => {
    const select = `select ${COLUMNS}, data from submissions where`;
    const named = await sql.all(`${select} id = ?`, [reference]);
    const rows =
      named.length > 0
        ? named
        : await sql.all(`${select} substr(id, 1, ?) = ? limit ${MAX_MATCHES}`, [reference.length, reference]);
    return rows.map((row) => ({ ...submissionOf(row), data: String(row['data']) }));
  });
}

function submissionOf(row: Row): Submission {
  return {
    id: String(row['id']),
    sessionId: String(row['session_id']),
    runId: String(row['run_id']),
    atMs: Number(row['at']),
    key: String(row['key']),
    digest: String(row['digest']),
    bytes: Number(row['bytes']),
    isAccepted: Number(row['accepted']) === 1,
    because: row['because'] === null ? null : String(row['because']),
  };
}
