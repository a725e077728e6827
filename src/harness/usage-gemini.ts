/**
 * What a conversation of Gemini CLI cost, from its chat and those of its subagents:
 *   tmp/<project>/chats/session-<time>-<beginning of the id>.jsonl
 *   tmp/<project>/chats/<id>/<subagent>.jsonl
 *
 * A line of an answer, shortened:
 *   {"id":"cc8ae236","timestamp":"2026-11-15T20:22:07.120Z","type":"gemini","model":"gemini-3.8-flash",
 *    "tokens":{"input":1019,"output":29,"cached":300,"thoughts":2,"tool":0,"total":1050}}
 *
 * `input` is with what came from the cache, `output` without the thoughts, and what tools added to the prompt (`tool`)
 * is in neither. The same id is told again once the tools that the answer called are done. `$set` replaces messages that
 * were told before, under the same ids. Which model routes a request is asked of a model too, and is in no chat.
 */
import { dirname, join } from 'node:path';
import type { UsageRecord } from '../lifecycle/usage.ts';
import { isNothing } from '../lifecycle/usage.ts';
import type { Place } from './adapter.ts';
import { filesAt, isObject, textField } from './transcript.ts';
import type { JsonObject } from './transcript.ts';
import { readerOfLines } from './usage-lines.ts';
import { countIn, timeIn } from './usage.ts';
import type { LineFormat, UsageReader } from './usage.ts';

export const geminiLines: LineFormat<null> = {
  needles: ['"tokens"'],
  begin: null,
  take: (line, carried, { changedAtMs }) => {
    const set = line['$set'];
    const replaced: unknown = isObject(set) ? set['messages'] : undefined;
    const messages = Array.isArray(replaced) ? (replaced as unknown[]) : [line];
    return { carried, records: messages.flatMap((message) => recordOf(message, changedAtMs)) };
  },
};

function recordOf(message: unknown, changedAtMs: number): readonly UsageRecord[] {
  if (!isObject(message) || !isObject(message['tokens'])) return [];
  const key = textField(message, 'id');
  const tokens = tokensOf(message['tokens']);
  if (key === null || isNothing(tokens)) return [];
  const model = textField(message, 'model') ?? 'unknown';
  return [{ key, model, atMs: timeIn(message) ?? changedAtMs, ...tokens }];
}

function tokensOf(tokens: JsonObject) {
  const [cached, thoughts] = [countIn(tokens, 'cached'), countIn(tokens, 'thoughts')];
  return {
    input: Math.max(0, countIn(tokens, 'input') - cached) + countIn(tokens, 'tool'),
    output: countIn(tokens, 'output') + thoughts,
    cacheRead: cached,
    cacheWrite: 0,
    reasoning: thoughts,
  };
}

/** `chatsOf` finds the chats of a conversation by its id. */
export function geminiUsage(chatsOf: (place: Place, nativeId: string) => readonly string[]): UsageReader {
  const isLines = (name: string) => name.endsWith('.jsonl');
  return readerOfLines(geminiLines, (place, nativeId) =>
    // Older versions wrote one object over many lines, which says nothing before it is whole.
    chatsOf(place, nativeId).flatMap((path) =>
      isLines(path) ? [path, ...filesAt(join(dirname(path), nativeId), 0, isLines)] : [],
    ),
  );
}
