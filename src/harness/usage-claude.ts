/**
 * What a conversation of Claude Code cost, from its transcript and those of its subagents:
 *   projects/<directory>/<id>.jsonl
 *   projects/<directory>/<id>/subagents/agent-<agent>.jsonl
 *
 * A line of an answer, shortened:
 *   {"type":"assistant","timestamp":"2026-11-15T19:56:13.943Z","message":{"id":"msg_1","model":"claude-opus-5-5",
 *    "usage":{"input_tokens":1004,"cache_creation_input_tokens":20,"cache_read_input_tokens":300,"output_tokens":14,
 *             "output_tokens_details":{"thinking_tokens":0}}}}
 *
 * `input_tokens` is without both kinds of cache; `output_tokens` is with the thinking. There is a line for each block of
 * an answer, all with the same id and usage; while an answer streams, older versions tell fewer output tokens first.
 * Requests for titles, quota and the like are in no transcript. What Claude says without asking a model is of the model
 * `<synthetic>` and costs nothing.
 */
import { basename, dirname, join } from 'node:path';
import { isNothing } from '../lifecycle/usage.ts';
import type { Environment, Place } from './adapter.ts';
import { changedAtMs as fileChangedAtMs, filesAt, isObject, textField } from './transcript.ts';
import type { JsonObject } from './transcript.ts';
import { readerOfLines } from './usage-lines.ts';
import { countIn, timeIn } from './usage.ts';
import type { LineFormat, UsageReader } from './usage.ts';

export const claudeLines: LineFormat<null> = {
  needles: ['"usage"'],
  begin: null,
  take: (line, carried, { changedAtMs }) => {
    const { message } = line;
    if (line['type'] !== 'assistant' || !isObject(message) || !isObject(message['usage']))
      return { carried, records: [] };
    const key = textField(message, 'id') ?? textField(line, 'uuid');
    const tokens = tokensOf(message['usage']);
    if (key === null || isNothing(tokens)) return { carried, records: [] };
    const model = textField(message, 'model') ?? 'unknown';
    return { carried, records: [{ key, model, atMs: timeIn(line) ?? changedAtMs, ...tokens }] };
  },
};

function tokensOf(usage: JsonObject) {
  const details = usage['output_tokens_details'];
  return {
    input: countIn(usage, 'input_tokens'),
    output: countIn(usage, 'output_tokens'),
    cacheRead: countIn(usage, 'cache_read_input_tokens'),
    cacheWrite: countIn(usage, 'cache_creation_input_tokens'),
    reasoning: isObject(details) ? countIn(details, 'thinking_tokens') : 0,
  };
}

export function claudeUsage(
  projectsIn: (environment: Environment) => string,
  projectName: (cwd: string) => string,
): UsageReader {
  const transcripts = ({ environment, cwd }: Place, nativeId: string): readonly string[] => {
    const name = `${nativeId}.jsonl`;
    const expected = join(projectsIn(environment), projectName(cwd), name);
    // Resumed from elsewhere it stays where it began, and there may be hundreds of places to look.
    return fileChangedAtMs(expected) !== null
      ? [expected]
      : filesAt(projectsIn(environment), 1, (each) => each === name);
  };
  return readerOfLines(claudeLines, (place, nativeId) =>
    transcripts(place, nativeId).flatMap((path) => [path, ...subagentsBeside(path)]),
  );
}

function subagentsBeside(transcript: string): readonly string[] {
  const directory = join(dirname(transcript), basename(transcript, '.jsonl'), 'subagents');
  return filesAt(directory, 0, (name) => name.endsWith('.jsonl'));
}
