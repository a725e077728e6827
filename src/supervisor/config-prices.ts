/** Prices as the configuration file has them: a list of tables, or the same as `[[prices.models]]`. */
import type { Price } from '../lifecycle/price.ts';
import { isTable, kindOf } from './config-kinds.ts';
import type { Kind } from './config-kinds.ts';

/** Every model of every vendor with some years of changes; what is longer was not written by a person. */
const MAX_PRICES = 1_000;
/** For a million tokens, in whatever currency. */
const MAX_PRICE = 1_000_000;
const MAX_MODEL_LENGTH = 200;

const NAMES = ['model', 'from', 'input', 'output', 'cache_read', 'cache_write'];

export const currencyCode: Kind<string> = kindOf('the three letters of a currency', (value) =>
  typeof value === 'string' && /^[A-Z]{3}$/.test(value) ? value : undefined,
);

export const prices: Kind<readonly Price[]> = kindOf(
  'a list of prices for a million tokens, each with its model and the day from which it holds',
  (value) => {
    const problem = problemIn(value);
    return problem === null && Array.isArray(value) ? value.map(priceFrom) : undefined;
  },
  problemIn,
);

/** Which entry it is says its place; what it says is not repeated. */
function problemIn(value: unknown): string | null {
  if (!Array.isArray(value)) return null;
  if (value.length > MAX_PRICES) return `has more than ${MAX_PRICES} prices`;
  const seen = new Map<string, number>();
  for (const [index, entry] of value.entries()) {
    const problem = problemOf(entry);
    if (problem !== null) return `has a price, number ${index + 1}, ${problem}`;
    const { model, from } = priceFrom(entry);
    const key = `${from} ${model}`;
    const earlier = seen.get(key);
    if (earlier !== undefined)
      return `has two prices, numbers ${earlier} and ${index + 1}, for the same model from the same day`;
    seen.set(key, index + 1);
  }
  return null;
}

function problemOf(entry: unknown): string | null {
  if (!isTable(entry)) return 'that is not a table';
  const unknown = Object.keys(entry).find((name) => !NAMES.includes(name));
  if (unknown !== undefined) return `with a key that is none of ${NAMES.join(', ')}`;
  if (!isModel(entry['model'])) return 'whose model is not a name, whole or with * as its last letter';
  if (dayIn(entry['from']) === null) return 'whose from is not a day like 2026-01-31';
  for (const name of ['input', 'output']) {
    if (!isPrice(entry[name])) return `whose ${name} is not a number from 0 to ${MAX_PRICE}`;
  }
  for (const name of ['cache_read', 'cache_write']) {
    if (entry[name] !== undefined && !isPrice(entry[name]))
      return `whose ${name} is not a number from 0 to ${MAX_PRICE}`;
  }
  return null;
}

/** Of an entry in which nothing is wrong. */
function priceFrom(entry: unknown): Price {
  const table = isTable(entry) ? entry : {};
  const rate = (name: string) => (typeof table[name] === 'number' ? table[name] : null);
  return {
    model: String(table['model']),
    from: dayIn(table['from']) ?? '',
    input: rate('input'),
    output: rate('output'),
    cacheRead: rate('cache_read'),
    cacheWrite: rate('cache_write'),
  };
}

function isModel(value: unknown): boolean {
  if (typeof value !== 'string' || value.length > MAX_MODEL_LENGTH) return false;
  return value !== '' && !value.slice(0, -1).includes('*');
}

function isPrice(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && value <= MAX_PRICE;
}

/** TOML has days of its own, which need no quotes; they know nothing of the hour, so they say no more than the day. */
function dayIn(value: unknown): string | null {
  const text = value instanceof Date && !Number.isNaN(value.getTime()) ? value.toISOString() : value;
  if (typeof text !== 'string' || !/^\d{4}-\d\d-\d\d$/.test(text)) return null;
  const at = new Date(`${text}T00:00:00Z`);
  // What does not exist, such as the 30th of February, is another day or none.
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text) ? text : null;
}
