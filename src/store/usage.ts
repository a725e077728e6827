/**
 * The ledger as it is stored: every answer of a model once, the same added up, and how far each file has been read.
 *
 * A batch is one transaction with the session locked: the position is still the one that the reader began at, the
 * answers grow to what was told, the sums by as much as they grew, and the position moves. So a reader that dies in
 * between has written nothing, and of two that read the same, one is told to look again.
 */
import { difference, isNothing, larger, NO_TOKENS, spenderOf, sum, TOKEN_KINDS } from '../lifecycle/usage.ts';
import type { Spender, Tokens, UsagePosition, UsageRecord } from '../lifecycle/usage.ts';
import { tokenCounter } from './log.ts';
import { runOf, SELECT_RUN } from './rows.ts';
import { slotsFor } from './sql.ts';
import type { Sql } from './sql.ts';
import type { RecordedUsage, UsageBatch } from './store.ts';
import { COLUMNS, positionOf, ROWS_A_STATEMENT, tokensOf, upsert } from './usage-rows.ts';
import { addToSums } from './usage-sums.ts';

export async function recordUsage(sql: Sql, batch: UsageBatch): Promise<RecordedUsage> {
  const { sessionId, nativeId, path, from, to } = batch;
  const [session] = await sql.all(`select harness from sessions where id = ?${sql.forUpdate}`, [sessionId]);
  if (session === undefined) return 'gone';
  const [row] = await sql.all(
    'select identity, offset_bytes, state from usage_files where session_id = ? and native_id = ? and path = ?',
    [sessionId, nativeId, path],
  );
  if (!isSame(row === undefined ? null : positionOf(row), from)) return 'moved';
  const grown = await growAnswers(sql, sessionId, batch.records);
  await putGrown(sql, { sessionId, harness: String(session['harness']) }, grown);
  if (!isSame(from, to)) {
    await sql.run(
      `insert into usage_files (session_id, native_id, path, identity, offset_bytes, state) values (?, ?, ?, ?, ?, ?)
       on conflict (session_id, native_id, path) do update set identity = excluded.identity,
         offset_bytes = excluded.offset_bytes, state = excluded.state`,
      [sessionId, nativeId, path, to.identity, to.offset, to.state],
    );
  }
  return 'recorded';
}

interface Answer extends Spender, UsageRecord {
  readonly day: string;
}

/** An answer, and by how much more it is than was on record. */
interface Grown {
  readonly answer: Answer;
  readonly by: Tokens;
}

async function growAnswers(
  sql: Sql,
  sessionId: string,
  records: readonly UsageRecord[],
): Promise<readonly Grown[]> {
  const grown: Grown[] = [];
  const told = mergedByKey(records);
  if (told.length === 0) return grown;
  const runs = (await sql.all(`${SELECT_RUN} where session_id = ? order by epoch`, [sessionId])).map(runOf);
  for (let at = 0; at < told.length; at += ROWS_A_STATEMENT) {
    const some = told.slice(at, at + ROWS_A_STATEMENT);
    const known = await answersOf(
      sql,
      sessionId,
      some.map(({ key }) => key),
    );
    for (const record of some) {
      const before = known.get(record.key);
      const now = before === undefined ? record : { ...before, ...larger(before, record) };
      const by = difference(now, before ?? NO_TOKENS);
      const spender = before ?? spenderOf(runs, record.atMs);
      if (spender === null || isNothing(by)) continue;
      grown.push({
        answer: { ...now, day: dayOf(now.atMs), runId: spender.runId, isLate: spender.isLate },
        by,
      });
    }
  }
  return grown;
}

/** The answers, their sums and the counters together; the session is locked. */
export async function putGrown(
  sql: Sql,
  { sessionId, harness }: { sessionId: string; harness: string },
  grown: readonly Grown[],
): Promise<void> {
  await upsert(sql, {
    table: 'usage',
    key: ['session_id', 'message'],
    columns: ['run_id', 'model', 'day', 'at', 'late'],
    onConflict: (column) => `excluded.${column}`,
    rows: grown.map(({ answer: { key, runId, model, day, atMs, isLate, ...tokens } }) => ({
      values: [sessionId, key, runId, model, day, atMs, Number(isLate)],
      tokens,
    })),
  });
  await addToSums(
    sql,
    sessionId,
    grown.map(({ answer: key, by }) => ({ key, tokens: by })),
  );
  await addToCounters(sql, harness, grown);
}

/** The latest moment that has a date: a transcript may say anything. */
const LATEST_MS = 8.64e15;

/** The day in UTC, which is the same wherever it is asked. */
export function dayOf(atMs: number): string {
  const day = Math.floor(Math.min(atMs, LATEST_MS) / DAY_MS);
  // Answers come by the thousand, of one day.
  if (day !== lastDay.day) lastDay = { day, text: new Date(day * DAY_MS).toISOString().slice(0, 10) };
  return lastDay.text;
}

const DAY_MS = 24 * 60 * 60 * 1000;
let lastDay = { day: Number.NaN, text: '' };

/** Longer ones are of no harness; and a zero byte is more than PostgreSQL takes in a text. */
const MAX_NAME_LENGTH = 200;

function cleaned(record: UsageRecord): UsageRecord {
  return isClean(record.key) && isClean(record.model)
    ? record
    : { ...record, key: clean(record.key), model: clean(record.model) };
}

function isClean(text: string): boolean {
  return text.length <= MAX_NAME_LENGTH && !text.includes('\0');
}

function clean(text: string): string {
  return text.replaceAll('\0', '').slice(0, MAX_NAME_LENGTH);
}

/** One telling of each answer: two of one key in one statement is more than PostgreSQL takes too. */
function mergedByKey(records: readonly UsageRecord[]): readonly UsageRecord[] {
  const merged = new Map<string, UsageRecord>();
  for (const record of records.map(cleaned)) {
    const before = merged.get(record.key);
    merged.set(record.key, before === undefined ? record : { ...before, ...larger(before, record) });
  }
  return [...merged.values()];
}

export async function answersOf(
  sql: Sql,
  sessionId: string,
  keys: readonly string[],
): Promise<ReadonlyMap<string, Answer>> {
  const { places, values } = slotsFor(keys);
  const rows = await sql.all(
    `select message, run_id, model, day, at, late, ${COLUMNS.join(', ')} from usage
     where session_id = ? and message in (${places})`,
    [sessionId, ...values],
  );
  return new Map(
    rows.map((row) => {
      const key = String(row['message']);
      const answer: Answer = {
        key,
        runId: String(row['run_id']),
        model: String(row['model']),
        day: String(row['day']),
        atMs: Number(row['at']),
        isLate: row['late'] === 1,
        ...tokensOf(row),
      };
      return [key, answer];
    }),
  );
}

async function addToCounters(sql: Sql, harness: string, grown: readonly Grown[]): Promise<void> {
  const spent = grown.reduce<Tokens>((all, { by }) => sum(all, by), NO_TOKENS);
  // In the same order everywhere, so that nobody waits in a ring.
  for (const kind of TOKEN_KINDS) {
    if (spent[kind] === 0) continue;
    await sql.run(
      `insert into counters (name, value) values (?, ?)
       on conflict (name) do update set value = counters.value + excluded.value`,
      [tokenCounter(kind, harness), spent[kind]],
    );
  }
}

function isSame(one: UsagePosition | null, other: UsagePosition | null): boolean {
  if (one === null || other === null) return one === other;
  return one.identity === other.identity && one.offset === other.offset && one.state === other.state;
}
