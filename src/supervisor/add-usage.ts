/** A run of a plain command says what it spent; harnesses are read from their transcripts instead. */
import { randomUUID } from 'node:crypto';
import { ReeveError } from '../api/errors.ts';
import { isPlain, objectToKey } from '../lifecycle/submission.ts';
import { isNothing, MAX_REPORTED_TOKENS, TOKEN_KINDS, tokensFrom } from '../lifecycle/usage.ts';
import type { TokenKind, Tokens } from '../lifecycle/usage.ts';
import { checkpoint } from '../process/checkpoint.ts';
import type { Context } from './context.ts';
import { credentialsFrom, fenced } from './run-credentials.ts';
import type { RunCredentials } from './run-credentials.ts';

const MAX_MODEL_LENGTH = 200;

export interface AddUsageRequest extends Readonly<Partial<Record<TokenKind, number | undefined>>> {
  readonly model: string;
  /** What makes it the same report when it is sent again; without it every call counts. */
  readonly key?: string | undefined;
}

export interface AddedUsage extends Tokens {
  readonly accepted: true;
  /** It was counted before: nothing was written. */
  readonly again: boolean;
  readonly run: string;
  readonly model: string;
}

export async function addUsage(
  context: Context,
  request: AddUsageRequest,
  given?: RunCredentials,
): Promise<AddedUsage> {
  const { model } = request;
  const tokens = checkUsage(request);
  const { run, token, isStillLeft } = given ?? credentialsFrom(context);
  const key = request.key ?? randomUUID();
  const result = await context.store.addUsage({ runId: run, token, key, model, tokens, isStillLeft });
  await checkpoint('usage.recorded');
  switch (result.is) {
    case 'accepted':
      // A key of our own is new: found on record, it was put there by this call, whose answer was lost on the way.
      return { accepted: true, again: result.again && request.key !== undefined, run, model, ...tokens };
    case 'conflict':
      throw new ReeveError('conflict', `Run ${run} has reported something else as ${JSON.stringify(key)}.`, {
        hint: 'Nothing was counted. Give what is new a key of its own.',
        details: { run },
      });
    case 'read_elsewhere':
      throw new ReeveError(
        'usage',
        `What ${result.harness} spends is read from its transcripts, and would be counted twice.`,
        { hint: 'Only a run of a plain command reports what it spent.', details: { run } },
      );
    case 'fenced':
      throw fenced(run, result);
  }
}

/** What can be said of it without the store. */
export function checkUsage(request: AddUsageRequest): Tokens {
  const tokens = tokensFrom((kind) => request[kind] ?? 0);
  check(request, tokens);
  return tokens;
}

function check({ model, key }: AddUsageRequest, tokens: Tokens): void {
  if (model === '' || model.length > MAX_MODEL_LENGTH || !isPlain(model)) {
    throw new ReeveError('usage', `The model is a name of at most ${MAX_MODEL_LENGTH} characters.`);
  }
  const objection = key === undefined ? null : objectToKey(key);
  if (objection !== null) throw new ReeveError('usage', `The key cannot be used: ${objection}.`);
  const wrong = TOKEN_KINDS.find((kind) => !isCount(tokens[kind]));
  if (wrong !== undefined) {
    throw new ReeveError('usage', `${wrong} is a whole number, from 0 to ${MAX_REPORTED_TOKENS}.`);
  }
  if (isNothing(tokens)) {
    throw new ReeveError('usage', 'Nothing was spent: give at least one number above 0.');
  }
  if (tokens.reasoning > tokens.output) {
    throw new ReeveError('usage', 'Reasoning is a part of the output, and cannot be more than that.');
  }
}

function isCount(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= MAX_REPORTED_TOKENS;
}
