import { displayWidth } from './width.ts';

/** Breaks at spaces so that lines fit the width; what follows the first line is indented below its text. */
export function wrapped(head: string, headWidth: number, text: string, width: number): string {
  return head + wrappedLines(text, Math.max(20, width - headWidth)).join(`\n${' '.repeat(headWidth)}`);
}

/** Only a word that alone is too long makes a line that does not fit. */
export function wrappedLines(text: string, room: number): string[] {
  const lines = [''];
  let width = 0;
  for (const word of text.split(' ')) {
    const last = lines.at(-1) ?? '';
    const wordWidth = displayWidth(word);
    const isJoined = last !== '' && width + 1 + wordWidth <= room;
    if (isJoined) lines[lines.length - 1] = `${last} ${word}`;
    else if (last === '') lines[lines.length - 1] = word;
    else lines.push(word);
    width = isJoined ? width + 1 + wordWidth : wordWidth;
  }
  return lines;
}
