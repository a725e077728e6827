import { frame, USAGE, withoutWrapping } from './dialect.ts';
import type { Dialect, Message, Reply } from './dialect.ts';
import { at, listAt, textAt } from './json.ts';

export const anthropic: Dialect = {
  api: 'anthropic',
  handles: (path) => path.endsWith('/v1/messages'),
  read: (body, _path, header) => ({
    messages: listAt(body, 'messages')
      .filter((message) => textAt(message, 'role') === 'user')
      .map(messageOf),
    tools: listAt(body, 'tools').map((tool) => textAt(tool, 'name')),
    wantsStream: at(body, 'stream') === true,
    model: textAt(body, 'model'),
    schema: at(body, 'output_config', 'format', 'schema'),
    sessionHint: header('x-claude-code-session-id'),
  }),
  stream: (reply) => {
    const texts = reply.pieces.length;
    return {
      head:
        frame({ type: 'message_start', message: envelope(reply, [], null) }, 'message_start') +
        (texts > 0 ? blockStart(0, { type: 'text', text: '' }) : ''),
      pieces: reply.pieces.map((text) => blockDelta(0, { type: 'text_delta', text })),
      tail:
        (texts > 0 ? blockStop(0) : '') +
        callBlock(reply, texts > 0 ? 1 : 0) +
        frame(
          {
            type: 'message_delta',
            delta: { stop_reason: stopReason(reply), stop_sequence: null },
            usage: { output_tokens: USAGE.output },
          },
          'message_delta',
        ) +
        frame({ type: 'message_stop' }, 'message_stop'),
    };
  },
  whole: (reply) =>
    envelope(
      reply,
      [
        ...(reply.pieces.length > 0 ? [{ type: 'text', text: reply.pieces.join('') }] : []),
        ...(reply.call === null
          ? []
          : [{ type: 'tool_use', id: reply.call.id, name: reply.call.name, input: reply.call.input }]),
      ],
      stopReason(reply),
    ),
  failure: (status) => ({
    type: 'error',
    error: {
      type: status < 500 ? 'invalid_request_error' : 'api_error',
      message: `The test asked for ${status}.`,
    },
  }),
};

function messageOf(message: unknown): Message {
  const content = at(message, 'content');
  if (typeof content === 'string') return { said: withoutWrapping(content), results: 0 };
  const blocks = listAt(message, 'content');
  return {
    said: withoutWrapping(blocks.map((block) => textAt(block, 'text')).join('\n')),
    results: blocks.filter((block) => textAt(block, 'type') === 'tool_result').length,
  };
}

function envelope(reply: Reply, content: readonly unknown[], stop: string | null): unknown {
  return {
    id: `msg_${reply.id}`,
    type: 'message',
    role: 'assistant',
    model: reply.model,
    content,
    stop_reason: stop,
    stop_sequence: null,
    usage: {
      input_tokens: USAGE.freshInput,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: USAGE.cachedInput,
      output_tokens: stop === null ? 1 : USAGE.output,
    },
  };
}

function stopReason(reply: Reply): string {
  return reply.call === null ? 'end_turn' : 'tool_use';
}

function callBlock({ call }: Reply, index: number): string {
  if (call === null) return '';
  return (
    blockStart(index, { type: 'tool_use', id: call.id, name: call.name, input: {} }) +
    blockDelta(index, { type: 'input_json_delta', partial_json: JSON.stringify(call.input) }) +
    blockStop(index)
  );
}

function blockStart(index: number, block: unknown): string {
  return frame({ type: 'content_block_start', index, content_block: block }, 'content_block_start');
}

function blockDelta(index: number, delta: unknown): string {
  return frame({ type: 'content_block_delta', index, delta }, 'content_block_delta');
}

function blockStop(index: number): string {
  return frame({ type: 'content_block_stop', index }, 'content_block_stop');
}
