/** Breaks at spaces so that lines fit the width; what follows the first line is indented below its text. */
export function wrapped(head: string, headWidth: number, text: string, width: number): string {
  const room = Math.max(20, width - headWidth);
  const lines = [''];
  for (const word of text.split(' ')) {
    const last = lines.at(-1) ?? '';
    if (last === '') lines[lines.length - 1] = word;
    else if (last.length + 1 + word.length <= room) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return head + lines.join(`\n${' '.repeat(headWidth)}`);
}
