/** Payloads of hooks. Codex and Gemini took over the shape of Claude's: which conversation, which event, and more. */
import type { FactKind } from '../lifecycle/harness-fact.ts';
import type { Reported } from './adapter.ts';
import { promptDigest } from './prompt.ts';
import { textField } from './transcript.ts';
import type { JsonObject } from './transcript.ts';

type Meaning = (payload: JsonObject) => FactKind | null;

const began: Meaning = () => ({ kind: 'session.began' });
const turnStarted: Meaning = (payload) => {
  const prompt = textField(payload, 'prompt');
  return { kind: 'turn.started', promptDigest: prompt === null ? null : promptDigest(prompt) };
};
const permissionAsked: Meaning = (payload) => ({
  kind: 'input.needed',
  waitingFor: `permission to use ${textField(payload, 'tool_name') ?? 'a tool'}`,
  questionDigest: questionDigest(payload, 'tool_name', 'tool_input'),
});
const worked: Meaning = () => ({ kind: 'work.continued' });
const turnEnded: Meaning = () => ({ kind: 'turn.ended' });
const ended: Meaning = (payload) => ({
  kind: 'session.ended',
  reason: textField(payload, 'reason') ?? 'no reason given',
});

/** Notifications that are a question of their own, reported in no other way. */
const QUESTIONS = new Set(['elicitation_dialog', 'elicitation_url_dialog', 'ToolPermission']);
/** It comes some time after the permission request itself. Other notifications congratulate or inform. */
const REMINDER = 'permission_prompt';

const notified: Meaning = (payload) => {
  const type = textField(payload, 'notification_type') ?? '';
  const asks = { kind: 'input.needed', waitingFor: textField(payload, 'message') ?? 'an answer' } as const;
  if (type === REMINDER) return asks;
  return QUESTIONS.has(type)
    ? { ...asks, questionDigest: questionDigest(payload, 'message', 'details') }
    : null;
};

/** Of what is asked, as far as the payload says it; what was cut off is as if it were not there. */
function questionDigest(payload: JsonObject, ...fields: readonly string[]): string {
  return promptDigest(JSON.stringify(fields.map((field) => payload[field] ?? null)));
}

/** A map, for the name comes from outside, and an object also has what all objects have. */
const MEANINGS: ReadonlyMap<string, Meaning> = new Map([
  ['SessionStart', began],
  ['UserPromptSubmit', turnStarted],
  ['BeforeAgent', turnStarted],
  ['PermissionRequest', permissionAsked],
  ['Notification', notified],
  ['PostToolUse', worked],
  ['AfterTool', worked],
  ['Stop', turnEnded],
  ['AfterAgent', turnEnded],
  ['SessionEnd', ended],
]);

export function readHookReport(payload: JsonObject): Reported | null {
  const meaning = MEANINGS.get(textField(payload, 'hook_event_name') ?? '');
  const fact = meaning?.(payload) ?? null;
  return fact === null ? null : { fact, nativeId: textField(payload, 'session_id') };
}
