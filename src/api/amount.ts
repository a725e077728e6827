/** `950`, `12.3k`, `1.69M`: three figures tell enough. */
export function amount(number: number): string {
  for (const [unit, size] of [
    ['G', 1e9],
    ['M', 1e6],
    ['k', 1e3],
  ] as const) {
    if (number >= size) return `${Number((number / size).toPrecision(3))}${unit}`;
  }
  return String(number);
}
