/** The one that a slip of the finger or two (or `within` so many) would have made of it. */
export function nearest(word: string, known: readonly string[], within = 2): string | undefined {
  const [best] = known
    .map((name) => ({ name, distance: slipsBetween(word, name) }))
    .toSorted((a, b) => a.distance - b.distance);
  return best !== undefined && best.distance <= within && best.distance < word.length - 1
    ? best.name
    : undefined;
}

/** The right letters in another order are one slip, as in `psot`. */
function slipsBetween(word: string, name: string): number {
  return word !== name && sorted(word) === sorted(name) ? 1 : distanceBetween(word, name);
}

function sorted(word: string): string {
  return [...word].toSorted().join('');
}

/** Levenshtein's, row by row; two letters that changed places are one change. */
function distanceBetween(from: string, to: string): number {
  let above: readonly number[] = [];
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let index = 0; index < from.length; index += 1) {
    const letter = from[index];
    const next = [index + 1];
    for (let column = 1; column <= to.length; column += 1) {
      const change = (row[column - 1] ?? 0) + (to[column - 1] === letter ? 0 : 1);
      const isSwap = index > 0 && to[column - 1] === from[index - 1] && to[column - 2] === letter;
      const swap = isSwap ? (above[column - 2] ?? 0) + 1 : change;
      next.push(Math.min(change, swap, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    above = row;
    row = next;
  }
  return row.at(-1) ?? 0;
}
