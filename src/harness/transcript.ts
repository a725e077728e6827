/** Files that a harness writes while they are read: cut in mid-line, of any size, gone at any moment. */
import { closeSync, fstatSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Enough for the first lines, which name the conversation and its directory; a transcript may have a gigabyte. */
const HEAD_BYTES = 256 * 1024;

export type JsonObject = Readonly<Record<string, unknown>>;

/** The whole lines at the beginning of a file, as far as they are JSON objects. Nothing when it cannot be read. */
export function headOf(path: string): readonly JsonObject[] {
  const text = readSome(path, () => 0) ?? '';
  return objectsIn(text.split('\n'));
}

/** The whole lines at the end of a file. The first one that was cut, and the last while it is being written, are not. */
export function tailOf(path: string): readonly JsonObject[] {
  let isCut = false;
  const text = readSome(path, (size) => {
    isCut = size > HEAD_BYTES;
    return Math.max(0, size - HEAD_BYTES);
  });
  return objectsIn((text ?? '').split('\n').slice(isCut ? 1 : 0));
}

/** Null when it is gone or cannot be read: what is not known is not said. */
function readSome(path: string, startOf: (size: number) => number): string | null {
  try {
    const file = openSync(path, 'r');
    try {
      const { size } = fstatSync(file);
      const buffer = Buffer.alloc(Math.min(size, HEAD_BYTES));
      const length = readSync(file, buffer, 0, buffer.length, startOf(size));
      return buffer.toString('utf8', 0, length);
    } finally {
      closeSync(file);
    }
  } catch {
    return null;
  }
}

function objectsIn(lines: readonly string[]): readonly JsonObject[] {
  return lines.flatMap((line) => {
    try {
      const value: unknown = JSON.parse(line);
      return isObject(value) ? [value] : [];
    } catch {
      return [];
    }
  });
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function textField(object: JsonObject | undefined, name: string): string | null {
  const value = object?.[name];
  return typeof value === 'string' && value !== '' ? value : null;
}

/** The names in a directory; none when there is no such directory, or it may not be read. */
export function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

export function changedAtMs(path: string): number {
  try {
    return statSync(path).mtimeMs;
  } catch {
    return 0;
  }
}

/** Files `<root>/<any>/…/<name>`, so many directories deep. */
export function filesAt(root: string, depth: number, isWanted: (name: string) => boolean): readonly string[] {
  if (depth === 0) {
    return namesIn(root)
      .filter(isWanted)
      .map((name) => join(root, name));
  }
  return namesIn(root).flatMap((name) => filesAt(join(root, name), depth - 1, isWanted));
}
