/**
 * Cuts bytes into lines and gives back as text those in which one of the wanted fields stands. A field's name in quotes
 * cannot stand in a string of JSON, where its quotes are escaped, so what a tool printed is not taken for one.
 */

const NEWLINE = 0x0a;

export interface LineScanner {
  /** Takes the next bytes, which are free again behind it, and hands on the wanted ones of the lines they complete. */
  take(bytes: Buffer, handOn: (line: string) => void): void;
  /** How many bytes will never be needed again: all whole lines, and what was passed over of a long one. */
  consumed(): number;
  isInLongLine(): boolean;
}

export function createLineScanner(
  needles: readonly string[],
  maxLineBytes: number,
  beginsInLongLine: boolean,
): LineScanner {
  const wanted = needles.map((needle) => Buffer.from(needle));
  let buffer = Buffer.alloc(0);
  /** Of the line that is not whole yet, at the beginning of the buffer. */
  let pending = 0;
  let consumed = 0;
  let isInLongLine = beginsInLongLine;

  /** All whole lines in the first so many bytes; the number of bytes that they are. */
  const scan = (end: number, handOn: (line: string) => void): number => {
    const next = wanted.map(() => -1);
    let start = 0;
    for (
      let newline = buffer.indexOf(NEWLINE, pending);
      newline !== -1 && newline < end;
      newline = buffer.indexOf(NEWLINE, start)
    ) {
      if (isInLongLine) isInLongLine = false;
      else if (hasNeedle(buffer, wanted, next, start, newline))
        handOn(buffer.toString('utf8', start, newline));
      start = newline + 1;
    }
    return start;
  };
  return {
    take(bytes, handOn) {
      const end = pending + bytes.length;
      if (buffer.length < end) {
        // By more than is needed, for what is left behind at every growth is collected late.
        const grown = Buffer.alloc(Math.max(end, 2 * bytes.length, 2 * buffer.length));
        buffer.copy(grown, 0, 0, pending);
        buffer = grown;
      }
      bytes.copy(buffer, pending);
      const whole = scan(end, handOn);
      consumed += whole;
      pending = end - whole;
      if (isInLongLine || pending > maxLineBytes) {
        isInLongLine = true;
        consumed += pending;
        pending = 0;
      } else if (whole > 0) buffer.copyWithin(0, whole, end);
    },
    consumed: () => consumed,
    isInLongLine: () => isInLongLine,
  };
}

/** `next` remembers where each was found last, so that no byte is looked at twice for it. */
function hasNeedle(
  buffer: Buffer,
  wanted: readonly Buffer[],
  next: number[],
  start: number,
  end: number,
): boolean {
  let isThere = false;
  for (const [index, needle] of wanted.entries()) {
    if ((next[index] ?? -1) < start) {
      const found = buffer.indexOf(needle, start);
      next[index] = found === -1 ? Number.POSITIVE_INFINITY : found;
    }
    if ((next[index] ?? 0) < end) isThere = true;
  }
  return isThere;
}
