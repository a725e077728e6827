/**
 * Small programs that start another one with the rest of their words: `env A=b nice -n 5 timeout 60 PROGRAM …`. The
 * command that counts is behind them. Only what is understood word for word is passed over. With anything else the
 * whole line stays what it was, a command of the launcher: a guess could take a word for a program, or miss one.
 */
import { basename } from 'node:path';
import type { Environment } from './adapter.ts';
import { listed } from './command-line.ts';

export interface RealCommand {
  /** Where it begins in the line; 0 when no launcher stands before it, or one that is not understood. */
  readonly at: number;
  /** What the launchers make of the environment. */
  readonly environment: Environment;
}

interface Grammar {
  /** Options without a value, and options that have one. Those that mean no command at all are not listed. */
  readonly flags?: readonly string[];
  readonly valued?: readonly string[];
  /** Any other word that counts as an option. */
  readonly isFlag?: (word: string) => boolean;
  /** How many words of its own it takes behind the options. */
  readonly operands?: number;
}

const GRAMMARS: ReadonlyMap<string, Grammar> = new Map<string, Grammar>([
  [
    'env',
    {
      flags: listed('-i --ignore-environment -v --debug'),
      valued: listed('-u --unset'),
      isFlag: (word) => word === '-',
    },
  ],
  ['nice', { valued: listed('-n --adjustment'), isFlag: (word) => /^-[-+]?\d+$/.test(word) }],
  ['nohup', {}],
  [
    'timeout',
    {
      flags: listed('-f --foreground -p --preserve-status -v --verbose'),
      valued: listed('-k --kill-after -s --signal'),
      operands: 1,
    },
  ],
  ['stdbuf', { valued: listed('-i --input -o --output -e --error') }],
  ['setsid', { flags: listed('-c --ctty -f --fork -w --wait') }],
  ['ionice', { flags: listed('-t --ignore'), valued: listed('-c --class -n --classdata') }],
  [
    'time',
    {
      flags: listed('-a --append -p --portability -q --quiet -v --verbose'),
      valued: listed('-f --format -o --output'),
    },
  ],
]);

/** Where a program is looked for when there is no PATH. */
const NO_PATH = '/bin:/usr/bin';

export function findCommand(argv: readonly string[], environment: Environment = {}): RealCommand {
  const whole = { at: 0, environment };
  let found: RealCommand = whole;
  for (;;) {
    const word = argv[found.at];
    if (word === undefined) return whole;
    const name = basename(word);
    const grammar = GRAMMARS.get(name);
    if (grammar === undefined) return found;
    const read = readOptions(argv, found.at + 1, grammar);
    if (read === null) return whole;
    const at = read.at + (grammar.operands ?? 0);
    found =
      name === 'env'
        ? assigned(argv, at, afterOptions(found.environment, read.options))
        : { at, environment: found.environment };
  }
}

interface Option {
  readonly name: string;
  readonly value: string | null;
}

/** Its options, and where they end; null when one of them is not understood. */
function readOptions(
  argv: readonly string[],
  from: number,
  grammar: Grammar,
): { readonly options: readonly Option[]; readonly at: number } | null {
  const options: Option[] = [];
  for (let at = from; ; at += 1) {
    const word = argv[at];
    if (word === '--') return { options, at: at + 1 };
    if (word === undefined || !word.startsWith('-')) return { options, at };
    const read = readOption(word, grammar);
    if (read === null) return null;
    const [last] = read.slice(-1);
    // A value that is not in the same word is the next one.
    if (last !== undefined && last.value === null && grammar.valued?.includes(last.name) === true) {
      at += 1;
      options.push(...read.slice(0, -1), { name: last.name, value: argv[at] ?? null });
    } else options.push(...read);
  }
}

/** The options of one word: `-pv` stands for `-p -v`, and `-k5` for `-k 5`. */
function readOption(word: string, { flags = [], valued = [], isFlag }: Grammar): readonly Option[] | null {
  if (flags.includes(word) || valued.includes(word) || isFlag?.(word) === true)
    return [{ name: word, value: null }];
  if (word.startsWith('--')) {
    const [, name = '', value = ''] = /^([^=]+)=([^]*)$/.exec(word) ?? [];
    return valued.includes(name) ? [{ name, value }] : null;
  }
  const letters = Array.from(word.slice(1), (letter) => `-${letter}`);
  const end = letters.findIndex((letter) => !flags.includes(letter));
  const before = (end === -1 ? letters : letters.slice(0, end)).map((name) => ({ name, value: null }));
  if (end === -1) return before;
  const [name = '', behind] = [letters[end], word.slice(end + 2)];
  return valued.includes(name) ? [...before, { name, value: behind === '' ? null : behind }] : null;
}

/** What the options of `env` make of the environment. */
function afterOptions(environment: Environment, options: readonly Option[]): Environment {
  const isEmptied = options.some(({ name }) => ['-', '-i', '--ignore-environment'].includes(name));
  const changed: Record<string, string | undefined> = isEmptied ? { PATH: NO_PATH } : { ...environment };
  for (const { name, value } of options)
    if (value !== null && ['-u', '--unset'].includes(name)) changed[value] = undefined;
  return changed;
}

/** Behind its options `env` takes assignments; the first word that is none is the command. */
function assigned(argv: readonly string[], from: number, environment: Environment): RealCommand {
  const changed = { ...environment };
  for (let at = from; ; at += 1) {
    const [, name, value] = /^([^=]+)=([^]*)$/.exec(argv[at] ?? '') ?? [];
    if (name === undefined) return { at, environment: changed };
    changed[name] = value;
  }
}
