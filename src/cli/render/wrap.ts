import { displayWidth } from './width.ts';

/** Breaks at spaces so that lines fit the width; what follows the first line is indented below its text. */
export function wrapped(head: string, headWidth: number, text: string, width: number): string {
  return head + wrappedLines(text, Math.max(20, width - headWidth)).join(`\n${' '.repeat(headWidth)}`);
}

/** Only a word that alone is too long makes a line that does not fit. */
export function wrappedLines(text: string, room: number): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const last = lines.at(-1) ?? '';
    if (last === '') lines[lines.length - 1] = word;
    else if (displayWidth(last) + 1 + displayWidth(word) <= room) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
