/** Reeve's hooks among others in a settings file: `{"hooks": {event: [{"hooks": [handler]}]}}`. Text in, text out. */
import { isDeepStrictEqual } from 'node:util';
import { getNodeValue } from 'jsonc-parser';
import type { Node } from 'jsonc-parser';
import {
  appendItem,
  endOf,
  itemsOf,
  layOut,
  layOutAt,
  propertyOf,
  readJson,
  removeItem,
  splice,
} from './json-edit.ts';
import { isOurCommand } from './target.ts';
import type { Handler } from './target.ts';

/** Where a hook of ours stands: the index of its group in the event, and of its handler in the group. */
export interface OurHook {
  readonly event: string;
  readonly group: number;
  readonly index: number;
  readonly matcher: string | undefined;
  readonly handler: unknown;
  /** Whether another handler stands behind it in its group. */
  readonly isFollowed: boolean;
}

export interface WantedHook {
  readonly event: string;
  readonly handler: Handler;
}

interface Found extends OurHook {
  readonly node: Node;
  readonly groupNode: Node;
}

/** Codex knows the hooks that its user trusts by their position, so those of others must keep theirs. */
export type OnRemoval = 'close-gaps' | 'keep-positions';

/** Why this is no settings file that hooks can be put into; null when it is one. */
export function problemIn(text: string, events: readonly string[]): string | null {
  const reading = readJson(text);
  if (reading.is === 'broken') return `it is not JSON: ${reading.because}`;
  if (reading.root.type !== 'object') return 'it does not hold an object';
  const hooks = propertyOf(reading.root, 'hooks');
  if (hooks === undefined) return null;
  if (hooks.type !== 'object') return '"hooks" in it is not an object';
  const wrong = events.find((event) => (propertyOf(hooks, event)?.type ?? 'array') !== 'array');
  return wrong === undefined ? null : `"hooks.${wrong}" in it is not an array`;
}

export function ourHooks(text: string): readonly OurHook[] {
  return find(text);
}

/** The text with these hooks of ours, each once, and no other. */
export function mergeHooks(text: string | null, hooks: readonly WantedHook[], onRemoval: OnRemoval): string {
  if (text === null) {
    const events = hooks.map(({ event, handler }) => [event, [{ hooks: [handler] }]] as const);
    return `${layOut('', { hooks: Object.fromEntries(events) })}\n`;
  }
  const events = new Set(hooks.map(({ event }) => event));
  const wanted = ourHooks(text).filter(
    (hook, place, all) =>
      events.has(hook.event) && all.findIndex(({ event }) => event === hook.event) === place,
  );
  const isSuperfluous = ({ event, group, index }: OurHook) =>
    !wanted.some((one) => one.event === event && one.group === group && one.index === index);
  const before = removeHooksFrom(text, onRemoval, isSuperfluous);
  if (before === '') return mergeHooks(null, hooks, onRemoval);
  return hooks.reduce(mergeOne, before);
}

/** The text without hooks of ours; empty when nothing is left of it that was not ours. */
export function removeHooksFrom(
  text: string,
  onRemoval: OnRemoval,
  which: (hook: OurHook) => boolean = () => true,
): string {
  // From the end, the reverse of how they came; and each in the text that the one before has left.
  const doomed = find(text).filter(which).length;
  let rest = text;
  for (let done = 0; done < doomed; done += 1) {
    const last = find(rest).findLast(which);
    if (last === undefined) break;
    rest = removeOne(rest, last, onRemoval);
  }
  return rest;
}

function mergeOne(text: string, { event, handler }: WantedHook): string {
  const root = rootOf(text);
  const hooks = propertyOf(root, 'hooks');
  const group = { hooks: [handler] };
  if (hooks === undefined) {
    return appendItem(text, root, `"hooks": ${layOut(text, { [event]: [group] })}`);
  }
  const groups = propertyOf(hooks, event);
  if (groups === undefined) {
    return appendItem(text, hooks, `${JSON.stringify(event)}: ${layOut(text, [group])}`);
  }
  const ours = find(text).find((hook) => hook.event === event);
  if (ours === undefined) return appendItem(text, groups, layOut(text, group));
  if (isDeepStrictEqual(ours.handler, handler)) return text;
  return splice(text, ours.node.offset, endOf(ours.node), layOutAt(text, ours.node, handler));
}

function removeOne(text: string, { node, groupNode }: Found, onRemoval: OnRemoval): string {
  const handlers = propertyOf(groupNode, 'hooks');
  if (handlers === undefined || itemsOf(handlers).length > 1) return removeItem(text, node);
  const isLast = itemsOf(groupNode.parent).at(-1) === groupNode;
  if (isLast || onRemoval === 'close-gaps') return removeItem(text, groupNode);
  return splice(text, handlers.offset, endOf(handlers), '[]');
}

function find(text: string): readonly Found[] {
  const hooks = propertyOf(rootOf(text), 'hooks');
  const found = itemsOf(hooks).flatMap((property) => {
    const event = String(property.children?.[0]?.value);
    const groups = property.children?.[1];
    // Of two properties of one name only the last is in force.
    if (groups?.type !== 'array' || propertyOf(hooks, event) !== groups) return [];
    return itemsOf(groups).flatMap((groupNode, group) => inGroup(event, groupNode, group));
  });
  return found;
}

function inGroup(event: string, groupNode: Node, group: number): readonly Found[] {
  const handlers = propertyOf(groupNode, 'hooks');
  if (handlers?.type !== 'array') return [];
  const matcher: unknown = propertyOf(groupNode, 'matcher')?.value;
  return itemsOf(handlers).flatMap((node, index) => {
    if (!isOurCommand(propertyOf(node, 'command')?.value)) return [];
    // Objects of the parser's have no prototype, and so equal none of ours.
    const handler: unknown = structuredClone(getNodeValue(node));
    const known = typeof matcher === 'string' ? matcher : undefined;
    const isFollowed = index < itemsOf(handlers).length - 1;
    return [{ event, group, index, matcher: known, handler, isFollowed, node, groupNode }];
  });
}

/** Whoever calls has asked `problemIn` before. */
function rootOf(text: string): Node {
  const reading = readJson(text);
  if (reading.is === 'broken') throw new TypeError(`settings that cannot be edited: ${reading.because}`);
  return reading.root;
}
