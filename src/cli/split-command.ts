import { ReeveError } from '../api/errors.ts';

/** A command line as words, split and unquoted as a shell would; nothing is expanded, and no shell is asked. */
export function splitCommand(line: string): readonly string[] {
  const words: string[] = [];
  let word: string | null = null;
  let quote: '"' | "'" | null = null;
  for (let at = 0; at < line.length; at += 1) {
    const character = line.charAt(at);
    if (quote === null && /\s/.test(character)) {
      if (word !== null) words.push(word);
      word = null;
    } else if (quote === null && (character === '"' || character === "'")) {
      quote = character;
      word ??= '';
    } else if (character === quote) {
      quote = null;
    } else if (character === '\\' && quote !== "'" && at + 1 < line.length) {
      at += 1;
      const next = line.charAt(at);
      // Between double quotes a backslash is one, but for these.
      word = (word ?? '') + (quote === '"' && !'"\\$`'.includes(next) ? `\\${next}` : next);
    } else {
      word = (word ?? '') + character;
    }
  }
  if (quote !== null) {
    throw new ReeveError('usage', `The command line has a ${quote} that is never closed.`, {
      hint: 'Put the whole command line into quotes of the other kind.',
    });
  }
  return word === null ? words : [...words, word];
}
