/** How many columns of a terminal a text takes, and cutting and padding by that, never inside a character. */

/** East Asian wide and full-width characters; JavaScript's regular expressions know the emoji, but not these. */
const WIDE =
  /[\u1100-\u115F\u2329\u232A\u2E80-\u303E\u3041-\uA4CF\uA960-\uA97C\uAC00-\uD7A3\uF900-\uFAFF\uFE10-\uFE19\uFE30-\uFE6F\uFF01-\uFF60\uFFE0-\uFFE6\u{16FE0}-\u{18DFF}\u{1AFF0}-\u{1B2FF}\u{1F200}-\u{1F265}\u{20000}-\u{3FFFD}]|\p{Emoji_Presentation}/u;
/** Marks above and below, joiners, and the vowels and final consonants of Hangul written in parts. */
const WITHOUT_WIDTH = /[\p{Mn}\p{Me}\p{Cf}\u1160-\u11FF\uD7B0-\uD7FB]/u;
/** A picture of several characters: with a joiner, a skin tone or the emoji selector, and flags of two letters. */
const JOINED_PICTURE =
  /\p{Extended_Pictographic}(?:\u200D|\uFE0F|\p{Emoji_Modifier})|\u20E3|^\p{Regional_Indicator}{2}/u;
const PLAIN_ASCII = /^[\u0020-\u007E]*$/;

const characters = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

export function displayWidth(text: string): number {
  if (PLAIN_ASCII.test(text)) return text.length;
  return segmentsOf(text).reduce((sum, segment) => sum + segmentWidth(segment), 0);
}

/** Shortened to fit, with an ellipsis where something is missing. */
export function cut(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  return width < 1 ? '' : `${firstColumns(text, width - 1)}…`;
}

/** The same for a text of which the end says most, such as a path. */
export function cutStart(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  if (width < 1) return '';
  const end = beginning(segmentsOf(text).toReversed(), width - 1);
  return `…${end.toReversed().join('')}`;
}

/** As many whole characters as fit. */
export function firstColumns(text: string, width: number): string {
  return beginning(segmentsOf(text), width).join('');
}

export function padded(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - displayWidth(text)));
}

/**
 * Control characters would move the cursor, ring or worse; line breaks and tabs would break a table; and characters
 * that turn the direction of writing would make a line read as something else.
 */
export function plainText(text: string): string {
  return text
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .replaceAll(/[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069\uFEFF]/g, '');
}

function beginning(segments: readonly string[], width: number): string[] {
  let left = width;
  const end = segments.findIndex((segment) => (left -= segmentWidth(segment)) < 0);
  return end === -1 ? [...segments] : segments.slice(0, end);
}

function segmentsOf(text: string): string[] {
  return Array.from(characters.segment(text), ({ segment }) => segment);
}

function segmentWidth(segment: string): number {
  if (JOINED_PICTURE.test(segment)) return 2;
  return [...segment].reduce(
    (sum, character) => sum + (WIDE.test(character) ? 2 : WITHOUT_WIDTH.test(character) ? 0 : 1),
    0,
  );
}
