/**
 * The kinds of value that a configuration key can have. What is wrong with a value is said without the value itself,
 * which may be a secret; only a word that should have been one of a few is named, for it is a slip of the finger.
 */
import { nearest } from '../api/nearest.ts';

type Reading<T> =
  | { readonly is: 'read'; readonly value: T }
  /** `problem` goes on from the key's name: "must be …"; of a table, from the name that stands in it. */
  | { readonly is: 'wrong'; readonly problem: string; readonly inside?: string };

export interface Kind<T> {
  /** What the documentation calls it, and an error asks for. */
  readonly wants: string;
  readonly read: (value: unknown) => Reading<T>;
}

/** An argv, a list or a text longer than this was not written by a person. */
const MAX_ITEMS = 100;
const MAX_CHARACTERS = 4_096;

export const trueOrFalse: Kind<boolean> = kindOf('true or false', (value) =>
  typeof value === 'boolean' ? value : undefined,
);

export function wholeNumber(from: number, to: number): Kind<number> {
  return kindOf(`a whole number from ${from} to ${to}`, (value) =>
    typeof value === 'number' && Number.isInteger(value) && value >= from && value <= to ? value : undefined,
  );
}

export function numberBetween(from: number, to: number): Kind<number> {
  return kindOf(`a number from ${from} to ${to}`, (value) =>
    typeof value === 'number' && value >= from && value <= to ? value : undefined,
  );
}

export function oneOf<Choice extends string>(choices: readonly Choice[]): Kind<Choice> {
  return kindOf(
    `one of ${choices.map((choice) => JSON.stringify(choice)).join(', ')}`,
    (value) => choices.find((choice) => choice === value),
    (value) => (typeof value === 'string' ? unknownChoice(A_VALUE, value, choices) : null),
  );
}

/** A table of numbers whose keys are known, each of which may be left out. */
export function tableOfNumbers<Name extends string>(
  names: readonly Name[],
  isRight: (name: Name, value: number) => boolean,
  wantsOf: (name: Name) => string,
): Kind<Readonly<Record<Name, number | null>>> {
  return kindOf(
    `a table with any of ${names.join(', ')}`,
    (value) => {
      if (!isTable(value) || Object.keys(value).some((key) => !names.some((name) => name === key)))
        return undefined;
      const read = names.map((name) => [name, value[name] ?? null] as const);
      const isWhole = read.every(
        ([name, each]) => each === null || (typeof each === 'number' && isRight(name, each)),
      );
      // Made of exactly these names.
      return isWhole ? (Object.fromEntries(read) as Readonly<Record<Name, number | null>>) : undefined;
    },
    (value) => {
      if (!isTable(value)) return null;
      const unknown = Object.keys(value).find((key) => !names.includes(key as Name));
      if (unknown !== undefined) return unknownChoice(JSON.stringify(unknown.slice(0, 60)), unknown, names);
      const wrong = names.find((name) => {
        const each = value[name];
        return each !== undefined && !(typeof each === 'number' && isRight(name, each));
      });
      return wrong === undefined
        ? null
        : { inside: wrong, problem: `must be ${wantsOf(wrong)}, not ${named(value[wrong])}` };
    },
  );
}

/** Keys that have no default are null until they are set. */
export function text(wants: string, fits: (value: string) => boolean): Kind<string | null> {
  return kindOf(wants, (value) => (isText(value) && fits(value) ? value : undefined));
}

/** A program and its arguments, as the kernel takes them: no shell will split or expand anything. */
export const argv: Kind<readonly string[] | null> = kindOf(
  'a list of texts: a program and its arguments',
  (value) => {
    const isArgv = isList(value) && value.every((word) => isText(word) && !word.includes('\0'));
    return isArgv && value[0] !== '' ? value.map(String) : undefined;
  },
  (value) => (Array.isArray(value) && value.length === 0 ? 'must have at least the program' : null),
);

export function subsetOf<Choice extends string>(choices: readonly Choice[]): Kind<readonly Choice[]> {
  const isChoice = (word: unknown): word is Choice => choices.some((choice) => choice === word);
  return kindOf(
    `a list of ${choices.map((choice) => JSON.stringify(choice)).join(', ')}`,
    (value) => (Array.isArray(value) && value.every(isChoice) ? [...new Set(value)] : undefined),
    (value) => {
      if (!Array.isArray(value)) return null;
      const wrong: unknown = value.find((word) => !isChoice(word));
      return typeof wrong === 'string' ? unknownChoice(A_VALUE, wrong, choices) : null;
    },
  );
}

/** A table whose keys are the user's own. `refuse` says what is wrong with one, or null. */
export function mapOfTexts(
  wants: string,
  refuse: (name: string, value: string) => string | null,
): Kind<Readonly<Record<string, string>>> {
  const problemOf = (name: string, value: unknown) =>
    isText(value) ? refuse(name, value) : `must be a text, not ${named(value)}`;
  return kindOf(
    wants,
    (value) => {
      if (!isTable(value)) return undefined;
      const entries = Object.entries(value).filter(
        (entry): entry is [string, string] => problemOf(...entry) === null,
      );
      const isWhole = entries.length === Object.keys(value).length && entries.length <= MAX_ITEMS;
      return isWhole ? Object.fromEntries(entries) : undefined;
    },
    (value) => {
      if (!isTable(value)) return null;
      if (Object.keys(value).length > MAX_ITEMS) return `has more than ${MAX_ITEMS} names`;
      for (const [inside, each] of Object.entries(value)) {
        const problem = problemOf(inside, each);
        if (problem !== null) return { inside, problem };
      }
      return null;
    },
  );
}

export function isTable(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

/** What a value is, for a sentence that says what it should have been. */
export function named(value: unknown): string {
  if (typeof value === 'string') return value === '' ? 'an empty text' : 'this text';
  if (typeof value === 'number' || typeof value === 'bigint') return 'this number';
  if (typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return 'this list';
  return value instanceof Date ? 'a date' : 'this table';
}

export function kindOf<T>(
  wants: string,
  read: (value: unknown) => T | undefined,
  explain: (value: unknown) => string | { inside: string; problem: string } | null = () => null,
): Kind<T> {
  return {
    wants,
    read: (given) => {
      const value = read(given);
      if (value !== undefined) return { is: 'read', value };
      const why = explain(given) ?? `must be ${wants}, not ${named(given)}`;
      return { is: 'wrong', ...(typeof why === 'string' ? { problem: why } : why) };
    },
  };
}

/** Whatever stands there may be a secret in the wrong line; only keys are named. */
const A_VALUE = 'a value';

function unknownChoice(what: string, word: string, choices: readonly string[]): string {
  const meant = nearest(word, choices);
  return meant === undefined
    ? `has ${what} that is none of ${choices.join(', ')}`
    : `has ${what}, which is not known; did you mean ${JSON.stringify(meant)}?`;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_CHARACTERS;
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && value.length > 0 && value.length <= MAX_ITEMS;
}
