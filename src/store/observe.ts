/** What harnesses say of their sessions, as it enters the store: conversations bound, activity, and what was fenced. */
import { takeFact } from '../lifecycle/harness-fact.ts';
import type { HarnessFact, Native } from '../lifecycle/harness-fact.ts';
import type { Run } from '../lifecycle/run.ts';
import { count } from './log.ts';
import type { Sql } from './sql.ts';
import type { ObserveResult, SessionWithRun, StoredEvent } from './store.ts';

type NewEvent = Omit<StoredEvent, 'seq' | 'atMs'>;

/** What this needs of the store around it. */
export interface ObserveParts {
  readonly run: (sql: Sql, runId: string, lock: string) => Promise<Run | null>;
  readonly session: (sql: Sql, sessionId: string) => Promise<SessionWithRun>;
  readonly addEvent: (sql: Sql, op: string, atMs: number, event: NewEvent) => Promise<void>;
}

/** A message is taken again only when a reader died in between, or two read at once: it is among the latest then. */
const LATEST_EVENTS = 100;
/** A nested harness may report hundreds of times; a few are enough to tell that it did. */
const MAX_FENCED_A_RUN = 20;

/** Null when the conversation is the session's; otherwise the session that it belongs to. */
export async function bindNative(
  sql: Sql,
  binding: { harness: string; nativeId: string; sessionId: string; atMs: number },
): Promise<string | null> {
  const { harness, nativeId, sessionId, atMs } = binding;
  await sql.run(
    `insert into native_sessions (harness, native_id, session_id, bound_at) values (?, ?, ?, ?)
     on conflict (harness, native_id) do nothing`,
    [harness, nativeId, sessionId, atMs],
  );
  const [row] = await sql.all('select session_id from native_sessions where harness = ? and native_id = ?', [
    harness,
    nativeId,
  ]);
  const holder = String(row?.['session_id']);
  return holder === sessionId ? null : holder;
}

export async function observe(
  sql: Sql,
  op: string,
  parts: ObserveParts,
  message: { runId: string; fact: HarnessFact; source: string },
): Promise<ObserveResult> {
  const { runId, fact, source } = message;
  const unlocked = await parts.run(sql, runId, '');
  if (unlocked === null) return { is: 'fenced', because: 'no such run is known' };
  // The session before the run and the conversation, as in a claim: the same order everywhere, so nobody waits in a ring.
  await sql.all(`select id from sessions where id = ?${sql.forUpdate}`, [unlocked.sessionId]);
  const run = await parts.run(sql, runId, sql.forUpdate);
  if (run === null) return { is: 'fenced', because: 'no such run is known' };
  if (await wasTaken(sql, run.sessionId, source)) return { is: 'seen' };

  const { session, run: current } = await parts.session(sql, run.sessionId);
  const result = takeFact(run, current.id, fact);
  const add = async (kind: string, data: NewEvent['data']) =>
    parts.addEvent(sql, op, await sql.nowMs(), {
      sessionId: run.sessionId,
      runId,
      kind,
      actor: session.harness,
      data: { ...data, source },
    });
  if (result.take === 'fence') {
    await noteFenced(sql, run, () =>
      add('hook.fenced', { what: fact.kind, nativeId: fact.nativeId, because: result.because }),
    );
    return { is: 'fenced', because: result.because };
  }
  const taken = await bindIfNew(sql, session.harness, run, result.native);
  if (taken !== null) {
    const owner = await parts.session(sql, taken);
    const because = `conversation ${fact.nativeId} belongs to session ${owner.session.name}`;
    await noteFenced(sql, run, () =>
      add('native.taken', { nativeId: fact.nativeId, owner: owner.session.name }),
    );
    return { is: 'fenced', because };
  }
  await sql.run(`update runs set native = ?, activity = ? where id = ? and state <> 'ended'`, [
    JSON.stringify(result.native),
    JSON.stringify(result.activity),
    run.id,
  ]);
  if (result.native?.is === 'bound') {
    await sql.run('update sessions set native_id = ? where id = ?', [result.native.id, run.sessionId]);
  }
  if (result.event !== null) await add(result.event.kind, result.event.data);
  return { is: 'accepted', run: { ...run, native: result.native, activity: result.activity } };
}

async function bindIfNew(sql: Sql, harness: string, run: Run, native: Native | null): Promise<string | null> {
  if (native?.is !== 'bound') return null;
  return bindNative(sql, {
    harness,
    nativeId: native.id,
    sessionId: run.sessionId,
    atMs: await sql.nowMs(),
  });
}

async function wasTaken(sql: Sql, sessionId: string, source: string): Promise<boolean> {
  const rows = await sql.all(
    `select data from events where session_id = ? order by seq desc limit ${LATEST_EVENTS}`,
    [sessionId],
  );
  return rows.some((row) => (JSON.parse(String(row['data'])) as { source?: string }).source === source);
}

async function noteFenced(sql: Sql, run: Run, add: () => Promise<void>): Promise<void> {
  await count(sql, 'writes_fenced');
  const known = await sql.all(
    `select 1 as found from events where session_id = ? and run_id = ? and kind in ('hook.fenced', 'native.taken') limit ${MAX_FENCED_A_RUN}`,
    [run.sessionId, run.id],
  );
  if (known.length < MAX_FENCED_A_RUN) await add();
}
