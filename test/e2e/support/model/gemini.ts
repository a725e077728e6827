import { frame, TOTAL_INPUT, USAGE, withoutWrapping } from './dialect.ts';
import type { Dialect, Message, Reply } from './dialect.ts';
import { at, listAt, textAt } from './json.ts';

export const gemini: Dialect = {
  api: 'gemini',
  handles: (path) => /:(?:stream)?[gG]enerateContent$/u.test(path),
  read: (body, path, header) => ({
    messages: listAt(body, 'contents')
      .filter((content) => textAt(content, 'role') !== 'model')
      .flatMap((content) => messagesOf(listAt(content, 'parts'))),
    tools: listAt(body, 'tools')
      .flatMap((tool) => listAt(tool, 'functionDeclarations'))
      .map((declaration) => textAt(declaration, 'name')),
    wantsStream: path.includes(':stream'),
    model: /models\/([^:]+):/u.exec(path)?.[1] ?? '',
    schema:
      at(body, 'generationConfig', 'responseJsonSchema') ?? at(body, 'generationConfig', 'responseSchema'),
    sessionHint: header('x-session-id'),
  }),
  stream: (reply) => ({
    head: '',
    pieces: reply.pieces.map((text) => frame(candidate([{ text }]))),
    tail: frame({ ...candidate(callParts(reply), 'STOP'), usageMetadata, ...names(reply) }),
  }),
  whole: (reply) => ({
    ...candidate([...reply.pieces.map((text) => ({ text })), ...callParts(reply)], 'STOP'),
    usageMetadata,
    ...names(reply),
  }),
  failure: (status) => ({
    error: { code: status, status: 'INVALID_ARGUMENT', message: `The test asked for ${status}.` },
  }),
};

/** What was said in turns without an answer in between comes as parts of one message. */
function messagesOf(parts: readonly unknown[]): Message[] {
  const results = parts.filter((part) => at(part, 'functionResponse') !== undefined).length;
  const said = parts.map((part) => textAt(part, 'text'));
  if (results > 0) return [{ said: withoutWrapping(said.join('\n')), results }];
  return said.map((text) => ({ said: withoutWrapping(text), results }));
}

const usageMetadata = {
  promptTokenCount: TOTAL_INPUT,
  cachedContentTokenCount: USAGE.cachedInput,
  candidatesTokenCount: USAGE.output,
  thoughtsTokenCount: USAGE.reasoning,
  totalTokenCount: TOTAL_INPUT + USAGE.output + USAGE.reasoning,
};

function candidate(parts: readonly unknown[], finishReason?: string) {
  return {
    candidates: [{ index: 0, content: { role: 'model', parts }, ...(finishReason && { finishReason }) }],
  };
}

function callParts({ call }: Reply): unknown[] {
  return call === null ? [] : [{ functionCall: { name: call.name, args: call.input } }];
}

function names(reply: Reply) {
  return { modelVersion: reply.model, responseId: reply.id };
}
