/** Tokens and money, short enough for a column or a sentence. */
import { money } from '../lifecycle/money.ts';
import type { SpentView } from './usage-view.ts';

const UNITS = ['', 'k', 'M', 'B', 'T'];

/** `999`, `1.2k`, `12k`, `1.7M`: two digits are enough to compare by. */
export function shortCount(count: number): string {
  let [value, unit] = [count, 0];
  // What would be rounded up to a thousand of a unit is one of the next.
  while (unit < UNITS.length - 1 && Math.round(value) >= 1000) {
    value /= 1000;
    unit += 1;
  }
  const isSmall = unit > 0 && value < 9.95;
  return `${isSmall ? value.toFixed(1) : Math.round(value)}${UNITS[unit]}`;
}

/** Null when nothing of it has a price; `≥` when something has none. */
export function costWords(
  { cost, unpricedTokens }: Pick<SpentView, 'cost' | 'unpricedTokens'>,
  currency: string,
): string | null {
  if (cost === null) return null;
  return `${unpricedTokens > 0 ? '≥ ' : ''}${money(cost, currency)}`;
}

/** `1.7M tokens (input 12k, output 45k, cache read 1.5M, cache write 120k), $4.12`. */
export function spentWords(spent: SpentView, currency: string): string {
  const parts = (
    [
      ['input', spent.input],
      ['output', spent.output],
      ['cache read', spent.cacheRead],
      ['cache write', spent.cacheWrite],
    ] as const
  )
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${name} ${shortCount(count)}`);
  const cost = costWords(spent, currency);
  return `${shortCount(spent.total)} tokens (${parts.join(', ')})${cost === null ? '' : `, ${cost}`}`;
}
