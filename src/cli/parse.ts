/** Words to a verb, its arguments and its flags; whatever does not fit is a usage error that says what would. */
import { ReeveError } from '../api/errors.ts';
import { nearest } from '../api/nearest.ts';

interface Flag {
  readonly name: string;
  readonly short?: string;
  /** What the value is called in the help; a flag without it takes none. */
  readonly value?: string;
  readonly choices?: readonly string[];
  /** Throws `InvalidValue`. */
  readonly read?: (text: string) => string | number;
  readonly says: string;
  readonly excludes?: string;
  /** It may be given again and again; its value is a list. */
  readonly many?: boolean;
}

interface Argument {
  readonly name: string;
  readonly says: string;
  readonly choices?: readonly string[];
  /** One or more. */
  readonly many?: boolean;
  /** It may be left out; only the last one. */
  readonly optional?: boolean;
}

interface Exit {
  readonly code: number;
  /** Of a verb that takes an action: only of this one. */
  readonly action?: string;
  readonly when: string;
}

export interface Call {
  readonly words: readonly string[];
  /** For a verb that takes one: the command, whose own flags are not looked at. */
  readonly command: readonly string[];
  /** By their names in camel case. */
  readonly flags: Flags;
}

type Flags = Readonly<Record<string, FlagValue>>;
type FlagValue = string | number | true | readonly string[];

export interface Verb {
  /** One word, or two: what is acted on, and the act, as in `child run`. */
  readonly name: string;
  readonly group: string;
  readonly says: string;
  readonly arguments: readonly Argument[];
  readonly takesCommand?: boolean;
  readonly flags: readonly Flag[];
  /** When it ends with another code than 0 and is no error; a foreground command's own codes aside. */
  readonly exits?: readonly Exit[];
  readonly execute: (call: Call) => Promise<number> | number;
}

export class InvalidValue extends Error {}

export type Parsed =
  | {
      readonly is: 'call';
      readonly verb: Verb;
      readonly call: Call;
      /** The verb of two words that its first word may have been meant for, as in `usage ad`. */
      readonly meant: string | undefined;
    }
  /** Of one verb, of those that begin with the same word, or of all. */
  | { readonly is: 'help'; readonly of: Verb | readonly Verb[] }
  | { readonly is: 'version' };

/** In the place of a verb. */
export const VERSION_FLAGS: readonly string[] = ['--version', '-V', '-v'];
/** There, and behind any verb. */
export const HELP_FLAGS: readonly string[] = ['--help', '-h'];

export function parse(verbs: readonly Verb[], args: readonly string[]): Parsed {
  const [first] = args;
  if (first === undefined) return { is: 'help', of: verbs };
  if (VERSION_FLAGS.includes(first)) return { is: 'version' };
  if (isHelp(first)) return { is: 'help', of: verbs };
  if (first === 'help') return helpAbout(verbs, args.slice(1));
  const { verb, rest } = verbAt(verbs, args);
  if (verb !== null) {
    const meant = verb.name === first ? verbOfTwoMeant(verbs, first, rest[0]) : undefined;
    try {
      return parseCall(verb, rest, meant);
    } catch (error) {
      throw suggesting(meant, error);
    }
  }
  // The first word of several verbs, with none of their second ones.
  const alike = startingWith(verbs, first);
  const [second] = rest;
  if (second !== undefined && isHelp(second)) return { is: 'help', of: alike };
  throw usage(
    second === undefined
      ? `\`${first}\` needs a second word: ${alike.map(({ name }) => name.slice(first.length + 1)).join(', ')}`
      : `There is no verb ${quoted(`${first} ${second}`)}`,
    verbOfTwoMeant(verbs, first, second),
  );
}

function isHelp(word: string): boolean {
  return HELP_FLAGS.includes(word);
}

function helpAbout(verbs: readonly Verb[], words: readonly string[]): Parsed {
  if (words[0] === undefined) return { is: 'help', of: verbs };
  return { is: 'help', of: verbAt(verbs, words).verb ?? startingWith(verbs, words[0]) };
}

/** Two words are tried before one. Null when the first one only begins names of two. */
function verbAt(
  verbs: readonly Verb[],
  [first = '', ...rest]: readonly string[],
): { verb: Verb | null; rest: readonly string[] } {
  const named = (name: string) => verbs.find((verb) => verb.name === name);
  const ofTwo = rest[0] === undefined ? undefined : named(`${first} ${rest[0]}`);
  if (ofTwo !== undefined) return { verb: ofTwo, rest: rest.slice(1) };
  const ofOne = named(first);
  if (ofOne !== undefined) return { verb: ofOne, rest };
  if (startingWith(verbs, first).length > 0) return { verb: null, rest };
  const kind = first.startsWith('-') ? 'flag' : 'verb';
  throw usage(`There is no ${kind} ${quoted(first)}`, verbMeant(verbs, first, rest[0]));
}

function verbMeant(verbs: readonly Verb[], given: string, second: string | undefined): string | undefined {
  if (given.startsWith('-')) return nearest(given, [...VERSION_FLAGS, ...HELP_FLAGS]);
  // No verb has a capital letter.
  const first = given.toLowerCase();
  const seconds = verbs.map(({ name }) => name).filter((name) => name.endsWith(` ${first}`));
  if (seconds.length === 1 && !ELSEWHERE.has(first)) return seconds[0];
  const firsts = verbs.map(({ name }) => name.split(' ')[0] ?? name);
  const known = ELSEWHERE.has(first) ? first : nearest(first, [...firsts, ...ELSEWHERE.keys()]);
  if (known === undefined) return undefined;
  const meant = ELSEWHERE.get(known) ?? known;
  return verbOfTwoMeant(verbs, meant, second) ?? meant;
}

function verbOfTwoMeant(
  verbs: readonly Verb[],
  first: string,
  second: string | undefined,
): string | undefined {
  const alike = startingWith(verbs, first).map(({ name }) => name);
  if (second === undefined || second.startsWith('-') || alike.length === 0) return undefined;
  const elsewhere = `${first} ${ELSEWHERE.get(second) ?? second}`;
  if (alike.includes(elsewhere)) return elsewhere;
  // Where the second word may also be an argument, more than one slip is rather that.
  const takesWord = verbs.some((verb) => verb.name === first && verb.arguments.length > 0);
  return nearest(`${first} ${second}`, alike, takesWord ? 1 : 2);
}

/** The same error, with this in the place of its hint. */
export function suggesting(meant: string | undefined, error: unknown): unknown {
  if (meant === undefined || !(error instanceof ReeveError)) return error;
  const { code, message, details } = error;
  return new ReeveError(code, message, { hint: didYouMean(meant), details, cause: error });
}

/** What other tools call it. */
const ELSEWHERE: ReadonlyMap<string, string> = new Map([
  ['ps', 'ls'],
  ['list', 'ls'],
  ['status', 'ls'],
  ['sessions', 'ls'],
  ['start', 'run'],
  ['exec', 'run'],
  ['new', 'run'],
  ['restart', 'run --force or resume'],
  ['continue', 'resume'],
  ['info', 'show'],
  ['inspect', 'show'],
  ['history', 'why'],
  ['log', 'logs'],
  ['tail', 'logs'],
  ['spend', 'usage'],
  ['cost', 'usage'],
  ['end', 'stop'],
  ['delete', 'rm'],
  ['remove', 'rm'],
  ['prune', 'rm'],
  ['daemon', 'serve'],
  ['check', 'doctor'],
  ['version', '--version'],
  ['config', 'doctor'],
  ['install', 'hooks install or shim install'],
  ['update', 'npm install -g reeve'],
  ['upgrade', 'npm install -g reeve'],
]);

function startingWith(verbs: readonly Verb[], word: string): readonly Verb[] {
  return verbs.filter(({ name }) => name.startsWith(`${word} `));
}

function parseCall(verb: Verb, args: readonly string[], meant: string | undefined): Parsed {
  const words: string[] = [];
  const flags: Record<string, FlagValue> = {};
  const rest = [...args];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (isHelp(word)) return { is: 'help', of: verb };
    if (word === '--') {
      if (verb.takesCommand !== true) words.push(...rest.splice(0));
      break;
    }
    if (word.startsWith('-') && word !== '-') takeFlag(verb, word, rest, flags);
    else if (verb.takesCommand === true && words.length === verb.arguments.length) {
      rest.unshift(word);
      break;
    } else words.push(word);
  }
  checkArguments(verb, words);
  checkExclusions(verb, flags);
  return { is: 'call', verb, call: { words, command: rest, flags }, meant };
}

function takeFlag(verb: Verb, word: string, rest: string[], flags: Record<string, FlagValue>): void {
  const [name, joined] = word.startsWith('--') ? split(word) : [word];
  const flag = verb.flags.find((each) => name === `--${each.name}` || name === `-${each.short ?? ''}`);
  if (flag === undefined) {
    const known = verb.flags.map((each) => `--${each.name}`);
    throw usage(`\`${verb.name}\` has no flag ${quoted(name)}`, nearest(name, known), verb);
  }
  if (flag.value === undefined) {
    if (joined !== undefined) throw usage(`--${flag.name} takes no value`, undefined, verb);
    flags[camelCase(flag.name)] = true;
    return;
  }
  const text = joined ?? rest.shift();
  if (text === undefined) throw usage(`--${flag.name} needs a value (${flag.value})`, undefined, verb);
  const key = camelCase(flag.name);
  const value = readValue(flag, text, verb);
  const before = flags[key];
  flags[key] = flag.many === true ? [...(Array.isArray(before) ? before : []), String(value)] : value;
}

function readValue(flag: Flag, text: string, verb: Verb): string | number {
  if (flag.choices !== undefined && !flag.choices.includes(text)) {
    throw usage(
      `--${flag.name} cannot be ${quoted(text)}; it is one of ${flag.choices.join(', ')}`,
      undefined,
      verb,
    );
  }
  try {
    return flag.read?.(text) ?? text;
  } catch (error) {
    if (!(error instanceof InvalidValue)) throw error;
    throw usage(`--${flag.name} cannot be ${quoted(text)}: ${error.message}`, undefined, verb);
  }
}

function checkArguments(verb: Verb, words: readonly string[]): void {
  const missing = verb.arguments.filter(({ optional }) => optional !== true)[words.length];
  if (missing !== undefined)
    throw usage(`\`${verb.name}\` needs ${withArticle(missing.name)}: ${missing.says}`, undefined, verb);
  const last = verb.arguments.at(-1);
  const extra = words[verb.arguments.length];
  if (extra !== undefined && last?.many !== true) {
    throw usage(`\`${verb.name}\` has no use for ${quoted(extra)}`, undefined, verb);
  }
  for (const [index, argument] of verb.arguments.entries()) {
    const { name, choices } = argument;
    const given = argument.many === true ? words.slice(index) : words.slice(index, index + 1);
    const wrong = given.find((word) => choices !== undefined && !choices.includes(word));
    if (choices !== undefined && wrong !== undefined) {
      throw usage(
        `The ${name} cannot be ${quoted(wrong)}; it is one of ${choices.join(', ')}`,
        // Two slips in a short word make any other.
        nearest(wrong, choices, wrong.length > 4 ? 2 : 1),
        verb,
      );
    }
  }
}

function checkExclusions(verb: Verb, flags: Readonly<Record<string, unknown>>): void {
  for (const { name, excludes } of verb.flags) {
    if (excludes !== undefined && camelCase(name) in flags && camelCase(excludes) in flags) {
      throw usage(`--${name} and --${excludes} exclude each other`, undefined, verb);
    }
  }
}

function usage(message: string, suggestion?: string, verb?: Verb): ReeveError {
  const help = `See: reeve ${verb === undefined ? '' : `${verb.name} `}--help`;
  const hint = suggestion === undefined ? help : didYouMean(suggestion);
  return new ReeveError('usage', `${message}.`, { hint });
}

function didYouMean(suggestion: string): string {
  return `Did you mean ${suggestion}?`;
}

function withArticle(name: string): string {
  return `${/^[aeiou]/.test(name) ? 'an' : 'a'} ${name}`;
}

function split(word: string): [name: string, value?: string] {
  const at = word.indexOf('=');
  return at === -1 ? [word] : [word.slice(0, at), word.slice(at + 1)];
}

function camelCase(name: string): string {
  return name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** Control characters of bad input must not reach a terminal. */
function quoted(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}
