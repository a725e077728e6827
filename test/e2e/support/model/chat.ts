import { frame, TOTAL_INPUT, USAGE, withoutWrapping } from './dialect.ts';
import type { Dialect, Message, Reply } from './dialect.ts';
import { at, listAt, textAt } from './json.ts';

export const chat: Dialect = {
  api: 'chat',
  handles: (path) => path.endsWith('/chat/completions'),
  read: (body, _path, header) => ({
    messages: listAt(body, 'messages').map(messageOf),
    tools: listAt(body, 'tools').map((tool) => textAt(tool, 'function', 'name')),
    wantsStream: at(body, 'stream') === true,
    model: textAt(body, 'model'),
    schema: at(body, 'response_format', 'json_schema', 'schema'),
    sessionHint: header('x-session-affinity') || header('x-session-id') || textAt(body, 'prompt_cache_key'),
  }),
  stream: (reply) => ({
    head: chunk(reply, { role: 'assistant', content: '' }),
    pieces: reply.pieces.map((content) => chunk(reply, { content })),
    tail:
      (reply.call === null ? '' : chunk(reply, { tool_calls: toolCalls(reply) })) +
      chunk(reply, {}, finishReason(reply)) +
      frame({ ...envelope(reply, 'chat.completion.chunk'), choices: [], usage }) +
      'data: [DONE]\n\n',
  }),
  whole: (reply) => ({
    ...envelope(reply, 'chat.completion'),
    choices: [
      {
        index: 0,
        finish_reason: finishReason(reply),
        message: {
          role: 'assistant',
          content: reply.pieces.join(''),
          ...(reply.call === null ? {} : { tool_calls: toolCalls(reply) }),
        },
      },
    ],
    usage,
  }),
  failure: (status) => ({
    error: {
      type: status < 500 ? 'invalid_request_error' : 'server_error',
      message: `The test asked for ${status}.`,
    },
  }),
};

const usage = {
  prompt_tokens: TOTAL_INPUT,
  prompt_tokens_details: { cached_tokens: USAGE.cachedInput },
  completion_tokens: USAGE.output,
  completion_tokens_details: { reasoning_tokens: USAGE.reasoning },
  total_tokens: TOTAL_INPUT + USAGE.output,
};

function messageOf(message: unknown): Message {
  const role = textAt(message, 'role');
  const content = at(message, 'content');
  const text =
    typeof content === 'string'
      ? content
      : listAt(message, 'content')
          .map((part) => textAt(part, 'text'))
          .join('\n');
  return { said: role === 'user' ? withoutWrapping(text) : '', results: role === 'tool' ? 1 : 0 };
}

function envelope(reply: Reply, object: string) {
  return { id: `chatcmpl-${reply.id}`, object, created: 0, model: reply.model };
}

function chunk(reply: Reply, delta: unknown, finish: string | null = null): string {
  return frame({
    ...envelope(reply, 'chat.completion.chunk'),
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
}

function finishReason(reply: Reply): string {
  return reply.call === null ? 'stop' : 'tool_calls';
}

function toolCalls({ call }: Reply): unknown[] {
  if (call === null) return [];
  return [
    {
      index: 0,
      id: call.id,
      type: 'function',
      function: { name: call.name, arguments: JSON.stringify(call.input) },
    },
  ];
}
