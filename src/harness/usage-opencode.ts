/**
 * What a conversation of opencode cost, from the messages in its database, and those of its subagents' conversations,
 * which name it as their parent.
 *
 * A message of an answer, shortened (the column `data`, beside `id`, `session_id`, `time_created`, `time_updated`):
 *   {"role":"assistant","modelID":"fake-model","providerID":"loopback","time":{"created":1794802167313,"completed":1794802168871},
 *    "tokens":{"total":1050,"input":700,"output":45,"reasoning":5,"cache":{"read":300,"write":0}}}
 *
 * `input` is without the cache, `output` without the reasoning. A message is changed in place while its answer comes,
 * and its tokens are in it once that is complete. So the position is a time: every message that was changed since is
 * read, and a little before, for what is written at one moment may be seen only at a later one. A database that was put
 * in the place of another is read from its beginning.
 */
import { statSync } from 'node:fs';
import type { UsageRecord } from '../lifecycle/usage.ts';
import { isNothing } from '../lifecycle/usage.ts';
import type { Place } from './adapter.ts';
import { askDatabase } from './opencode-database.ts';
import { isObject, textField } from './transcript.ts';
import type { JsonObject } from './transcript.ts';
import { signOf } from './usage-lines.ts';
import { countIn } from './usage.ts';
import type { UsagePiece, UsageReader, UsageRequest } from './usage.ts';

/** Longer than anything that opencode does in one transaction. */
const OVERLAP_MS = 10_000;
/** Each has about a kilobyte. */
const MESSAGES_A_PIECE = 1_000;

/** The conversation and all below it; `union` and not `union all`, so that a ring in the data ends too. */
const CHANGED_SINCE = `
  with recursive tree(id) as (
    select id from session where id = ?
    union select session.id from session join tree on session.parent_id = tree.id
  )
  select id, data, time_created, time_updated from message
  where session_id in (select id from tree) and time_updated >= ? and (time_updated > ? or id > ?)
  order by time_updated, id limit ${MESSAGES_A_PIECE}`;

export function opencodeUsage(databaseOf: (place: Place) => string): UsageReader {
  return {
    files: (place) => {
      const path = databaseOf(place);
      return statSync(path, { throwIfNoEntry: false }) === undefined ? [] : [path];
    },
    // Most changes are only in the log beside it.
    sign: (path) => (signOf(path) === null ? null : `${signOf(path)} ${signOf(`${path}-wal`)}`),
    read,
  };
}

async function* read({ path, nativeId, from, maxBytes }: UsageRequest): AsyncGenerator<UsagePiece> {
  const { dev, ino } = statSync(path);
  const identity = `${dev}:${ino}`;
  let offset = from?.identity === identity ? from.offset : 0;
  let bytes = 0;
  for (let cursor = { sinceMs: offset - OVERLAP_MS, id: '' }; bytes < maxBytes;) {
    const rows = askDatabase(path, CHANGED_SINCE, [nativeId, cursor.sinceMs, cursor.sinceMs, cursor.id]);
    const last = rows.at(-1);
    if (last === undefined) return;
    cursor = { sinceMs: Number(last['time_updated']), id: String(last['id']) };
    const length = rows.reduce((sum, row) => sum + String(row['data']).length, 0);
    bytes += length;
    offset = Math.max(offset, cursor.sinceMs);
    const position = { identity, offset, state: '' };
    yield { records: rows.flatMap(recordOf), bytes: length, position };
    if (rows.length < MESSAGES_A_PIECE) return;
  }
}

export function recordOf(row: JsonObject): readonly UsageRecord[] {
  const key = textField(row, 'id');
  const data = parsed(textField(row, 'data') ?? '');
  if (key === null || data?.['role'] !== 'assistant' || !isObject(data['tokens'])) return [];
  const tokens = tokensOf(data['tokens']);
  if (isNothing(tokens)) return [];
  const model = textField(data, 'modelID') ?? 'unknown';
  const time = isObject(data['time']) ? data['time'] : {};
  const atMs = timeAt(time, 'completed') || timeAt(row, 'time_created');
  return [{ key, model, atMs, ...tokens }];
}

function tokensOf(tokens: JsonObject) {
  const cache = isObject(tokens['cache']) ? tokens['cache'] : {};
  const reasoning = countIn(tokens, 'reasoning');
  return {
    input: countIn(tokens, 'input'),
    output: countIn(tokens, 'output') + reasoning,
    cacheRead: countIn(cache, 'read'),
    cacheWrite: countIn(cache, 'write'),
    reasoning,
  };
}

function timeAt(object: JsonObject, name: string): number {
  const value = object[name];
  return typeof value === 'number' && Number.isFinite(value) ? Math.round(value) : 0;
}

function parsed(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
