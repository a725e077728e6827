/** Reading the event log from a number on, and what is counted beside it. */
import { ReeveError } from '../api/errors.ts';
import { tokensFrom } from '../lifecycle/usage.ts';
import type { TokenKind } from '../lifecycle/usage.ts';
import { eventOf } from './rows.ts';
import { slotsFor } from './sql.ts';
import type { Sql, SqlDriver } from './sql.ts';
import type { Counter, Figures, StoredEvent } from './store.ts';

const SELECT_EVENT = 'select seq, at, session_id, run_id, kind, actor, data from events';

export interface EventRange {
  /** Only those with a higher number, the earliest first. */
  readonly after?: number | undefined;
  /** Only those with a lower number, the latest so many; told in order all the same. */
  readonly before?: number | undefined;
  readonly sessionId?: string | undefined;
  readonly limit: number;
}

/** Only what is settled: whoever goes on behind the last of these misses none that became visible later. */
export function readEvents(driver: SqlDriver, range: EventRange): Promise<readonly StoredEvent[]> {
  const { after, before, sessionId, limit } = range;
  const isBackwards = after === undefined;
  return driver.read(async (sql) => {
    // A statement of its own: the next one sees whatever was over when this one looked.
    const upTo = sql.settledSeq === null ? undefined : await settledSeq(driver, sql, sql.settledSeq);
    const conditions: [text: string, value: string | number][] = [
      ...(sessionId === undefined ? [] : [['session_id = ?', sessionId] as [string, string]]),
      ...(after === undefined ? [] : [['seq > ?', after] as [string, number]]),
      ...(before === undefined ? [] : [['seq < ?', before] as [string, number]]),
      ...(upTo === undefined ? [] : [['seq <= ?', upTo] as [string, number]]),
    ];
    const where = conditions.length === 0 ? '' : ` where ${conditions.map(([text]) => text).join(' and ')}`;
    const rows = await sql.all(
      `${SELECT_EVENT}${where} order by seq ${isBackwards ? 'desc' : 'asc'} limit ?`,
      [...conditions.map(([, value]) => value), limit],
    );
    const events = rows.map(eventOf);
    return isBackwards ? events.toReversed() : events;
  });
}

/** All of one session, in order. */
export async function sessionEvents(driver: SqlDriver, sessionId: string): Promise<readonly StoredEvent[]> {
  const rows = await driver.read((sql) =>
    sql.all(`${SELECT_EVENT} where session_id = ? order by seq`, [sessionId]),
  );
  return rows.map(eventOf);
}

export async function latestEvent(
  driver: SqlDriver,
  sessionId: string,
  kinds: readonly string[],
): Promise<StoredEvent | null> {
  const { places, values } = slotsFor(kinds);
  const [row] = await driver.read((sql) =>
    sql.all(`${SELECT_EVENT} where session_id = ? and kind in (${places}) order by seq desc limit 1`, [
      sessionId,
      ...values,
    ]),
  );
  return row === undefined ? null : eventOf(row);
}

async function settledSeq(driver: SqlDriver, sql: Sql, expression: string): Promise<number> {
  const [row] = await sql.all(`select (${expression}) as seq`);
  if (typeof row?.['seq'] === 'number') return row['seq'];
  throw new ReeveError(
    'store_unavailable',
    `The store at ${driver.place} is a standby, which cannot tell which events are still to come.`,
    { hint: 'Set REEVE_STORE to the primary to read the log.' },
  );
}

/** One statement is enough: what it does not see yet but counts as settled is over before it answers. */
export async function lastSeq(driver: SqlDriver): Promise<number> {
  const [row] = await driver.read((sql) =>
    sql.all(
      `select max(seq) as seq from events${sql.settledSeq === null ? '' : ` where seq <= (${sql.settledSeq})`}`,
    ),
  );
  return Number(row?.['seq'] ?? 0);
}

/** For what leaves no event of its own, or would leave too many. */
export async function count(sql: Sql, counter: Counter): Promise<void> {
  await sql.run(
    'insert into counters (name, value) values (?, 1) on conflict (name) do update set value = counters.value + 1',
    [counter],
  );
}

export function figures(driver: SqlDriver): Promise<Figures> {
  return driver.read(async (sql) => {
    const counts = async (text: string) =>
      Object.fromEntries((await sql.all(text)).map((row) => [String(row['name']), Number(row['value'])]));
    return {
      runs: await counts(
        `select coalesce(outcome, 'live') as name, count(*) as value from runs group by outcome`,
      ),
      sessions: await counts(
        `select coalesce(r.outcome, 'live') as name, count(*) as value
         from sessions s join runs r on r.id = s.current_run_id group by r.outcome`,
      ),
      ...splitCounters(await counts('select name, value from counters')),
    };
  });
}

/** `tokens <kind> <harness>`: beside the other counters, for what was spent stays spent when its session is forgotten. */
export function tokenCounter(kind: TokenKind, harness: string): string {
  return `tokens ${kind} ${harness}`;
}

function splitCounters(all: Readonly<Record<string, number>>): Pick<Figures, 'counters' | 'tokens'> {
  const harnesses = Object.keys(all).flatMap((name) => /^tokens \w+ (.+)$/.exec(name)?.[1] ?? []);
  return {
    counters: { claims_lost: all['claims_lost'] ?? 0, writes_fenced: all['writes_fenced'] ?? 0 },
    tokens: Object.fromEntries(
      [...new Set(harnesses)].map((harness) => [
        harness,
        tokensFrom((kind) => all[tokenCounter(kind, harness)] ?? 0),
      ]),
    ),
  };
}
