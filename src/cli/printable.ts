/**
 * Text of others on its way to a terminal: arguments, directories, what a harness asks for, what a reviewer wrote. None of
 * it may steer the terminal, or pass for something that Reeve says. All that is printed for people goes through here.
 */

/** These turn the direction of writing, break a line or cannot be seen: with them a text reads as something else. */
const DECEPTIVE = String.raw`\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069\uFEFF`;
const CONTROL = String.raw`\u0000-\u001F\u007F-\u009F`;
/** As render/style.ts makes them. */
const OWN_STYLE = String.raw`\u001B\[(?:1|2|7|22|27|31|32|33|35|36|39|90)m`;

const NOT_PRINTED = new RegExp(`(${OWN_STYLE}|[\\n\\t])|[${CONTROL}${DECEPTIVE}]`, 'gu');
const NOT_IN_A_TEXT = new RegExp(`([\\n\\t])|[${CONTROL}${DECEPTIVE}]`, 'gu');
const NOT_IN_A_LINE = new RegExp(`[${CONTROL}${DECEPTIVE}]`, 'gu');
const NOT_IN_JSON = new RegExp(`[\\u007F-\\u009F${DECEPTIVE}]`, 'gu');

/** What is printed as a whole: its lines and its colours stay, all else that is not text is made visible. */
export function printable(text: string): string {
  return text.replaceAll(NOT_PRINTED, (found, kept?: string) => kept ?? visible(found));
}

/** What others wrote, on lines of its own: those stay, and it cannot colour what comes behind it. */
export function asText(text: string): string {
  return text.replaceAll(NOT_IN_A_TEXT, (found, kept?: string) => kept ?? visible(found));
}

/** A value inside a line: it cannot begin another one. */
export function inLine(text: string): string {
  return text.replaceAll(NOT_IN_A_LINE, visible);
}

/** The same JSON value: what JSON leaves as it is, and a terminal would not, is escaped too. */
export function printableJson(json: string): string {
  return json.replaceAll(NOT_IN_JSON, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function visible(character: string): string {
  const code = character.charCodeAt(0);
  return NAMED[character] ?? (code < 0x100 ? `\\x${hex(code, 2)}` : `\\u${hex(code, 4)}`);
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0');
}
