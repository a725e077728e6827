/**
 * A line as spans of text, each with its colour. Whatever is in the text, what comes out has no control characters
 * but the colours', and fits the width: colours are put on last, for they have no width.
 */
import { displayWidth, firstColumns, plainText } from './width.ts';

export type Paint = (text: string) => string;

export interface Span {
  readonly text: string;
  readonly paint?: Paint | undefined;
}

export type Line = readonly Span[];

export function span(text: string, paint?: Paint): Span {
  return { text, paint };
}

export function painted(line: Line, width: number): string {
  if (width < 1) return '';
  // Room for the ellipsis, where one will be needed.
  let left = lineWidth(line) > width ? width - 1 : width;
  let out = '';
  for (const { text, paint = asItIs } of line) {
    const clean = plainText(text);
    const isFitting = displayWidth(clean) <= left;
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
