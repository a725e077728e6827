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
});
const worked: Meaning = () => ({ kind: 'work.continued' });
const turnEnded: Meaning = () => ({ kind: 'turn.ended' });
const ended: Meaning = (payload) => ({
  kind: 'session.ended',
  reason: textField(payload, 'reason') ?? 'no reason given',
});

/** Notifications that are a question; others remind, congratulate or inform. */
const QUESTIONS = new Set([
  'permission_prompt',
  'elicitation_dialog',
  'elicitation_url_dialog',
  'ToolPermission',
]);

const notified: Meaning = (payload) =>
  QUESTIONS.has(textField(payload, 'notification_type') ?? '')
    ? { kind: 'input.needed', waitingFor: textField(payload, 'message') ?? 'an answer' }
    : null;

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
