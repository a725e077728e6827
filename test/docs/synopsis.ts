/**
 * How a verb is written down, `reeve logs SESSION [-f|--follow] [-n|--lines LINES]`, as the command lines that it allows:
 * what is in brackets is given, each alternative is taken once, and what may be repeated is given once.
 */
export function commandLines(synopsis: string): string[][] {
  const tokens = synopsis
    // Part of a word, as in NAME[=KEY]: the word without it.
    .replaceAll(/(?<=\w)\[[^\]\s]*\]/g, '')
    .match(/"[^"]*"|[[\]()]|[^\s[\]()"]+/g);
  const rest = [...(tokens ?? [])];
  const lines = alternatives(rest);
  if (rest.length > 0) throw new Error(`\`${synopsis}\` has a bracket too many`);
  return lines;
}

/** Up to a closing bracket: sequences, separated by bars. */
function alternatives(rest: string[]): string[][] {
  const all: string[][] = [];
  let sequence: string[][][] = [];
  for (;;) {
    const token = rest[0];
    if (token === undefined || token === ']' || token === ')') return [...all, ...each(sequence)];
    rest.shift();
    if (token === '|') {
      all.push(...each(sequence));
      sequence = [];
    } else if (token === '[' || token === '(') {
      sequence.push(alternatives(rest));
      if (rest.shift() === undefined) throw new Error('a bracket is not closed');
    } else sequence.push(token.split('|').map((word) => [word.replace(/(?<=.)…$/, '')]));
  }
}

/** The first choice of every part; and each other choice, with the first of the rest. */
function each(sequence: readonly (readonly string[][])[]): string[][] {
  const first = sequence.map((choices) => choices[0] ?? []);
  const lines = [first.flat()];
  for (const [at, choices] of sequence.entries())
    for (const choice of choices.slice(1)) lines.push(first.with(at, choice).flat());
  return lines;
}
