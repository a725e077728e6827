/** Reviews as they are stored, and read. */
import type { Review } from '../lifecycle/review.ts';
import type { Row, Sql, SqlDriver, SqlValue } from './sql.ts';
import type { ReviewQuery, ReviewRecord, ReviewTexts } from './store.ts';

/** Without what reviewers wrote, which may be a megabyte each. */
const COLUMNS = [
  'id',
  'session_id',
  'pr',
  'head',
  'tree',
  'state',
  'intent',
  'superseded_by',
  'same_as',
  'reviewer_run_id',
  'verdict',
  'reason',
  'created_at',
  'started_at',
  'ended_at',
] as const;

/** More candidates than this help nobody to choose. */
const MAX_CANDIDATES = 10;

export function readReviews(driver: SqlDriver, query: ReviewQuery): Promise<readonly ReviewRecord[]> {
  const { sessionId, only, reference } = query;
  // SQLite reads a text up to its first NUL; PostgreSQL refuses it.
  if (reference?.includes('\0') === true) return Promise.resolve([]);
  const conditions: [text: string, values: SqlValue[]][] = [];
  if (sessionId !== undefined) conditions.push(['r.session_id = ?', [sessionId]]);
  if (only === 'open') conditions.push([`r.state in ('queued', 'running')`, []]);
  if (reference !== undefined) conditions.push(['substr(r.id, 1, ?) = ?', [reference.length, reference]]);
  const where = conditions.length === 0 ? '' : `where ${conditions.map(([text]) => text).join(' and ')}`;
  const limit = reference === undefined ? '' : ` limit ${MAX_CANDIDATES}`;
  return driver.read(async (sql) =>
    (
      await sql.all(
        `select ${COLUMNS.map((column) => `r.${column}`).join(', ')}, s.name as worker, h.head as current_head
         from reviews r join sessions s on s.id = r.session_id
         left join review_heads h on h.session_id = r.session_id and h.pr = r.pr
         ${where} order by s.name, r.session_id, r.number${limit}`,
        conditions.flatMap(([, values]) => values),
      )
    ).map((row) => ({
      review: reviewOf(row),
      worker: String(row['worker']),
      isCurrent: row['current_head'] === row['head'],
    })),
  );
}

export function reviewTexts(driver: SqlDriver, id: string): Promise<ReviewTexts> {
  return driver.read(async (sql) => {
    const [row] = await sql.all('select body, late_body, late_because from reviews where id = ?', [id]);
    const text = (column: string) => (typeof row?.[column] === 'string' ? row[column] : null);
    const late = text('late_body');
    return {
      body: text('body'),
      late: late === null ? null : { body: late, because: text('late_because') ?? 'no reason is on record' },
    };
  });
}

/** Locked in the order of their ids, so that two who want the same ones wait for each other and not both for ever. */
export async function lockReviews(sql: Sql, ids: readonly string[]): Promise<ReadonlyMap<string, Review>> {
  const found = new Map<string, Review>();
  for (const id of [...new Set(ids)].toSorted()) {
    const [row] = await sql.all(`select ${COLUMNS.join(', ')} from reviews where id = ?${sql.forUpdate}`, [
      id,
    ]);
    if (row !== undefined) found.set(id, reviewOf(row));
  }
  return found;
}

function reviewOf(row: Row): Review {
  // One cast for the columns whose values the schema's checks restrict.
  return {
    id: row['id'],
    sessionId: row['session_id'],
    pr: row['pr'],
    head: row['head'],
    tree: row['tree'] ?? null,
    state: row['state'],
    intent: row['intent'] ?? null,
    supersededBy: row['superseded_by'] ?? null,
    sameAs: row['same_as'] ?? null,
    reviewerRunId: row['reviewer_run_id'] ?? null,
    verdict: row['verdict'] ?? null,
    reason: row['reason'] ?? null,
    createdAtMs: Number(row['created_at']),
    startedAtMs: numberOrNull(row['started_at']),
    endedAtMs: numberOrNull(row['ended_at']),
  } as Review;
}

function numberOrNull(value: SqlValue | undefined): number | null {
  return value === null || value === undefined ? null : Number(value);
}
