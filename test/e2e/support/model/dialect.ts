/** What one model API is to the server: how to read its requests, and how to write its answers. */
export type Api = 'anthropic' | 'responses' | 'chat' | 'gemini';

export interface Message {
  /** Text that a person, or a hook, said; without what harnesses wrap around it. */
  readonly said: string;
  readonly results: number;
}

export interface Asked {
  /** What the user's side of the conversation said, oldest first. */
  readonly messages: readonly Message[];
  readonly tools: readonly string[];
  readonly wantsStream: boolean;
  readonly model: string;
  /** Set where a model has to ask for leave to use the shell, or it is sandboxed and nobody is asked. */
  readonly mustAskForShell?: boolean;
  /** Set when the answer must be JSON of this schema. */
  readonly schema?: unknown;
  readonly sessionHint?: string;
}

interface Call {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

export interface Reply {
  readonly id: string;
  readonly model: string;
  readonly pieces: readonly string[];
  readonly call: Call | null;
}

/** Server-sent events: the pieces are those between which time may pass. */
interface Frames {
  readonly head: string;
  readonly pieces: readonly string[];
  readonly tail: string;
}

export interface Dialect {
  readonly api: Api;
  handles(path: string): boolean;
  read(body: unknown, path: string, header: (name: string) => string): Asked;
  stream(reply: Reply): Frames;
  whole(reply: Reply): unknown;
  failure(status: number): unknown;
}

/** What every answer claims to have used; the same each time, so that sums can be predicted. */
export const USAGE = { freshInput: 700, cachedInput: 300, output: 50, reasoning: 5 };

export const TOTAL_INPUT = USAGE.freshInput + USAGE.cachedInput;

export function frame(data: unknown, event?: string): string {
  return `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;
}

/** Harnesses put reminders, environment and hook context into the user's messages, each in an element of its own. */
export function withoutWrapping(text: string): string {
  return text.replaceAll(/<([a-z][\w-]*)\b[^>]*>[\s\S]*?<\/\1>/giu, '').trim();
}
