/** Arguments that are not UTF-8: a command and a prompt take them as they are, nothing else does. */
import { ReeveError } from '../api/errors.ts';
import { ownArguments } from '../supervisor/own-arguments.ts';
import { hasStrayBytes } from '../api/raw-bytes.ts';
import type { Call } from './parse.ts';

export function rawArguments(given: readonly string[]): readonly string[] {
  const own = ownArguments(given);
  if (own !== null) return own;
  throw new ReeveError(
    'usage',
    'An argument has bytes that are not UTF-8, and this system does not say which.',
    { hint: 'Nothing was done. Give it in UTF-8.' },
  );
}

export function refuseStrayBytes({ words, flags: { prompt: _prompt, ...flags } }: Call): void {
  const texts = [...words, ...Object.values(flags).flat()].map(String);
  const stray = texts.find(hasStrayBytes);
  if (stray === undefined) return;
  throw new ReeveError('usage', `${JSON.stringify(stray.slice(0, 60))} is not UTF-8.`, {
    hint: 'Only a command behind --, and a prompt, may have other bytes. Give this in UTF-8.',
  });
}
