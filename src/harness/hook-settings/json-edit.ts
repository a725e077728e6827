/**
 * Adds an item to JSON that people wrote, and takes it out again, such that the bytes are those from before.
 *
 * All else in the text, comments and trailing commas included, stays as it is. What tells later whether a container
 * was there before is the white space in front of its closing bracket: one that stood there empty gets its first item
 * right before that bracket; one that came with an item is laid out over several lines.
 */
import { parseTree, printParseErrorCode, visit } from 'jsonc-parser';
import type { Node, ParseError } from 'jsonc-parser';

export type JsonReading = { is: 'read'; root: Node } | { is: 'broken'; because: string };

export function readJson(text: string): JsonReading {
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first !== undefined) {
    const line = text.slice(0, first.offset).split('\n').length;
    return { is: 'broken', because: `${printParseErrorCode(first.error)} in line ${line}` };
  }
  return root === undefined ? { is: 'broken', because: 'there is nothing in it' } : { is: 'read', root };
}

/** Of two properties of one name the last counts, as it does to the harnesses. */
export function propertyOf(node: Node | undefined, name: string): Node | undefined {
  if (node?.type !== 'object') return undefined;
  return node.children?.findLast(({ children }) => children?.[0]?.value === name)?.children?.[1];
}

export function itemsOf(node: Node | undefined): readonly Node[] {
  return node?.children ?? [];
}

/** `item` is JSON, or a name, a colon and JSON, as `layOut` wrote it. */
export function appendItem(text: string, container: Node, item: string): string {
  const children = itemsOf(container);
  const last = children.at(-1);
  const closing = endOf(container) - 1;
  if (last === undefined) return splice(text, closing, closing, indented(text, item, depthOf(container)));
  const separator = eolOf(text) + unitOf(text).repeat(depthOf(container));
  const body = separator + indented(text, item, depthOf(container));
  const comma = commaAfter(text, endOf(last));
  if (comma !== null) {
    // The list ends with a comma, so it shall end with one behind the new item too.
    const at = endOfRemark(text, comma + 1);
    return splice(text, at, at, `${body},`);
  }
  const at = endOfRemark(text, endOf(last));
  return splice(splice(text, at, at, body), endOf(last), endOf(last), ',');
}

/** Takes out an item of an array or a property of an object, and containers that came with it and are empty now. */
export function removeItem(text: string, item: Node): string {
  const container = item.parent;
  if (container === undefined) return withoutRoot(text, item);
  const siblings = itemsOf(container);
  const index = siblings.indexOf(item);
  if (siblings.length === 1) return removeOnly(text, container, item);
  const comma = commaAfter(text, endOf(item));
  if (comma !== null) return cutWithSpace(text, item.offset, comma + 1);
  const previous = siblings[index - 1];
  const before = previous === undefined ? null : commaAfter(text, endOf(previous));
  const without = cutWithSpace(text, item.offset, endOf(item));
  return before === null ? without : splice(without, before, before + 1, '');
}

/** JSON over several lines, in the indentation of the text it is meant for. */
export function layOut(text: string, value: unknown): string {
  return JSON.stringify(value, null, unitOf(text)).replaceAll('\n', eolOf(text));
}

/** The same, to stand where that node is. */
export function layOutAt(text: string, node: Node, value: unknown): string {
  return indented(text, layOut(text, value), depthOf(node) - 1);
}

export function splice(text: string, from: number, to: number, replacement: string): string {
  return text.slice(0, from) + replacement + text.slice(to);
}

export function endOf(node: Node): number {
  return node.offset + node.length;
}

function removeOnly(text: string, container: Node, item: Node): string {
  const inside = text.slice(container.offset + 1, item.offset);
  const comma = commaAfter(text, endOf(item));
  const end = comma === null ? endOf(item) : comma + 1;
  const after = text.slice(end, endOf(container) - 1);
  // Somebody's formatter may have put all on one line; then nothing tells, and an empty container is no loss.
  const isAsWritten = text.slice(item.offset, end).includes('\n');
  const wasThere = (after === '' && isAsWritten) || inside.trim() !== '' || after.trim() !== '';
  if (wasThere) return splice(text, item.offset, end, '');
  const outer = container.parent?.type === 'property' ? container.parent : container;
  return removeItem(text, outer);
}

/** Comments around it make the text more than what came with the item. */
function withoutRoot(text: string, root: Node): string {
  const around = splice(text, root.offset, endOf(root), '');
  return around.trim() === '' ? '' : splice(text, root.offset, endOf(root), '{}');
}

/** Also cuts the white space in front, except for the end of line that a comment there needs. */
function cutWithSpace(text: string, from: number, to: number): string {
  const start = from - (/\s*$/u.exec(text.slice(0, from))?.[0].length ?? 0);
  let needsEnd = false;
  visit(text, {
    onComment: (offset, length) => {
      if (offset + length === start && text.startsWith('//', offset)) needsEnd = true;
    },
  });
  const hasEnd = /^[ \t]*(?:\r?\n|$)/u.test(text.slice(to));
  return splice(text, start, to, needsEnd && !hasEnd ? eolOf(text) : '');
}

/** Where the comma behind an item is, over white space and comments; null when the list ends without one. */
function commaAfter(text: string, from: number): number | null {
  const trivia = /(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/uy;
  trivia.lastIndex = from;
  trivia.exec(text);
  return text[trivia.lastIndex] === ',' ? trivia.lastIndex : null;
}

/** A comment on the rest of the line belongs to what is in front of it. */
function endOfRemark(text: string, from: number): number {
  const remark = /(?:[ \t]*(?:\/\/[^\r\n]*|\/\*[\s\S]*?\*\/))*/uy;
  remark.lastIndex = from;
  remark.exec(text);
  return remark.lastIndex;
}

/** How deep the items of a container stand. */
function depthOf(container: Node): number {
  let depth = 1;
  for (let node = container.parent; node !== undefined; node = node.parent) {
    if (node.type !== 'property') depth += 1;
  }
  return depth;
}

function indented(text: string, item: string, depth: number): string {
  const eol = eolOf(text);
  return item.replaceAll(eol, eol + unitOf(text).repeat(depth));
}

function eolOf(text: string): string {
  return text.includes('\r\n') ? '\r\n' : '\n';
}

function unitOf(text: string): string {
  return /^(\t|[ ]{1,8})["[{]/mu.exec(text)?.[1] ?? '  ';
}
