/** This process's own arguments and environment as the system has them, where Node has lost something of them. */
import { readFileSync } from 'node:fs';
import { REPLACEMENT, textOf } from '../api/raw-bytes.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Null where the system does not tell, or tells of something else: then the bytes are not known. */
export function ownArguments(given: readonly string[]): readonly string[] | null {
  const words = wordsOf('cmdline')?.slice(-given.length) ?? [];
  return words.length === given.length && words.every((word, index) => word.toString() === given[index])
    ? words.map(textOf)
    : null;
}

/** The same environment with its bytes; or the name of a variable whose bytes are not known. */
export function ownEnvironment(
  given: Environment,
):
  | { readonly is: 'known'; readonly environment: Environment }
  | { readonly is: 'lost'; readonly name: string } {
  const own = wordsOf('environ')?.flatMap(entryOf) ?? null;
  const found: Record<string, string | undefined> = {};
  // Not by Object.keys: Node lists a variable whose name it cannot read, but does not find it.
  for (const name of Reflect.ownKeys(given).map(String)) {
    const value = given[name];
    const isWhole = !name.includes(REPLACEMENT) && value?.includes(REPLACEMENT) !== true;
    // What the caller of a library chose is a text of its own, and not what this process was started with.
    const isInherited = process.env[name] === value;
    if (!isWhole && isInherited && own === null) return { is: 'lost', name };
    const entries = isWhole || !isInherited ? [] : (own ?? []).filter((entry) => entry.isRead(name, value));
    if (entries.length === 0) found[name] = value;
    for (const entry of entries) found[entry.name] = entry.value;
  }
  return { is: 'known', environment: found };
}

interface Entry {
  readonly name: string;
  readonly value: string;
  /** Whether Node makes this of it. */
  readonly isRead: (name: string, value: string | undefined) => boolean;
}

function entryOf(bytes: Buffer): readonly Entry[] {
  const at = bytes.indexOf('=');
  if (at < 1) return [];
  const [name, value] = [bytes.subarray(0, at), bytes.subarray(at + 1)];
  return [
    {
      name: textOf(name),
      value: textOf(value),
      isRead: (readName, readValue) =>
        name.toString() === readName && (readValue === undefined || value.toString() === readValue),
    },
  ];
}

function wordsOf(file: 'cmdline' | 'environ'): readonly Buffer[] | null {
  let bytes: Buffer;
  try {
    bytes = readFileSync(`/proc/self/${file}`);
  } catch {
    return null;
  }
  const words: Buffer[] = [];
  for (let from = 0; from < bytes.length;) {
    const end = bytes.indexOf(0, from);
    const to = end === -1 ? bytes.length : end;
    words.push(bytes.subarray(from, to));
    from = to + 1;
  }
  return words;
}
