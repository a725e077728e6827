/**
 * Codex runs a hook only if config.toml holds its hash under its position. Ours are tables in a block at the end of the
 * file. Each bears our mark, for Codex edits the file too and may put a table of its own between them.
 */
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { parse } from 'smol-toml';
import type { OurHook } from './json-hooks.ts';

export interface Trust {
  readonly key: string;
  readonly hash: string;
}

export type TrustEdit = { is: 'edited'; text: string } | { is: 'refused'; because: string };

const FIRST_LINE =
  '# Reeve: its hooks in hooks.json are trusted. `reeve hooks remove codex` takes this away.';
const LAST_LINE = '# Reeve: end';
const MARK = '# reeve';

/** Of these Codex drops a matcher before it takes the hash. */
const UNMATCHED: ReadonlySet<string> = new Set(['Stop', 'UserPromptSubmit']);

export function trustOf(hooksPath: string, { event, group, index, matcher, handler }: OurHook): Trust {
  const name = event.replaceAll(/(?<=[a-z])[A-Z]/gu, (letter) => `_${letter}`).toLowerCase();
  const isMatched = matcher !== undefined && !UNMATCHED.has(event);
  // Keys in alphabetical order, as Codex sorts them before it takes the hash.
  const hashed = {
    event_name: name,
    hooks: [{ async: false, ...sorted(handler) }],
    ...(isMatched ? { matcher } : {}),
  };
  const hash = createHash('sha256').update(JSON.stringify(hashed)).digest('hex');
  return { key: `${hooksPath}:${name}:${group}:${index}`, hash: `sha256:${hash}` };
}

/** Why this is no TOML; null when it is. */
export function problemInToml(text: string): string | null {
  const parsed = tables(text);
  return typeof parsed === 'string' ? `it is not TOML: ${parsed}` : null;
}

/** Which of these Codex would find there. */
export function isTrusted(text: string, { key, hash }: Trust): boolean {
  return stateIn(text, key)?.['trusted_hash'] === hash;
}

/** Whether its user switched this hook off in Codex, which is kept beside the hash. */
export function isSwitchedOff(text: string, { key }: Trust): boolean {
  return stateIn(text, key)?.['enabled'] === false;
}

export function addTrust(text: string, wanted: readonly Trust[]): TrustEdit {
  const { rest, taken } = takeOut(text);
  const other = wanted.find((trust) => stateIn(rest, trust.key) !== undefined && !isTrusted(rest, trust));
  if (other !== undefined) {
    return {
      is: 'refused',
      because: `it already holds another entry [hooks.state.${JSON.stringify(other.key)}]`,
    };
  }
  const missing = wanted.filter((trust) => !isTrusted(rest, trust)).map(tableOf);
  if (isDeepStrictEqual(new Set(taken), new Set(missing)) && taken.length === missing.length) {
    return { is: 'edited', text };
  }
  if (missing.length === 0) return { is: 'edited', text: rest };
  const eol = eolOf(rest);
  const lines = [FIRST_LINE, ...missing.flatMap((entry) => entry.split('\n')), LAST_LINE];
  // Exactly one end of line in front of the block is ours, whether or not the file ended with one.
  const next = (rest === '' ? '' : rest + eol) + lines.map((line) => line + eol).join('');
  const parsed = tables(next);
  if (typeof parsed === 'string')
    return { is: 'refused', because: `it takes no tables under hooks.state: ${parsed}` };
  return { is: 'edited', text: next };
}

export function removeTrust(text: string): string {
  return takeOut(text).rest;
}

function tableOf({ key, hash }: Trust): string {
  return `[hooks.state.${JSON.stringify(key)}] ${MARK}\ntrusted_hash = ${JSON.stringify(hash)}`;
}

/** The text without our lines, and the tables that were among them. */
function takeOut(text: string): { readonly rest: string; readonly taken: readonly string[] } {
  const lines = text.split(/(?<=\n)/u);
  const kept: string[] = [];
  const taken: string[] = [];
  let inOurs = false;
  let start = -1;
  for (const line of lines) {
    const content = line.trimEnd();
    if (content === FIRST_LINE) start = kept.length;
    else if (content.startsWith('[hooks.state.') && content.endsWith(`] ${MARK}`)) {
      inOurs = true;
      taken.push(content);
    } else if (inOurs && /^\s*[\w"'.-]+\s*=/u.test(content)) {
      // What Codex added to our table goes with it, and is no reason to write the table again.
      if (content.startsWith('trusted_hash')) taken.push(`${taken.pop()}\n${content}`);
    } else {
      inOurs = false;
      if (content !== LAST_LINE) kept.push(line);
    }
  }
  return { rest: start === -1 ? kept.join('') : joined(kept, start), taken };
}

/** Takes back the end of line that came with the block, unless what now follows needs it. */
function joined(kept: readonly string[], start: number): string {
  const before = kept.slice(0, start).join('');
  const after = kept.slice(start).join('');
  const bare = before.replace(/\r?\n$/u, '');
  return after.trim() === '' || bare.endsWith('\n') || bare === '' ? bare + after : before + after;
}

function stateIn(text: string, key: string): Readonly<Record<string, unknown>> | undefined {
  const parsed = tables(text);
  if (typeof parsed === 'string') return undefined;
  return table(table(table(parsed['hooks'])?.['state'])?.[key]);
}

function table(value: unknown): Readonly<Record<string, unknown>> | undefined {
  const isTable = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isTable ? Object.fromEntries(Object.entries(value)) : undefined;
}

/** What the text says, or why it says nothing. */
function tables(text: string): Readonly<Record<string, unknown>> | string {
  try {
    return parse(text, { integersAsBigInt: 'asNeeded' });
  } catch (error) {
    return (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? 'unknown';
  }
}

function sorted(value: unknown): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(table(value) ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function eolOf(text: string): string {
  return text.includes('\r\n') ? '\r\n' : '\n';
}
