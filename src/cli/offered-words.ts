/** What may stand in the place of the last word of a command line, from the table of verbs. */
import type { Verb } from './parse.ts';

/** What only the store knows. */
export type Stored = 'sessions' | 'reviews' | 'submissions';

export interface Offer {
  readonly words: readonly string[];
  readonly stored: Stored | null;
  /** In front of each of them: what the last word has already. */
  readonly before: string;
}

type Flag = Verb['flags'][number];
type Argument = Verb['arguments'][number];

const NOTHING: Offer = { words: [], stored: null, before: '' };

/** `words` are all behind the program's own name; the last one is being typed, and may be empty. */
export function offeredWords(verbs: readonly Verb[], words: readonly string[]): Offer {
  const typed = words.slice(0, -1);
  const last = words.at(-1) ?? '';
  const [first, second] = typed;
  if (first === undefined) return offer([...firstWords(verbs), 'help']);
  if (first === 'help') return offer(helpWords(verbs, typed.slice(1)));
  const ofTwo = verbs.find(({ name }) => name === `${first} ${second}`);
  const verb = ofTwo ?? verbs.find(({ name }) => name === first);
  const seconds = typed.length === 1 ? secondWords(verbs, first) : [];
  if (verb === undefined) return offer(seconds);
  const behind = behindVerb(verb, typed.slice(ofTwo === undefined ? 1 : 2), last);
  return { ...behind, words: [...seconds, ...behind.words] };
}

function behindVerb(verb: Verb, typed: readonly string[], last: string): Offer {
  // A command's own words are not Reeve's.
  if (typed.includes('--')) return NOTHING;
  const given: string[] = [];
  let awaiting: Flag | undefined;
  for (const word of typed) {
    if (awaiting !== undefined) awaiting = undefined;
    else if (!word.startsWith('-')) given.push(word);
    else if (!word.includes('='))
      awaiting = flagNamed(verb, word)?.value === undefined ? undefined : flagNamed(verb, word);
  }
  if (awaiting !== undefined) return valuesOf(awaiting);
  const at = last.indexOf('=');
  if (last.startsWith('--') && at !== -1) {
    const flag = flagNamed(verb, last.slice(0, at));
    return flag === undefined ? NOTHING : { ...valuesOf(flag), before: last.slice(0, at + 1) };
  }
  const flags = verb.flags
    .filter((flag) => flag.many === true || !isGiven(flag, typed))
    .map(({ name }) => `--${name}`);
  if (last.startsWith('-')) return offer(flags);
  const argument = verb.arguments[given.length] ?? manyAt(verb.arguments);
  if (argument === undefined) return offer(verb.takesCommand === true ? [] : flags);
  const { words, stored } =
    argument.choices === undefined ? storedBy(argument.name) : offer(argument.choices);
  return { words: words.filter((word) => !given.includes(word)), stored, before: '' };
}

function valuesOf({ name, value = '', choices }: Flag): Offer {
  return choices === undefined ? storedBy(name === 'session' ? name : value.toLowerCase()) : offer(choices);
}

const STORED: Readonly<Record<string, Stored>> = {
  session: 'sessions',
  review: 'reviews',
  id: 'submissions',
};

function storedBy(name: string): Offer {
  return { ...NOTHING, stored: Object.hasOwn(STORED, name) ? (STORED[name] ?? null) : null };
}

function manyAt(all: readonly Argument[]): Argument | undefined {
  const last = all.at(-1);
  return last?.many === true ? last : undefined;
}

function flagNamed({ flags }: Verb, word: string): Flag | undefined {
  return flags.find(({ name, short }) => word === `--${name}` || word === `-${short ?? '-'}`);
}

function isGiven({ name, short }: Flag, typed: readonly string[]): boolean {
  return typed.some(
    (word) => word === `--${name}` || word.startsWith(`--${name}=`) || word === `-${short ?? '-'}`,
  );
}

function firstWords(verbs: readonly Verb[]): readonly string[] {
  return [...new Set(verbs.map(({ name }) => name.split(' ')[0] ?? name))];
}

function secondWords(verbs: readonly Verb[], first: string): readonly string[] {
  return verbs.flatMap(({ name }) => (name.startsWith(`${first} `) ? [name.slice(first.length + 1)] : []));
}

function helpWords(verbs: readonly Verb[], typed: readonly string[]): readonly string[] {
  const [first] = typed;
  return first === undefined ? firstWords(verbs) : typed.length === 1 ? secondWords(verbs, first) : [];
}

function offer(words: readonly string[]): Offer {
  return { ...NOTHING, words };
}
