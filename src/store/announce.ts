/** Living runs that the store has forgotten, because it was lost or went back, and how it learns of them again. */
import type { RunningRun } from '../lifecycle/run.ts';
import { changedColumns, runOf, SELECT_RUN } from './rows.ts';
import type { Sql } from './sql.ts';
import type { AnnounceResult, Forgotten, Host, StoredEvent, StoreState } from './store.ts';

export interface AnnounceParts {
  readonly addEvent: (
    sql: Sql,
    op: string,
    atMs: number,
    event: Omit<StoredEvent, 'seq' | 'atMs'>,
  ) => Promise<void>;
  readonly insertRun: (sql: Sql, run: RunningRun) => Promise<void>;
}

/** As many names as sensible people would try. */
const MAX_NAMES = 50;

/** The first of those who notice begins it; to the others it has begun. Every host known then has to speak up. */
export async function beginIncarnation(sql: Sql, from: StoreState, hosts: readonly Host[]): Promise<void> {
  const atMs = await sql.nowMs();
  const changed = await sql.run(
    'update store_identity set incarnation = incarnation + 1, system = ? where incarnation = ?',
    [from.system, from.incarnation],
  );
  if (changed === 0) return;
  for (const { id, name } of hosts) {
    await sql.run(
      'insert into hosts (id, name, announced, seen_at) values (?, ?, 0, ?) on conflict (id) do nothing',
      [id, name, atMs],
    );
  }
}

/** Every epoch up to this one may have been given out, although the store does not know of it any more. */
export async function raiseEpochs(sql: Sql, floor: number): Promise<void> {
  await sql.run('update store_identity set epoch_floor = ? where epoch_floor < ?', [floor, floor]);
  await sql.run('update sessions set epoch = ? where epoch < ?', [floor, floor]);
}

/**
 * Puts a living run on record that the store has forgotten. Where its session has another owner by now, there are two:
 * it gets a session of its own, so that it can be seen and ended.
 */
export async function announce(
  sql: Sql,
  op: string,
  parts: AnnounceParts,
  announced: Forgotten,
): Promise<AnnounceResult> {
  const { session, run, because, isSeen } = announced;
  const [known] = await sql.all(`${SELECT_RUN} where id = ?`, [run.id]);
  if (known !== undefined) return { is: 'known', run: runOf(known) };
  const place = await placeFor(sql, announced);
  const epoch = Math.max(run.epoch, place.epoch);
  const restored = { ...run, sessionId: place.id, epoch };
  await parts.insertRun(sql, restored);
  const columns = changedColumns(restored);
  await sql.run(
    `update runs set ${Object.keys(columns)
      .map((column) => `${column} = ?`)
      .join(', ')} where id = ?`,
    [...Object.values(columns), run.id],
  );
  await sql.run('update runs set has_successor = 1 where session_id = ? and id <> ?', [place.id, run.id]);
  await sql.run('update sessions set epoch = ?, current_run_id = ?, cwd = ?, argv = ? where id = ?', [
    epoch,
    run.id,
    session.cwd,
    JSON.stringify(session.argv),
    place.id,
  ]);
  const nativeId = run.native?.id ?? null;
  if (nativeId !== null) {
    await sql.run(
      `insert into native_sessions (harness, native_id, session_id, bound_at) values (?, ?, ?, ?)
       on conflict (harness, native_id) do nothing`,
      [session.harness, nativeId, place.id, await sql.nowMs()],
    );
  }
  await parts.addEvent(sql, op, await sql.nowMs(), {
    sessionId: place.id,
    runId: run.id,
    kind: 'run.announced',
    actor: 'keeper',
    data: {
      because,
      isSeen,
      keeper: run.keeper,
      containment: run.containment,
      epoch,
      instead: place.instead,
    },
  });
  return place.instead === null ? { is: 'announced' } : { is: 'apart', name: place.name };
}

interface Place {
  readonly id: string;
  readonly name: string;
  /** The lowest epoch that it may have there. */
  readonly epoch: number;
  /** Whose session it would have been. */
  readonly instead: string | null;
}

async function placeFor(sql: Sql, announced: Forgotten): Promise<Place> {
  const { session, run, newSessionId } = announced;
  for (let number = 1; number <= MAX_NAMES; number += 1) {
    const name = number === 1 ? session.name : `${session.name}-${number}`;
    const id = number === 1 ? session.id : newSessionId;
    const instead = number === 1 ? null : session.name;
    if (await insertSession(sql, announced, name, id)) return { id, name, epoch: run.epoch, instead };
    const [row] = await sql.all(
      `select s.id, s.epoch, r.state, (select max(epoch) from runs where session_id = s.id) as latest
       from sessions s join runs r on r.id = s.current_run_id where s.name = ?${sql.forUpdate === '' ? '' : ' for update of s'}`,
      [name],
    );
    if (number === 1 && row !== undefined && row['state'] === 'ended') {
      const taken = Number(row['latest']) >= run.epoch;
      return {
        id: String(row['id']),
        name,
        epoch: taken ? Math.max(Number(row['epoch']), Number(row['latest'])) + 1 : Number(row['epoch']),
        instead: null,
      };
    }
  }
  throw new Error(`No name is left for run ${run.id}, which lives and is on no record.`);
}

/** False when there is one of that name. */
async function insertSession(
  sql: Sql,
  { session, run }: Forgotten,
  name: string,
  id: string,
): Promise<boolean> {
  const isItsOwn = id === session.id;
  const inserted = await sql.run(
    `insert into sessions (id, name, harness, cwd, argv, epoch, current_run_id, created_at, native_id, budget)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing`,
    [
      id,
      name,
      session.harness,
      session.cwd,
      JSON.stringify(session.argv),
      run.epoch,
      run.id,
      session.createdAtMs,
      isItsOwn ? session.nativeId : null,
      session.budget === null ? null : JSON.stringify(session.budget),
    ],
  );
  return inserted === 1;
}
