import { frame, TOTAL_INPUT, USAGE, withoutWrapping } from './dialect.ts';
import type { Dialect, Reply } from './dialect.ts';
import { at, listAt, textAt } from './json.ts';

export const responses: Dialect = {
  api: 'responses',
  handles: (path) => path.endsWith('/responses'),
  read: (body, _path, header) => ({
    messages: listAt(body, 'input').map((item) => ({
      said:
        textAt(item, 'role') === 'user'
          ? withoutWrapping(
              listAt(item, 'content')
                .map((part) => textAt(part, 'text'))
                .join('\n'),
            )
          : '',
      results: textAt(item, 'type').endsWith('_call_output') ? 1 : 0,
    })),
    tools: listAt(body, 'tools').map((tool) => textAt(tool, 'name')),
    wantsStream: at(body, 'stream') === true,
    model: textAt(body, 'model'),
    // Codex refuses such a wish where nobody can be asked, which is where there is no sandbox.
    mustAskForShell: /"sandbox_mode":"(?!danger)/u.test(header('x-codex-turn-metadata')),
    schema: at(body, 'text', 'format', 'schema'),
    sessionHint: header('session-id') || header('session_id') || textAt(body, 'prompt_cache_key'),
  }),
  stream: (reply) => {
    const items = itemsOf(reply);
    const said = items.find(({ type }) => type === 'message');
    const others = items.filter((item) => item !== said);
    const { id } = said ?? { id: '' };
    return {
      head:
        event('response.created', { response: response(reply, [], 'in_progress') }) +
        (said === undefined
          ? ''
          : event('response.output_item.added', { output_index: 0, item: { ...said, content: [] } })),
      pieces: reply.pieces.map((delta) =>
        event('response.output_text.delta', { item_id: id, output_index: 0, content_index: 0, delta }),
      ),
      tail:
        (said === undefined ? '' : event('response.output_item.done', { output_index: 0, item: said })) +
        others
          .map((item) => event('response.output_item.done', { output_index: items.indexOf(item), item }))
          .join('') +
        event('response.completed', { response: response(reply, items, 'completed') }),
    };
  },
  whole: (reply) => response(reply, itemsOf(reply), 'completed'),
  failure: (status) => ({
    error: {
      type: status < 500 ? 'invalid_request_error' : 'server_error',
      message: `The test asked for ${status}.`,
    },
  }),
};

interface Item {
  readonly type: 'message' | 'function_call';
  readonly id: string;
}

function itemsOf({ id, pieces, call }: Reply): (Item & Record<string, unknown>)[] {
  return [
    ...(pieces.length === 0
      ? []
      : [
          {
            type: 'message' as const,
            id: `msg_${id}`,
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text: pieces.join(''), annotations: [] }],
          },
        ]),
    ...(call === null
      ? []
      : [
          {
            type: 'function_call' as const,
            id: `fc_${id}`,
            call_id: call.id,
            ...nameOf(call.name),
            arguments: JSON.stringify(call.input),
            status: 'completed',
          },
        ]),
  ];
}

/** Codex keeps some of its tools in groups: `@@TOOL group/name {}@@`. */
function nameOf(called: string): { name: string; namespace?: string } {
  const [name = '', namespace] = called.split('/').toReversed();
  return namespace === undefined ? { name } : { name, namespace };
}

function response(reply: Reply, output: readonly unknown[], status: string): unknown {
  return {
    id: `resp_${reply.id}`,
    object: 'response',
    model: reply.model,
    status,
    output,
    usage: {
      input_tokens: TOTAL_INPUT,
      input_tokens_details: { cached_tokens: USAGE.cachedInput },
      output_tokens: USAGE.output,
      output_tokens_details: { reasoning_tokens: USAGE.reasoning },
      total_tokens: TOTAL_INPUT + USAGE.output,
    },
  };
}

function event(type: string, data: object): string {
  return frame({ type, ...data }, type);
}
