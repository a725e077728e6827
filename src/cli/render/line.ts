/**
 * A line as spans of text, each with its colour. Whatever is in the text, what comes out has no control characters
 * but the colours', and fits the width: colours are put on last, for they have no width.
 */
import { displayWidth, firstColumns, plainText, reachable } from './width.ts';

export type Paint = (text: string) => string;

export interface Span {
  readonly text: string;
  readonly paint?: Paint | undefined;
}

export type Line = readonly Span[];

export function span(text: string, paint?: Paint): Span {
  return { text, paint };
}

/** Of a text that is longer than the line, no more is looked at than may be seen. */
export function painted(line: Line, width: number): string {
  if (width < 1) return '';
  const spans = line.map(({ text, paint = asItIs }) => {
    const head = reachable(text, width);
    return { clean: plainText(head), paint, isWhole: head.length === text.length };
  });
  const isFittingAll =
    spans.every(({ isWhole }) => isWhole) && displayWidth(spans.map(({ clean }) => clean).join('')) <= width;
  // Room for the ellipsis, where one will be needed.
  let left = isFittingAll ? width : width - 1;
  let out = '';
  for (const { clean, paint, isWhole } of spans) {
    const isFitting = isWhole && displayWidth(clean) <= left;
    const shown = isFitting ? clean : `${firstColumns(clean, left)}…`;
    if (shown !== '') out += paint(shown);
    if (!isFitting) break;
    left -= displayWidth(clean);
  }
  return out;
}

/** Without colours; for a line that is painted as a whole. */
export function lineText(line: Line): string {
  return line.map(({ text }) => plainText(text)).join('');
}

export function lineWidth(line: Line): number {
  return displayWidth(lineText(line));
}

function asItIs(text: string): string {
  return text;
}
