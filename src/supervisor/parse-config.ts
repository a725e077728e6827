/** The text of a configuration file to the configuration, or to the one sentence that says what is wrong with it. */
import { parse, TomlError } from 'smol-toml';
import { nearest } from '../api/nearest.ts';
import { CONFIG_KEYS } from './config-keys.ts';
import type { Config, ConfigKey } from './config-keys.ts';
import { isTable, named } from './config-kinds.ts';

export type ParsedConfig =
  | { readonly is: 'read'; readonly config: Config }
  /** `key` is null when the file as a whole is wrong. */
  | { readonly is: 'wrong'; readonly key: string | null; readonly problem: string };

/** Longer than any key: what is longer is neither shown whole nor compared letter by letter. */
const MAX_NAME = 60;

type Keys = Readonly<Record<string, Readonly<Record<string, ConfigKey<unknown>>>>>;

const TABLES: Keys = CONFIG_KEYS;
const NAMES = Object.entries(TABLES).flatMap(([table, keys]) =>
  Object.keys(keys).map((name) => ({ table, name, whole: `${table}.${name}` })),
);

export function parseConfig(text: string): ParsedConfig {
  let document: unknown;
  try {
    document = parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    return { is: 'wrong', key: null, problem: notToml(error) };
  }
  const given = isTable(document) ? document : {};
  return firstProblem(given) ?? { is: 'read', config: configFrom(given) };
}

/** Only the first line of the parser's message: the rest quotes the file, which may hold secrets. */
function notToml({ message, line, column }: TomlError): string {
  const reason = message.split('\n')[0]?.replace('Invalid TOML document: ', '') ?? 'it cannot be parsed';
  return `it is not TOML at line ${line}, column ${column}: ${reason}`;
}

function firstProblem(given: Readonly<Record<string, unknown>>): ParsedConfig | null {
  for (const [table, values] of Object.entries(given)) {
    const keys = Object.hasOwn(TABLES, table) ? TABLES[table] : undefined;
    if (keys === undefined) return wrong(table, unknownTable(table));
    if (!isTable(values)) return wrong(table, `must be a table, not ${named(values)}`);
    for (const [name, value] of Object.entries(values)) {
      const whole = `${table}.${name}`;
      const key = Object.hasOwn(keys, name) ? keys[name] : undefined;
      if (key === undefined) return wrong(whole, unknownKey(whole));
      const reading = key.kind.read(value);
      if (reading.is === 'wrong') {
        const { inside, problem } = reading;
        return wrong(inside === undefined ? whole : `${whole}.${inside}`, problem);
      }
    }
  }
  return null;
}

function wrong(key: string, problem: string): ParsedConfig {
  return { is: 'wrong', key: printable(key), problem: `${printable(key)} ${problem}` };
}

/** A key of a table may stand alone, because its `[table]` line is missing. */
function unknownTable(table: string): string {
  const bare = NAMES.find(({ name }) => name === table)?.whole;
  return unknown(bare ?? nearest(table.slice(0, MAX_NAME), Object.keys(TABLES)));
}

function unknownKey(whole: string): string {
  const names = NAMES.map((each) => each.whole);
  return unknown(nearest(whole.slice(0, MAX_NAME), names));
}

function unknown(meant: string | undefined): string {
  return meant === undefined ? 'is not known' : `is not known; did you mean ${meant}?`;
}

/** A quoted key of TOML may be anything, control characters too, which must not reach a terminal. */
function printable(key: string): string {
  const clipped = key.length > MAX_NAME ? `${key.slice(0, MAX_NAME)}…` : key;
  return /^[\w.-]+…?$/.test(clipped) ? clipped : JSON.stringify(clipped);
}

/** Every value has been read once and found right. */
function configFrom(given: Readonly<Record<string, unknown>>): Config {
  const tables = Object.entries(TABLES).map(([table, keys]) => {
    const values = given[table];
    const read = Object.entries(keys).map(([name, key]) => {
      const reading = isTable(values) && Object.hasOwn(values, name) ? key.kind.read(values[name]) : null;
      return [camelCase(name), reading?.is === 'read' ? reading.value : key.default];
    });
    return [camelCase(table), Object.fromEntries(read)];
  });
  // The type is derived from the same table that the values were just read by.
  return Object.fromEntries(tables) as Config;
}

function camelCase(name: string): string {
  return name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}
