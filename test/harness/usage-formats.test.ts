/** What each harness's lines are understood to say. */
import { describe, expect, it } from 'vitest';
import type { UsageRecord } from '../../src/lifecycle/usage.ts';
import { claudeLines } from '../../src/harness/usage-claude.ts';
import { codexLines } from '../../src/harness/usage-codex.ts';
import { geminiLines } from '../../src/harness/usage-gemini.ts';
import { recordOf } from '../../src/harness/usage-opencode.ts';
import type { JsonObject } from '../../src/harness/transcript.ts';
import type { LineFormat } from '../../src/harness/usage.ts';
import {
  claudeAnswer,
  codexContext,
  codexRecord,
  codexTotal,
  geminiAnswer,
  geminiMessage,
  line,
  noise,
} from '../fixtures/usage-transcripts.ts';

const AT_MS = 1_794_772_573_943;
const CHANGED_MS = 1_794_779_999_000;
const THREAD = '01a1e0d7-6949-78b0-895b-66eb51ce1c85';
const PATH = `/h/sessions/2026/11/15/rollout-2026-11-15T20-12-56-${THREAD}.jsonl`;

function recordsIn<S>(format: LineFormat<S>, text: string): readonly UsageRecord[] {
  let carried = format.begin;
  return text
    .trimEnd()
    .split('\n')
    .flatMap((each) => {
      // A test's own lines.
      const parsed = JSON.parse(each) as JsonObject;
      const taken = format.take(parsed, carried, { path: PATH, changedAtMs: CHANGED_MS });
      ({ carried } = taken);
      return taken.records;
    });
}

const numbers = (records: readonly UsageRecord[]) =>
  records.map(({ input, cacheRead, output }) => [input, cacheRead, output]);

describe('claude', () => {
  const told = {
    id: 'msg_1',
    atMs: AT_MS,
    input: 1004,
    output: 14,
    cacheRead: 300,
    cacheWrite: 20,
    reasoning: 6,
  };
  const record = {
    key: 'msg_1',
    model: 'claude-opus-5-5',
    atMs: AT_MS,
    input: 1004,
    output: 14,
    cacheRead: 300,
    cacheWrite: 20,
    reasoning: 6,
  };

  it('tells an answer with each of its blocks, under one key', () => {
    expect(recordsIn(claudeLines, claudeAnswer(told, 3))).toEqual([record, record, record]);
  });

  it('says nothing in other lines, nor for what costs nothing, nor for what has no name', () => {
    const synthetic = claudeAnswer({
      ...told,
      model: '<synthetic>',
      input: 0,
      output: 0,
      cacheRead: 0,
      cacheWrite: 0,
      reasoning: 0,
    });
    const others = [
      {
        type: 'user',
        toolUseResult: { usage: { input_tokens: 5 } },
        message: { usage: { input_tokens: 5 } },
      },
      { type: 'assistant', message: { usage: null } },
      { type: 'assistant', message: { id: 7, usage: { input_tokens: 5 } } },
      { type: 'assistant', message: [] },
      { type: 'assistant', message: { id: 'x', usage: { input_tokens: -5, output_tokens: 'many' } } },
    ];
    expect(recordsIn(claudeLines, synthetic + noise(1) + others.map(line).join(''))).toEqual([]);
  });

  it('has a time also when its line says none', () => {
    const untimed = line({
      type: 'assistant',
      timestamp: 'soon',
      message: { id: 'm', usage: { output_tokens: 1e300 } },
    });
    expect(recordsIn(claudeLines, untimed)).toMatchObject([
      { atMs: CHANGED_MS, model: 'unknown', output: 1e12 },
    ]);
  });
});

describe('codex', () => {
  it('tells what it spent by records, which its totals only repeat', () => {
    const text =
      codexContext('gpt-5.5') +
      codexRecord(AT_MS, THREAD, 'resp_1', { input: 1067, cached: 300, output: 77, reasoning: 2 }) +
      codexTotal(AT_MS + 1, { input: 1067, cached: 300, output: 77, reasoning: 2 }) +
      codexRecord(AT_MS + 2, THREAD, 'resp_2', { input: 1068, cached: 300, output: 78, reasoning: 2 }) +
      codexTotal(AT_MS + 3, { input: 2135, cached: 600, output: 155, reasoning: 4 });
    const record = {
      key: 'resp_1',
      model: 'gpt-5.5',
      atMs: AT_MS,
      cacheRead: 300,
      cacheWrite: 0,
      reasoning: 2,
    };
    expect(recordsIn(codexLines, text)).toEqual([
      { ...record, input: 767, output: 77 },
      { ...record, key: 'resp_2', atMs: AT_MS + 2, input: 768, output: 78 },
    ]);
  });

  it('leaves out what a fork took over from another thread', () => {
    const usage = { input: 1000, cached: 0, output: 10 };
    const text = codexRecord(AT_MS, 'another', 'resp_1', usage) + codexRecord(AT_MS, THREAD, 'resp_2', usage);
    expect(recordsIn(codexLines, text).map(({ key }) => key)).toEqual(['resp_2']);
  });

  it('without records takes the differences of its totals, told also when nothing was added', () => {
    const text =
      codexContext('o3') +
      codexTotal(AT_MS, null) +
      codexTotal(AT_MS, { input: 1000, cached: 300, output: 50 }, { input: 1000, cached: 300, output: 50 }) +
      codexTotal(AT_MS, { input: 1000, cached: 300, output: 50 }) +
      codexTotal(AT_MS, { input: 2500, cached: 900, output: 80 });
    expect(numbers(recordsIn(codexLines, text))).toEqual([
      [700, 300, 50],
      [900, 600, 30],
    ]);
  });

  it('knows only the last answer to be new when a total begins anew, or carries on that of another thread', () => {
    const last = { input: 100, cached: 0, output: 5 };
    const text =
      codexTotal(AT_MS, { input: 90_000, cached: 0, output: 900 }, last) +
      codexTotal(AT_MS, { input: 90_100, cached: 0, output: 905 }, last) +
      // The context was full: everything begins at nought.
      codexTotal(AT_MS, { input: 0, cached: 0, output: 0 }, { input: 0, cached: 0, output: 0 }) +
      codexTotal(AT_MS, last, last) +
      codexTotal(AT_MS, { input: 50, cached: 0, output: 2 });
    const records = recordsIn(codexLines, text);
    expect(numbers(records)).toEqual([
      [100, 0, 5],
      [100, 0, 5],
      [100, 0, 5],
      [50, 0, 2],
    ]);
    expect(new Set(records.map(({ key }) => key)).size).toBe(4);
  });

  it('takes a total that comes again after a new beginning for another one', () => {
    const last = { input: 100, cached: 0, output: 5 };
    const nought = codexTotal(AT_MS, { input: 0, cached: 0, output: 0 });
    const text =
      codexTotal(AT_MS, last) + nought + codexTotal(AT_MS, last) + nought + codexTotal(AT_MS, last);
    expect(new Set(recordsIn(codexLines, text).map(({ key }) => key)).size).toBe(3);
  });

  it('says nothing in lines that only look like it', () => {
    const others = [
      { type: 'event_msg', payload: { type: 'token_count', info: { total_token_usage: 7 } } },
      {
        type: 'response_item',
        payload: { type: 'token_count', info: { total_token_usage: { input_tokens: 5 } } },
      },
      { type: 'token_usage_record', payload: { usage: { input_tokens: 5 } } },
      { type: 'token_usage_record', payload: null },
    ];
    expect(recordsIn(codexLines, others.map(line).join(''))).toEqual([]);
  });
});

describe('gemini', () => {
  const told = { id: 'cc8ae236', atMs: AT_MS, input: 1019, output: 29, cacheRead: 300, reasoning: 2 };
  const record = {
    key: 'cc8ae236',
    model: 'gemini-3.8-flash',
    atMs: AT_MS,
    input: 719,
    output: 31,
    cacheRead: 300,
    cacheWrite: 0,
    reasoning: 2,
  };

  it('tells an answer again under the same key, alone or among others that are replaced', () => {
    const set = line({ $set: { messages: [{ id: 'u', type: 'user' }, geminiMessage(told)] } });
    expect(recordsIn(geminiLines, geminiAnswer(told, 2) + set)).toEqual([record, record, record]);
  });

  it('says nothing in other lines', () => {
    const others = [
      { $set: { lastUpdated: 'x' } },
      { id: 'u', type: 'user', tokens: null },
      { tokens: { input: 3 } },
    ];
    expect(recordsIn(geminiLines, others.map(line).join('') + noise(1))).toEqual([]);
  });
});

describe('opencode', () => {
  const row = (data: unknown) => ({ id: 'msg_1', time_created: AT_MS, data: JSON.stringify(data) });
  const tokens = { total: 1050, input: 700, output: 45, reasoning: 5, cache: { write: 7, read: 300 } };
  const time = { created: AT_MS, completed: AT_MS + 50 };

  it('tells an answer when it is complete', () => {
    const record = { key: 'msg_1', input: 700, output: 50, cacheRead: 300, cacheWrite: 7, reasoning: 5 };
    expect(recordOf(row({ role: 'assistant', modelID: 'fake', tokens, time }))).toEqual([
      { ...record, model: 'fake', atMs: AT_MS + 50 },
    ]);
    expect(recordOf(row({ role: 'assistant', modelID: 'fake', tokens }))).toMatchObject([{ atMs: AT_MS }]);
  });

  it('says nothing before, nor in other messages', () => {
    const empty = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } };
    expect(recordOf(row({ role: 'assistant', tokens: empty }))).toEqual([]);
    expect(recordOf(row({ role: 'user', tokens }))).toEqual([]);
    expect(recordOf(row('nonsense'))).toEqual([]);
    expect(recordOf({ id: 'msg_1', data: '{' })).toEqual([]);
  });
});
