/** What several verbs' flags have in common. */
import { InvalidValue } from './parse.ts';

export const JSON_FLAG = { name: 'json', says: 'one JSON value on stdout, nothing else' } as const;

/** A day is more than any harness needs to save its work. */
const MAX_GRACE_SECONDS = 86_400;

export function seconds(text: string): number {
  // Number() also takes what nobody means, such as 0x10, a space or nothing.
  if (/^\d+(\.\d+)?$/.test(text) && Number(text) <= MAX_GRACE_SECONDS) return Number(text);
  throw new InvalidValue(`it takes seconds, from 0 to ${MAX_GRACE_SECONDS}`);
}

/** A variable that was not set would otherwise mean this directory. */
export function directory(text: string): string {
  if (text !== '') return text;
  throw new InvalidValue('it takes the path of a directory');
}
