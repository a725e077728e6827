/** How many columns of a terminal a text takes, and cutting and padding by that, never inside a character. */

import { DECEPTIVE } from '../printable.ts';

/** East Asian wide and full-width characters; JavaScript's regular expressions know the emoji, but not these. */
const WIDE =
  /[\u1100-\u115F\u2329\u232A\u2E80-\u303E\u3041-\uA4CF\uA960-\uA97C\uAC00-\uD7A3\uF900-\uFAFF\uFE10-\uFE19\uFE30-\uFE6F\uFF01-\uFF60\uFFE0-\uFFE6\u{16FE0}-\u{18DFF}\u{1AFF0}-\u{1B2FF}\u{1F200}-\u{1F265}\u{20000}-\u{3FFFD}]|\p{Emoji_Presentation}/u;
/** Marks above and below, joiners, and the vowels and final consonants of Hangul written in parts. */
const WITHOUT_WIDTH = /[\p{Mn}\p{Me}\p{Cf}\u1160-\u11FF\uD7B0-\uD7FB]/u;
/** A picture of several characters: with a joiner, a skin tone or the emoji selector, and flags of two letters. */
const JOINED_PICTURE =
  /\p{Extended_Pictographic}(?:\u200D|\uFE0F|\p{Emoji_Modifier})|\u20E3|^\p{Regional_Indicator}{2}/u;
/**
 * One column each, whatever stands beside them here: ASCII, the letters of Latin, dashes and arrows, lines and boxes, ticks
 * and crosses. Nearly all that is ever printed is made of these, and the segmenter takes a hundred times as long.
 */
const ONE_COLUMN_EACH =
  /^[\u0020-\u007E\u00A1-\u00AC\u00AE-\u02FF\u2010-\u2027\u2030-\u205E\u2190-\u21FF\u2500-\u25FC\u2713-\u2718]*$/;

const NOT_SEEN = new RegExp(`[${DECEPTIVE}]`, 'gu');

/** Made when it is first needed, for that takes as long as all else that `reeve ls` does. */
let segmenter: Intl.Segmenter | null = null;
/** The segmenter takes a time that grows with the square of what it is given, so it is given no more than this at once. */
const MAX_SEGMENTED_UNITS = 512;
/**
 * How much of a text is looked at for a column of the screen. The longest pictures that are in use have 15 code units in
 * two columns. A text with more marks than this on its letters is cut as if it were wider.
 */
const MAX_UNITS_A_COLUMN = 32;

/** Takes as long as the text is: a text of unknown length is cut first. */
export function displayWidth(text: string): number {
  if (ONE_COLUMN_EACH.test(text)) return text.length;
  let width = 0;
  for (const segment of segmentsOf(text)) width += segmentWidth(segment);
  return width;
}

/** Shortened to fit, with an ellipsis where something is missing. */
export function cut(text: string, width: number): string {
  const head = reachable(text, width);
  if (head.length === text.length && displayWidth(head) <= width) return text;
  return width < 1 ? '' : `${firstColumns(head, width - 1)}…`;
}

/** The same for a text of which the end says most, such as a path. */
export function cutStart(text: string, width: number): string {
  const tail = lastUnits(text, maxUnits(width));
  if (tail.length === text.length && displayWidth(tail) <= width) return text;
  if (width < 1) return '';
  if (ONE_COLUMN_EACH.test(tail)) return `…${width === 1 ? '' : tail.slice(1 - width)}`;
  const segments = [...segmentsOf(tail)];
  // Its first character may have begun before it.
  if (tail.length < text.length) segments.shift();
  const end = beginning(segments.toReversed(), width - 1);
  return `…${end.toReversed().join('')}`;
}

/** As many whole characters as fit. */
export function firstColumns(text: string, width: number): string {
  const head = reachable(text, width);
  // Behind what was looked at there may be a mark on its last character, but that is far beyond the width.
  if (ONE_COLUMN_EACH.test(head)) return head.slice(0, Math.max(0, width));
  const segments = beginning(segmentsOf(head), width);
  // A character that goes on behind what was looked at is not whole.
  const isAll = head.length < text.length && lengthOf(segments) === head.length;
  return (isAll ? segments.slice(0, -1) : segments).join('');
}

/** As much of the beginning of a text as may be seen in so many columns: all else of it need not be looked at. */
export function reachable(text: string, width: number): string {
  return firstUnits(text, maxUnits(width));
}

/** Any text of any length, made harmless and shortened to fit. */
export function plainCut(text: string, width: number): string {
  const head = reachable(text, width);
  const plain = plainText(head);
  if (head.length === text.length) return cut(plain, width);
  return width < 1 ? '' : `${firstColumns(plain, width - 1)}…`;
}

export function padded(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - displayWidth(text)));
}

/**
 * Control characters would move the cursor, ring or worse; line breaks and tabs would break a table; and characters
 * that turn the direction of writing, or cannot be seen, would make a line read as something else.
 */
export function plainText(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').replaceAll(NOT_SEEN, '');
}

function beginning(segments: Iterable<string>, width: number): string[] {
  const shown: string[] = [];
  let left = width;
  for (const segment of segments) {
    left -= segmentWidth(segment);
    if (left < 0) break;
    shown.push(segment);
  }
  return shown;
}

/** Piece by piece, as far as somebody asks. Each piece begins where a character does, so none is broken. */
function* segmentsOf(text: string): Generator<string> {
  let from = 0;
  while (from < text.length) {
    const piece = firstUnits(text.slice(from, from + MAX_SEGMENTED_UNITS + 1), MAX_SEGMENTED_UNITS);
    segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' });
    const segments = Array.from(segmenter.segment(piece), ({ segment }) => segment);
    const isEnd = from + piece.length === text.length;
    // The last one may go on in the next piece; a character as long as a piece is broken nevertheless.
    if (!isEnd && segments.length > 1) segments.pop();
    yield* segments;
    from += lengthOf(segments);
  }
}

function lengthOf(segments: readonly string[]): number {
  return segments.reduce((sum, segment) => sum + segment.length, 0);
}

/** With room for the character that no longer fits. */
function maxUnits(width: number): number {
  return (Math.max(0, width) + 1) * MAX_UNITS_A_COLUMN;
}

/** Never half of a surrogate pair. */
function firstUnits(text: string, units: number): string {
  if (text.length <= units) return text;
  return text.slice(0, isPairAt(text, units) ? units - 1 : units);
}

function lastUnits(text: string, units: number): string {
  const from = text.length - units;
  if (from <= 0) return text;
  return text.slice(isPairAt(text, from) ? from + 1 : from);
}

/** Whether the two code units around this place are one character. */
function isPairAt(text: string, at: number): boolean {
  return (text.codePointAt(at - 1) ?? 0) > 0xffff;
}

function segmentWidth(segment: string): number {
  if (JOINED_PICTURE.test(segment)) return 2;
  return [...segment].reduce(
    (sum, character) => sum + (WIDE.test(character) ? 2 : WITHOUT_WIDTH.test(character) ? 0 : 1),
    0,
  );
}
