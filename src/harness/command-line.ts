/** Reads the command line of a harness: which words are options, which are their values, which are words of their own. */
import { basename } from 'node:path';

export interface Grammar {
  /** Options that always take the next word. */
  readonly valued: readonly string[];
  /** Options that take the next word unless it looks like an option. */
  readonly optional?: readonly string[];
  /** Options that take all following words up to the next option. */
  readonly variadic?: readonly string[];
  /** Read by yargs: no value begins with a dash, and `--sessionId` is another way to write `--session-id`. */
  readonly isYargs?: true;
}

interface Option {
  readonly is: 'option';
  readonly name: string;
  readonly values: readonly string[];
  /** As it stood there. */
  readonly words: readonly string[];
}

export type Part =
  | Option
  | {
      readonly is: 'word';
      readonly text: string;
      readonly words: readonly string[];
      /** Whether it stood behind `--`, where nothing is an option, and for most nothing a command. */
      readonly isBehindDashes: boolean;
    };

export function readCommandLine(args: readonly string[], grammar: Grammar): readonly Part[] {
  const parts: Part[] = [];
  const rest = [...args];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word === '--') {
      const words = (text: string, index: number) => (index === 0 ? ['--', text] : [text]);
      parts.push(
        ...rest.map((text, index): Part => ({
          is: 'word',
          text,
          words: words(text, index),
          isBehindDashes: true,
        })),
      );
      break;
    }
    if (isOption(word)) parts.push(...optionsFrom(word, rest, grammar));
    else parts.push({ is: 'word', text: word, words: [word], isBehindDashes: false });
  }
  return parts;
}

/** More short options than this in one word are not written by anybody; it is a prompt with a dash in front. */
const MAX_TOGETHER = 8;

/** `-pc` stands for `-p -c`, and `-rID` for `-r ID`. */
function optionsFrom(word: string, rest: string[], grammar: Grammar): Option[] {
  if (word.startsWith('--')) return [longOption(word, rest, grammar)];
  const flags: Option[] = [];
  for (const letter of word.slice(1, 1 + MAX_TOGETHER)) {
    const name = `-${letter}`;
    const behind = word.slice(2 + flags.length);
    if (behind === '') return [...flags, withValues(name, word.length > 2 ? [name] : [word], rest, grammar)];
    if (takesValue(name, grammar)) {
      return [...flags, { is: 'option', name, values: [behind.replace(/^=/, '')], words: [name + behind] }];
    }
    flags.push({ is: 'option', name, values: [], words: [name] });
  }
  return [{ is: 'option', name: word, values: [], words: [word] }];
}

function longOption(word: string, rest: string[], grammar: Grammar): Option {
  const at = word.indexOf('=');
  const name = longName(at === -1 ? word : word.slice(0, at), grammar);
  if (at === -1) return withValues(name, [word], rest, grammar);
  const isGreedy = grammar.isYargs === true && grammar.variadic?.includes(name) === true;
  const more = isGreedy ? takeValues(name, rest, grammar) : [];
  return { is: 'option', name, values: [word.slice(at + 1), ...more], words: [word, ...more] };
}

function longName(name: string, { isYargs }: Grammar): string {
  return isYargs === true
    ? name.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
    : name;
}

function withValues(name: string, words: readonly string[], rest: string[], grammar: Grammar): Option {
  const values = takeValues(name, rest, grammar);
  return { is: 'option', name, values, words: [...words, ...values] };
}

function takesValue(name: string, { valued, optional, variadic }: Grammar): boolean {
  return [valued, optional, variadic].some((names) => names?.includes(name));
}

function takeValues(name: string, rest: string[], grammar: Grammar): string[] {
  const isValued = grammar.valued.includes(name);
  if (isValued && grammar.isYargs !== true) return rest.splice(0, 1);
  const end = rest.findIndex(isOption);
  const followers = end === -1 ? rest.length : end;
  if (isValued || grammar.optional?.includes(name) === true) return rest.splice(0, Math.min(1, followers));
  return grammar.variadic?.includes(name) === true ? rest.splice(0, followers) : [];
}

function isOption(word: string): boolean {
  return word.startsWith('-') && word !== '-';
}

export function optionValue(parts: readonly Part[], ...names: readonly string[]): string | null {
  const found = parts.findLast((part) => isNamed(part, names));
  return found?.is === 'option' ? (found.values[0] ?? null) : null;
}

/** All of them, of all options of these names. */
export function optionValues(parts: readonly Part[], names: readonly string[]): readonly string[] {
  return parts.flatMap((part) => (part.is === 'option' && names.includes(part.name) ? part.values : []));
}

export function hasOption(parts: readonly Part[], ...names: readonly string[]): boolean {
  return parts.some((part) => isNamed(part, names));
}

function isNamed(part: Part, names: readonly string[]): boolean {
  return part.is === 'option' && names.includes(part.name);
}

export function wordsOf(parts: readonly Part[]): readonly string[] {
  return parts.flatMap((part) => (part.is === 'word' ? [part.text] : []));
}

/** The first word, where a program looks for a command; null when there is none, or it can only be text. */
export function commandIn(parts: readonly Part[]): string | null {
  const first = parts.find((part) => part.is === 'word');
  return first?.is === 'word' && !first.isBehindDashes ? first.text : null;
}

/** The options as they stood there, without those named, and without any words. */
export function optionsWithout(parts: readonly Part[], names: readonly string[]): readonly string[] {
  return parts.flatMap((part) => (part.is === 'option' && !isNamed(part, names) ? part.words : []));
}

/**
 * Everything as it stood there, but these words instead of the last of the options named, and none of the others.
 * Null when none of them is there. In its place, for what follows it might else be taken for another option's value.
 */
export function withInstead(
  parts: readonly Part[],
  names: readonly string[],
  words: readonly string[],
): readonly string[] | null {
  const last = parts.findLast((part) => isNamed(part, names));
  if (last === undefined) return null;
  return parts.flatMap((part) => (part === last ? words : isNamed(part, names) ? [] : part.words));
}

/** Words that nothing takes for options. */
export function behindDashes(words: readonly string[]): readonly string[] {
  return words.length === 0 ? [] : ['--', ...words];
}

/** Names that are written one after another. */
export function listed(names: string): readonly string[] {
  return names.trim().split(/\s+/);
}

/** Options of Node that take the next word, and those with which what follows is no script. */
const NODE_VALUED = listed('-r --require --import --loader --experimental-loader -C --conditions --env-file');
const NODE_EVALUATES = listed('-e --eval -p --print -pe');

/** The command line of a script, from the script on: `node --some-option /bin/gemini …`. Null when this is none. */
export function scriptArgv([program = '', ...args]: readonly string[]): readonly string[] | null {
  if (!/^(?:node|nodejs|bun)$/.test(basename(program))) return null;
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at] ?? '';
    if (!isOption(word)) return args.slice(at);
    if (NODE_EVALUATES.includes(word)) return null;
    if (NODE_VALUED.includes(word)) at += 1;
  }
  return null;
}
