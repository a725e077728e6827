/**
 * Text of others on its way to a terminal: arguments, paths, what a harness asks for, what a reviewer wrote. None of
 * it may steer the terminal, or pass for something that Reeve says. All that is printed for people goes through here, a
 * line at a time: then whatever is inside of a line cannot begin another one.
 */
import { OWN_STYLE, styled } from './render/style.ts';

/**
 * These turn the direction of writing, break a line or cannot be seen: with them a text reads as something else. The
 * joiner and the non-joiner are left: pictures and some scripts cannot be written without them.
 */
export const DECEPTIVE = String.raw`\u00AD\u034F\u061C\u180E\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\u3164\uFEFF\uFFA0\uFFF9-\uFFFB\u{E0000}-\u{E007F}`;
const CONTROL = String.raw`\u0000-\u001F\u007F-\u009F`;

const NOT_IN_A_PRINTED_LINE = new RegExp(`(${OWN_STYLE}|\\t)|[${CONTROL}${DECEPTIVE}]`, 'gu');
const NOT_IN_A_LINE = new RegExp(`[${CONTROL}${DECEPTIVE}]`, 'gu');
const NOT_IN_JSON = new RegExp(`[\\u007F-\\u009F${DECEPTIVE}]`, 'gu');

/** One line as a whole: our colours and its tabs stay, all else that is not text is made visible. */
export function printableLine(line: string): string {
  return styled(line.replaceAll(NOT_IN_A_PRINTED_LINE, (found, kept?: string) => kept ?? visible(found)));
}

/** A value inside a line, before that is laid out. */
export function inLine(text: string): string {
  return text.replaceAll(NOT_IN_A_LINE, visible);
}

/** The same JSON value: what JSON leaves as it is, and a terminal would not, is escaped too. */
export function printableJson(json: string): string {
  return json.replaceAll(NOT_IN_JSON, (found) =>
    // Each half of a character that takes two.
    Array.from({ length: found.length }, (_, index) => `\\u${hex(found.charCodeAt(index), 4)}`).join(''),
  );
}

const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function visible(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code > 0xffff) return `\\u{${hex(code, 5)}}`;
  return NAMED[character] ?? (code < 0x100 ? `\\x${hex(code, 2)}` : `\\u${hex(code, 4)}`);
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0');
}
