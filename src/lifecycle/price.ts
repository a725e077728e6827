/**
 * What tokens cost, by prices that somebody wrote down with the day from which they hold. None are built in: a price that
 * is not known is not guessed, and what could not be priced is counted beside what could.
 *
 * Of the prices that fit a model and had begun on the day (UTC) on which it was spent, the one whose `model` says most
 * of it decides, and of several of those the latest.
 */
import type { TokenKind, Tokens } from './usage.ts';

/** What is paid for. Reasoning is a part of the output, and paid for with it. */
const PRICED_KINDS = ['input', 'output', 'cacheRead', 'cacheWrite'] as const satisfies readonly TokenKind[];

/** Each for a million tokens; null where nobody said. */
type PriceOfKinds = Readonly<Record<(typeof PRICED_KINDS)[number], number | null>>;

export interface Price extends PriceOfKinds {
  /** A model's whole name, or a beginning of names that ends in `*`. */
  readonly model: string;
  /** The first day on which it holds, as `2026-01-31`. */
  readonly from: string;
}

export interface Prices {
  readonly currency: string;
  readonly models: readonly Price[];
}

/** What was spent with one model on one day (UTC). */
export interface SpentOnDay extends Tokens {
  readonly model: string;
  readonly day: string;
}

export interface Cost {
  /** Millionths of the currency; null when nothing of it could be priced. */
  readonly micros: number | null;
  readonly unpricedTokens: number;
}

/**
 * Money is added up in whole numbers: a price is taken as millionths of the currency for a million tokens, so that each
 * product is a whole number of 10^-12 of it, exact in a bigint; it is rounded to millionths once, at the end.
 */
export function costOf(sums: readonly SpentOnDay[], prices: Pick<Prices, 'models'>): Cost {
  let [picos, hasPrice, unpricedTokens] = [0n, false, 0];
  for (const spent of sums) {
    const price = priceFor(prices.models, spent.model, spent.day);
    for (const kind of PRICED_KINDS) {
      const each = price?.[kind] ?? null;
      if (spent[kind] === 0) continue;
      if (each === null) unpricedTokens += spent[kind];
      else {
        hasPrice = true;
        picos += BigInt(spent[kind]) * BigInt(microsOf(each));
      }
    }
  }
  return { micros: hasPrice ? roundedToMicros(picos) : null, unpricedTokens };
}

/** Null when none is in force. */
function priceFor(models: readonly Price[], model: string, day: string): Price | null {
  let best: Price | null = null;
  for (const price of models) {
    if (!fits(price.model, model) || isBefore(day, price.from)) continue;
    const order = best === null ? 1 : saysOf(price.model) - saysOf(best.model);
    // Of two that say as much, the later one; they never begin on the same day.
    if (order > 0 || (order === 0 && best !== null && best.from < price.from)) best = price;
  }
  return best;
}

function fits(pattern: string, model: string): boolean {
  return pattern.endsWith('*') ? model.startsWith(pattern.slice(0, -1)) : model === pattern;
}

/** A whole name says more than a beginning that is as long. */
function saysOf(pattern: string): number {
  return pattern.endsWith('*') ? pattern.length - 1 : pattern.length + 0.5;
}

/** Days of the year 10000 and later begin with a plus sign. */
function isBefore(day: string, from: string): boolean {
  return !day.startsWith('+') && day < from;
}

function microsOf(price: number): number {
  return Math.round(price * 1_000_000);
}

function roundedToMicros(picos: bigint): number {
  return Number((picos + 500_000n) / 1_000_000n);
}
