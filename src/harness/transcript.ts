/**
 * Files that a harness writes while they are read: cut in mid-line, of any size, gone at any moment. All of these throw
 * when the machine fails to read, for then nothing is known.
 */
import { closeSync, constants, fstatSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createLineScanner } from './line-scanner.ts';

/** Enough for the first lines, which name the conversation and its directory; a transcript may have a gigabyte. */
const HEAD_BYTES = 256 * 1024;
/** Settings and records that are read as a whole have a few kilobytes. */
const MAX_WHOLE_BYTES = 4 * 1024 * 1024;

export type JsonObject = Readonly<Record<string, unknown>>;

/** The whole lines at the beginning of a file, as far as they are JSON objects. Nothing when it cannot be read. */
export function headOf(path: string): readonly JsonObject[] {
  return objectsIn((headTextOf(path) ?? '').split('\n'));
}

export function headTextOf(path: string): string | null {
  return readSome(path, (size) => ({ start: 0, length: Math.min(size, HEAD_BYTES) }));
}

/** The whole lines at the end of a file. The first one that was cut, and the last while it is being written, are not. */
export function tailOf(path: string): readonly JsonObject[] {
  let isCut = false;
  const text = readSome(path, (size) => {
    isCut = size > HEAD_BYTES;
    return { start: Math.max(0, size - HEAD_BYTES), length: Math.min(size, HEAD_BYTES) };
  });
  return objectsIn((text ?? '').split('\n').slice(isCut ? 1 : 0));
}

/** Null when it cannot be read, or is far larger than anything that would be. */
export function wholeTextOf(path: string): string | null {
  return readSome(path, (size) => (size > MAX_WHOLE_BYTES ? null : { start: 0, length: size }));
}

/** A file that is one JSON object; null when it is not. */
export function objectAt(path: string): JsonObject | null {
  return objectsIn([wholeTextOf(path) ?? ''])[0] ?? null;
}

/** A line with what a person called a conversation has some hundred bytes; others are as long as what a tool printed. */
const MAX_LINE_BYTES = 64 * 1024;
const READ_BYTES = 1024 * 1024;

/** The short lines in which this field stands, of the whole file, which may be large. Nothing when it cannot be read. */
export function objectsWith(path: string, field: string): readonly JsonObject[] {
  const scanner = createLineScanner([`"${field}"`], MAX_LINE_BYTES, false);
  const lines: string[] = [];
  for (let start = 0; ; start += READ_BYTES) {
    const bytes = readBytes(path, (size) => ({
      start,
      length: Math.max(0, Math.min(READ_BYTES, size - start)),
    }));
    if (bytes === null || bytes.length === 0) return objectsIn(lines);
    scanner.take(bytes, (line) => lines.push(line));
  }
}

interface Range {
  readonly start: number;
  readonly length: number;
}

/**
 * Null when it is gone, may not be read, or is no plain file. Opened without waiting, for a pipe in its place would hold
 * whoever opens it.
 */
function readSome(path: string, rangeOf: (size: number) => Range | null): string | null {
  return readBytes(path, rangeOf)?.toString('utf8') ?? null;
}

function readBytes(path: string, rangeOf: (size: number) => Range | null): Buffer | null {
  try {
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const status = fstatSync(file);
      const range = status.isFile() ? rangeOf(status.size) : null;
      if (range === null) return null;
      const buffer = Buffer.alloc(range.length);
      const length = readSync(file, buffer, 0, range.length, range.start);
      return buffer.subarray(0, length);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    throwFault(error);
    return null;
  }
}

/** A disk that does not answer, or want of handles or memory: what is there is not known, so it is not "nothing". */
const FAULTS = new Set(['EIO', 'EMFILE', 'ENFILE', 'ENOMEM']);

function throwFault(error: unknown): void {
  if (error instanceof Error && 'code' in error && FAULTS.has(String(error.code))) throw error;
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

export function textField(object: JsonObject | null | undefined, name: string): string | null {
  const value = object?.[name];
  return typeof value === 'string' && value !== '' ? value : null;
}

/** The first of these that says it. */
export function firstText(lines: readonly JsonObject[], name: string): string | null {
  return lines.map((line) => textField(line, name)).find((text) => text !== null) ?? null;
}

/** The names in a directory; none when there is no such directory, or it may not be read. */
export function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    throwFault(error);
    return [];
  }
}

/** Null when there is no such file, or something else is in its place. */
export function changedAtMs(path: string): number | null {
  try {
    const status = statSync(path);
    return status.isFile() ? status.mtimeMs : null;
  } catch (error) {
    throwFault(error);
    return null;
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
