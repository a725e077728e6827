/** Which store this is, how far its history goes, and which hosts have said, since it was found changed, who of theirs lives. */
import type { Sql } from './sql.ts';
import type { Host, StoreState } from './store.ts';

/** `last` is what the asking host saw of it last, or nothing; one that has only looked knows no run. */
export async function readState(
  sql: Sql,
  installation: string,
  last: { readonly run: string; readonly session: string } | null,
): Promise<StoreState> {
  const [row] = await sql.all(
    `select id, system, incarnation,
       (select coalesce(max(seq), 0) from events) as seq,
       (select announced from hosts where hosts.id = ?) as announced,
       (select count(*) from runs where runs.id = ?) as known,
       (select count(*) from events where session_id = ? and kind = 'session.removed') as removed
     from store_identity`,
    [installation, last?.run ?? '', last?.session ?? ''],
  );
  const announced = row?.['announced'] ?? null;
  return {
    id: String(row?.['id']),
    seq: Number(row?.['seq']),
    remembers: (last?.run ?? '') === '' || Number(row?.['known']) + Number(row?.['removed']) > 0,
    recordedSystem: String(row?.['system']),
    system: await sql.system(),
    incarnation: Number(row?.['incarnation']),
    announced: announced === null ? null : Number(announced),
  };
}

export async function hosts(sql: Sql): Promise<readonly (Host & { hasAnnounced: boolean })[]> {
  const rows = await sql.all(
    `select id, name, case when announced >= (select incarnation from store_identity) then 1 else 0 end as announced
     from hosts order by name, id`,
  );
  return rows.map((row) => ({
    id: String(row['id']),
    name: String(row['name']),
    hasAnnounced: Number(row['announced']) === 1,
  }));
}

/** It has nothing living that is not on record. */
export async function markAnnounced(sql: Sql, host: Host): Promise<void> {
  await sql.run(
    `insert into hosts (id, name, announced, seen_at) values (?, ?, (select incarnation from store_identity), ?)
     on conflict (id) do update set name = excluded.name, announced = excluded.announced, seen_at = excluded.seen_at`,
    [host.id, host.name, await sql.nowMs()],
  );
}
