/** Writes of runs, as they enter the store: admitted by `refuseWrite` on the run as it is now, or refused, and noted. */
import { refuseWrite, UNKNOWN_RUN } from '../lifecycle/fence.ts';
import type { Refusal } from '../lifecycle/fence.ts';
import type { Run } from '../lifecycle/run.ts';
import { count } from './log.ts';
import type { Sql } from './sql.ts';
import type { FenceResult, SessionWithRun, StoredEvent } from './store.ts';
import { requireLeft } from './taken-elsewhere.ts';
import type { LeftInSpool } from './taken-elsewhere.ts';

/** What this needs of the store around it. */
export interface FenceParts {
  readonly run: (sql: Sql, runId: string, lock: string) => Promise<Run | null>;
  readonly session: (sql: Sql, sessionId: string) => Promise<SessionWithRun>;
  readonly isTokenOf: (run: Run, token: string) => boolean;
  readonly addEvent: (
    sql: Sql,
    op: string,
    atMs: number,
    event: Omit<StoredEvent, 'seq' | 'atMs'>,
  ) => Promise<void>;
}

export interface Writer extends LeftInSpool {
  readonly runId: string;
  readonly token: string;
}

/** A write of a run that is known, with its session locked, so that it neither ends nor is forgotten meanwhile. */
export interface Weighed {
  readonly run: Run;
  readonly owner: SessionWithRun;
  /** Null when it counts. */
  readonly refusal: Refusal | null;
}

/** Null for a run that is not known. */
export async function weigh(sql: Sql, parts: FenceParts, writer: Writer): Promise<Weighed | null> {
  const unlocked = await parts.run(sql, writer.runId, '');
  if (unlocked === null) return null;
  // The session before the run, as in a claim: the same order everywhere, so nobody waits in a ring.
  await sql.all(`select id from sessions where id = ?${sql.forUpdate}`, [unlocked.sessionId]);
  const run = await parts.run(sql, writer.runId, sql.forUpdate);
  if (run === null) return null;
  requireLeft(writer);
  const owner = await parts.session(sql, run.sessionId);
  const isHolder = parts.isTokenOf(run, writer.token);
  return { run, owner, refusal: refuseWrite({ run, currentId: owner.run.id, isHolder }) };
}

export const REFUSED_UNKNOWN = { because: UNKNOWN_RUN.because, current: null } as const;

interface FencedWrite {
  readonly run: Run;
  readonly current: Run;
  readonly write: 'heartbeat' | 'submission' | 'usage';
  readonly because: string;
  /** The submission that it became, where it was put aside. */
  readonly kept?: string;
}

/**
 * Counted each time; told once a run and kind of write, and for each submission that was put aside. Two that look side by
 * side would not see what the other is about to add; but the session is locked.
 */
export async function noteFenced(
  sql: Sql,
  op: string,
  parts: FenceParts,
  fenced: FencedWrite,
): Promise<void> {
  const { run, current, write, because, kept } = fenced;
  await count(sql, 'writes_fenced');
  const rows = await sql.all(
    `select data from events where session_id = ? and run_id = ? and kind = 'write.fenced'`,
    [run.sessionId, run.id],
  );
  const told = rows.map((row) => JSON.parse(String(row['data'])) as { write: string; kept?: string });
  if (told.some((each) => each.write === write && each.kept === kept)) return;
  await parts.addEvent(sql, op, await sql.nowMs(), {
    sessionId: run.sessionId,
    runId: run.id,
    kind: 'write.fenced',
    actor: `run ${run.id}`,
    data: { write, because, current: current.id, ...(kept === undefined ? {} : { kept }) },
  });
}

export async function heartbeat(
  sql: Sql,
  op: string,
  parts: FenceParts,
  writer: Writer,
): Promise<FenceResult> {
  const weighed = await weigh(sql, parts, writer);
  if (weighed === null) return { accepted: false, ...REFUSED_UNKNOWN };
  const { run, owner, refusal } = weighed;
  if (refusal === null) {
    const atMs = await sql.nowMs();
    await sql.run(`update runs set heartbeat_at = ? where id = ? and state <> 'ended'`, [atMs, run.id]);
    return { accepted: true };
  }
  const { because } = refusal;
  await noteFenced(sql, op, parts, { run, current: owner.run, write: 'heartbeat', because });
  return { accepted: false, because, current: owner.run };
}
