/** The one that a slip of the finger or two would have made of it. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const [best] = known
    .map((name) => ({ name, distance: distanceBetween(word, name) }))
    .toSorted((a, b) => a.distance - b.distance);
  return best !== undefined && best.distance <= 2 && best.distance < word.length - 1 ? best.name : undefined;
}

/** Levenshtein's, row by row. */
function distanceBetween(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [index, letter] of [...from].entries()) {
    const next = [index + 1];
    for (let column = 1; column <= to.length; column += 1) {
      const change = (row[column - 1] ?? 0) + (to[column - 1] === letter ? 0 : 1);
      next.push(Math.min(change, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
