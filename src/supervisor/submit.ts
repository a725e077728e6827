/** What a run hands in. Accepted once while it is its session's current run; kept aside, and refused, when it is not. */
import { createHash } from 'node:crypto';
import { ReeveError } from '../api/errors.ts';
import { MAX_SUBMISSION_BYTES, objectToKey } from '../lifecycle/submission.ts';
import { checkpoint } from '../process/checkpoint.ts';
import type { SubmitResult } from '../store/store.ts';
import type { Context } from './context.ts';
import { newId } from './new-id.ts';
import { credentialsFrom, fenced } from './run-credentials.ts';
import type { RunCredentials } from './run-credentials.ts';

export interface SubmitRequest {
  readonly data: string;
  /** What makes it the same submission when it is sent again; by default its content. */
  readonly key?: string | undefined;
}

export interface Submitted {
  readonly accepted: true;
  /** It was accepted before: nothing was written. */
  readonly again: boolean;
  readonly id: string;
}

export async function submit(
  context: Context,
  request: SubmitRequest,
  given?: RunCredentials,
): Promise<Submitted> {
  const checked = checkSubmission(request);
  const { key } = checked;
  const { run, token, isStillLeft } = given ?? credentialsFrom(context);
  await checkpoint('submit.begun');
  const submission = { id: newId('sub'), runId: run, token, ...checked, data: request.data, isStillLeft };
  const result = await context.store.submit(submission);
  await checkpoint('submit.recorded');
  return concluded(run, key, result);
}

/** What can be said of it without the store. */
export function checkSubmission({ data, key }: SubmitRequest) {
  const bytes = checkData(data);
  const digest = createHash('sha256').update(data).digest('hex');
  checkKey(key ?? digest);
  return { bytes, digest, key: key ?? digest };
}

function concluded(run: string, key: string, result: SubmitResult): Submitted {
  switch (result.is) {
    case 'accepted':
      return { accepted: true, again: result.again, id: result.id };
    case 'conflict':
      throw new ReeveError(
        'conflict',
        `Run ${run} has submitted something else under the key ${JSON.stringify(key)}: ${result.id}.`,
        { hint: 'Nothing was changed. Give what is new a key of its own.', details: { run, id: result.id } },
      );
    case 'full':
      throw new ReeveError('too_large', `Run ${run} may not submit more: ${result.because}.`, {
        hint: 'Nothing was changed. Put what is large into a file, and submit its name.',
        details: { run },
      });
    case 'fenced':
      throw fenced(run, result, wordsFor(result));
  }
}

function wordsFor({ known, why }: Extract<SubmitResult, { is: 'fenced' }>) {
  if (known === null) return { says: `It was not kept: ${why}.`, details: { kept: null } };
  const details = { kept: known.id, ...(known.as === 'accepted' ? { acceptedAs: known.id } : {}) };
  const says =
    known.as === 'accepted' ? `It is ${known.id} already: ${why}.` : `It is kept aside as ${known.id}.`;
  return { says, details };
}

/** How many bytes it has. */
function checkData(data: string): number {
  const bytes = Buffer.byteLength(data);
  if (bytes > MAX_SUBMISSION_BYTES) throw tooLarge();
  if (data === '') throw new ReeveError('usage', 'There is nothing to submit: the data is empty.');
  if (data.includes('\0') || /\p{Cs}/u.test(data)) throw notText();
  return bytes;
}

function checkKey(key: string): void {
  const objection = objectToKey(key);
  if (objection !== null) throw new ReeveError('usage', `The key cannot be used: ${objection}.`);
}

/** Bytes that were read elsewhere as the text that they must be. */
export function textOf(bytes: Uint8Array): string {
  if (bytes.length > MAX_SUBMISSION_BYTES) throw tooLarge();
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw notText(error);
  }
}

function tooLarge(): ReeveError {
  return new ReeveError('too_large', `A submission has at most ${MAX_SUBMISSION_BYTES} bytes.`, {
    hint: 'Nothing was submitted. Put it into a file, and submit the name of the file.',
  });
}

function notText(cause?: unknown): ReeveError {
  return new ReeveError('usage', 'A submission is a text: UTF-8, and without NUL.', {
    hint: 'Nothing was submitted. Encode what is binary, or submit the name of a file.',
    cause,
  });
}
