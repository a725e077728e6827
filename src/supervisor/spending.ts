/** Sums of the ledger, priced. */
import type { SpentView } from '../api/usage-view.ts';
import { costOf } from '../lifecycle/price.ts';
import type { Prices } from '../lifecycle/price.ts';
import { NO_TOKENS, sum, totalOf } from '../lifecycle/usage.ts';
import type { Tokens } from '../lifecycle/usage.ts';
import type { UsagePart } from '../store/store.ts';

const MICROS = 1_000_000;

/** The cost of many is that of all their parts, not a sum of costs that were rounded. */
export function spendingOf(parts: readonly UsagePart[], prices: Prices): SpentView {
  const tokens = parts.reduce<Tokens>((all, part) => sum(all, part), NO_TOKENS);
  const { micros, unpricedTokens } = costOf(parts, prices);
  return {
    ...tokens,
    total: totalOf(tokens),
    late: parts.reduce((all, { late }) => all + late, 0),
    cost: micros === null ? null : micros / MICROS,
    unpricedTokens,
  };
}

export function groupedByName(parts: readonly UsagePart[]): ReadonlyMap<string, readonly UsagePart[]> {
  const groups = new Map<string, UsagePart[]>();
  for (const part of parts) {
    const group = groups.get(part.name);
    if (group === undefined) groups.set(part.name, [part]);
    else group.push(part);
  }
  return groups;
}
