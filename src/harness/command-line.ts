/** Reads the command line of a harness: which words are options, which are their values, which are words of their own. */
export interface Grammar {
  /** Options that always take the next word. */
  readonly valued: readonly string[];
  /** Options that take the next word unless it looks like an option. */
  readonly optional?: readonly string[];
  /** Options that take all following words up to the next option. */
  readonly variadic?: readonly string[];
}

export type Part =
  | {
      readonly is: 'option';
      readonly name: string;
      readonly values: readonly string[];
      /** As it stood there. */
      readonly words: readonly string[];
    }
  | { readonly is: 'word'; readonly text: string; readonly words: readonly string[] };

export function readCommandLine(args: readonly string[], grammar: Grammar): readonly Part[] {
  const parts: Part[] = [];
  const rest = [...args];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word === '--') {
      const words = (text: string, index: number) => (index === 0 ? ['--', text] : [text]);
      parts.push(...rest.map((text, index): Part => ({ is: 'word', text, words: words(text, index) })));
      break;
    }
    parts.push(isOption(word) ? optionFrom(word, rest, grammar) : { is: 'word', text: word, words: [word] });
  }
  return parts;
}

function optionFrom(word: string, rest: string[], grammar: Grammar): Part {
  const at = word.startsWith('--') ? word.indexOf('=') : -1;
  if (at !== -1) {
    return { is: 'option', name: word.slice(0, at), values: [word.slice(at + 1)], words: [word] };
  }
  const values = takeValues(word, rest, grammar);
  return { is: 'option', name: word, values, words: [word, ...values] };
}

function takeValues(name: string, rest: string[], grammar: Grammar): string[] {
  if (grammar.valued.includes(name)) return rest.splice(0, 1);
  const end = rest.findIndex(isOption);
  const followers = end === -1 ? rest.length : end;
  if (grammar.optional?.includes(name) === true) return rest.splice(0, Math.min(1, followers));
  return grammar.variadic?.includes(name) === true ? rest.splice(0, followers) : [];
}

function isOption(word: string): boolean {
  return word.startsWith('-') && word !== '-';
}

export function optionValue(parts: readonly Part[], ...names: readonly string[]): string | null {
  const found = parts.findLast((part) => part.is === 'option' && names.includes(part.name));
  return found?.is === 'option' ? (found.values[0] ?? null) : null;
}

export function hasOption(parts: readonly Part[], ...names: readonly string[]): boolean {
  return parts.some((part) => part.is === 'option' && names.includes(part.name));
}

export function wordsOf(parts: readonly Part[]): readonly string[] {
  return parts.flatMap((part) => (part.is === 'word' ? [part.text] : []));
}

/** The options as they stood there, without those named, and without any words. */
export function optionsWithout(parts: readonly Part[], names: readonly string[]): readonly string[] {
  return parts.flatMap((part) => (part.is === 'option' && !names.includes(part.name) ? part.words : []));
}

/** Names that are written one after another. */
export function listed(names: string): readonly string[] {
  return names.trim().split(/\s+/);
}
