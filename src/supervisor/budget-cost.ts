/** What tokens cost, as far as their prices are known. */
import type { ModelSum } from '../store/store.ts';

export interface Cost {
  readonly cost: number;
  /** Models whose price is not known. */
  readonly unpriced: readonly string[];
}

/** The one place to ask for prices: until there are any, nothing is known to cost anything. */
export function costOf(sums: readonly ModelSum[]): Cost {
  return { cost: 0, unpriced: [...new Set(sums.map(({ model }) => model))] };
}
