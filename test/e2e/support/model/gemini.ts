import { frame, TOTAL_INPUT, USAGE, withoutWrapping } from './dialect.ts';
import type { Dialect, Reply } from './dialect.ts';
import { at, listAt, textAt } from './json.ts';

export const gemini: Dialect = {
  api: 'gemini',
  handles: (path) => /:(?:stream)?[gG]enerateContent$/u.test(path),
  read: (body, path, header) => ({
    messages: listAt(body, 'contents')
      .filter((content) => textAt(content, 'role') !== 'model')
      .map((content) => {
        const parts = listAt(content, 'parts');
        return {
          said: withoutWrapping(parts.map((part) => textAt(part, 'text')).join('\n')),
          results: parts.filter((part) => at(part, 'functionResponse') !== undefined).length,
        };
      }),
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
