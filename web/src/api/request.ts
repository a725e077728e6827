/** Asks the daemon. Whatever does not succeed is a `RequestFailure`, with what a person should read. */
import type { ErrorView } from '../../../src/api/http-views.ts';

/** So that hints speak of what there is on the page, and not of the fields of a request. */
const WORDS = { 'reeve-words': 'page' };

// The daemon and this page come from one package, so its answers have the types of the contract; they are not checked.
export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await ask(path, { headers: WORDS, signal: signal ?? null })) as T;
}

export async function post<T>(path: string, body: object, signal?: AbortSignal): Promise<T> {
  return (await ask(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...WORDS },
    body: JSON.stringify(body),
    signal: signal ?? null,
  })) as T;
}

export class RequestFailure extends Error {
  /** The stable code of the error table; `unreachable` when nobody answered. */
  readonly code: string;
  readonly hint: string | null;
  /** 0 when nobody answered. */
  readonly httpStatus: number;

  constructor(code: string, message: string, hint: string | null, httpStatus: number) {
    super(message);
    this.name = 'RequestFailure';
    this.code = code;
    this.hint = hint;
    this.httpStatus = httpStatus;
  }

  get isUnauthorised(): boolean {
    return this.httpStatus === 401;
  }

  get isUnreachable(): boolean {
    return this.httpStatus === 0;
  }
}

/** Everything that can go wrong in a request is one already; anything else is a mistake of this page, and said as such. */
export function failureOf(error: unknown): RequestFailure {
  if (error instanceof RequestFailure) return error;
  return new RequestFailure('failed', `This page failed: ${String(error)}`, 'Load it again.', -1);
}

export function wasAborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}

async function ask(path: string, init: RequestInit): Promise<unknown> {
  const response = await reach(path, init);
  const text = await response.text();
  if (response.ok) return JSON.parse(text);
  throw refusal(text, response);
}

async function reach(path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(path, { ...init, credentials: 'same-origin', cache: 'no-store' });
  } catch (error) {
    if (wasAborted(error)) throw error;
    throw new RequestFailure(
      'unreachable',
      'The daemon does not answer.',
      'Start it with `reeve serve`; this page finds it again by itself.',
      0,
    );
  }
}

function refusal(text: string, { status, statusText }: Response): RequestFailure {
  try {
    const { error } = JSON.parse(text) as ErrorView;
    return new RequestFailure(error.code, error.message, error.hint ?? null, status);
  } catch {
    // Something between this page and the daemon answered, not the daemon.
    return new RequestFailure('failed', `The answer was ${status} ${statusText}.`, null, status);
  }
}
