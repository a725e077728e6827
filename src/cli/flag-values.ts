/** What several verbs' flags have in common. */
import { InvalidValue } from './parse.ts';

export const JSON_FLAG = { name: 'json', says: 'one JSON value on stdout, nothing else' } as const;

/** A day is more than any harness needs to save its work. */
const MAX_GRACE_SECONDS = 86_400;

export function seconds(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= 0 && value <= MAX_GRACE_SECONDS) return value;
  throw new InvalidValue(`it takes seconds, from 0 to ${MAX_GRACE_SECONDS}`);
}
