/**
 * What a thread of Codex, or of Every Code, cost, from its rollout and those of its subagents:
 *   sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl
 * A subagent's thread has a file of its own, whose first line names the thread at the root as its `session_id`.
 *
 * The lines that matter, shortened; the last two tell of the same answer:
 *   {"type":"turn_context","payload":{"model":"gpt-5.5"}}
 *   {"timestamp":"2026-11-15T20:12:56.176Z","type":"token_usage_record","payload":{"thread_id":"01a1","response_id":"resp_1",
 *    "usage":{"input_tokens":1067,"cached_input_tokens":300,"cache_write_input_tokens":0,"output_tokens":77,
 *             "reasoning_output_tokens":2,"total_tokens":1144}}}
 *   {"timestamp":"2026-11-15T20:12:56.308Z","type":"event_msg","payload":{"type":"token_count","info":{
 *    "total_token_usage":{…},"last_token_usage":{…}}}}
 *
 * `input_tokens` is with both kinds of cache, `output_tokens` with the reasoning. A file that has records is read by
 * them. Versions without have only the totals of the whole thread, told also when nothing was added: what is new is the
 * difference to the total before. A total that has become smaller was begun anew (the context was full, or was
 * compacted); then, and at the first one of a file, which may carry on what another thread had, only the last answer is
 * known to be new.
 */
import { basename } from 'node:path';
import type { Tokens, UsageRecord } from '../lifecycle/usage.ts';
import { difference, isNothing, TOKEN_KINDS } from '../lifecycle/usage.ts';
import { isObject, textField } from './transcript.ts';
import type { JsonObject } from './transcript.ts';
import { countIn, timeIn } from './usage.ts';
import type { AboutFile, LineFormat, Taken } from './usage.ts';

export interface CodexCarried {
  readonly model: string;
  /** The last total; null before the first. */
  readonly total: Tokens | null;
  /** How often it was begun anew: a total may come again then, and is another one. */
  readonly beginnings: number;
  readonly hasRecords: boolean;
}

export const codexLines: LineFormat<CodexCarried> = {
  needles: ['"token_usage_record"', '"token_count"', '"turn_context"'],
  begin: { model: 'unknown', total: null, beginnings: 0, hasRecords: false },
  take: (line, carried, about) => {
    const { type, payload } = line;
    if (!isObject(payload)) return { carried, records: [] };
    if (type === 'turn_context')
      return { carried: { ...carried, model: textField(payload, 'model') ?? carried.model }, records: [] };
    if (type === 'token_usage_record') return takeRecord(line, payload, carried, about);
    const { info } = payload;
    const isTotal = type === 'event_msg' && payload['type'] === 'token_count' && isObject(info);
    return isTotal && !carried.hasRecords ? takeTotal(line, info, carried, about) : { carried, records: [] };
  },
};

function takeRecord(
  line: JsonObject,
  payload: JsonObject,
  carried: CodexCarried,
  about: AboutFile,
): Taken<CodexCarried> {
  const next = { ...carried, hasRecords: true };
  const thread = threadOf(about.path);
  // What a thread took over from the one that it was forked from was paid for there.
  const isOwn = (textField(payload, 'thread_id') ?? thread) === thread;
  const key = textField(payload, 'response_id');
  if (!isOwn || key === null || !isObject(payload['usage'])) return { carried: next, records: [] };
  return { carried: next, records: recorded(key, line, tokensOf(payload['usage']), carried, about) };
}

function takeTotal(
  line: JsonObject,
  info: JsonObject,
  carried: CodexCarried,
  about: AboutFile,
): Taken<CodexCarried> {
  const { total_token_usage: told, last_token_usage: last } = info;
  if (!isObject(told)) return { carried, records: [] };
  const total = tokensOf(told);
  const before = carried.total;
  const isBegun = before === null || TOKEN_KINDS.some((kind) => total[kind] < before[kind]);
  const beginnings = carried.beginnings + (before !== null && isBegun ? 1 : 0);
  const spent = isBegun ? tokensOf(isObject(last) ? last : told) : difference(total, before);
  const key = [threadOf(about.path), beginnings, ...TOKEN_KINDS.map((kind) => total[kind])].join(':');
  return { carried: { ...carried, total, beginnings }, records: recorded(key, line, spent, carried, about) };
}

function recorded(
  key: string,
  line: JsonObject,
  tokens: Tokens,
  { model }: CodexCarried,
  { changedAtMs }: AboutFile,
): readonly UsageRecord[] {
  return isNothing(tokens) ? [] : [{ key, model, atMs: timeIn(line) ?? changedAtMs, ...tokens }];
}

function tokensOf(usage: JsonObject): Tokens {
  const cacheRead = countIn(usage, 'cached_input_tokens');
  const cacheWrite = countIn(usage, 'cache_write_input_tokens');
  return {
    input: Math.max(0, countIn(usage, 'input_tokens') - cacheRead - cacheWrite),
    output: countIn(usage, 'output_tokens'),
    cacheRead,
    cacheWrite,
    reasoning: countIn(usage, 'reasoning_output_tokens'),
  };
}

function threadOf(path: string): string {
  return basename(path, '.jsonl').slice(-'01a1e0d7-6949-78b0-895b-66eb51ce1c85'.length);
}
