/** Numbers as pictures of characters: a bar an eighth of a column exact, and a line of many small ones. */
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
const LEVELS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/** What is more than nothing is seen. */
export function bar(value: number, largest: number, width: number): string {
  if (value <= 0 || largest <= 0 || width < 1) return '';
  const eighths = Math.min(width * 8, Math.max(1, Math.round((value / largest) * width * 8)));
  return '█'.repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? '');
}

/** The lowest mark is for nothing alone. */
export function sparkline(values: readonly number[]): string {
  const largest = Math.max(0, ...values);
  return values
    .map((value) => {
      const level = value <= 0 ? 0 : Math.max(1, Math.round((value / largest) * (LEVELS.length - 1)));
      return LEVELS[level];
    })
    .join('');
}
