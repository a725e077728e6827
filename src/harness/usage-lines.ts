/**
 * Reads what is new in a transcript that is a line a record, of any size, while its harness writes to it.
 *
 * A position is the file's identity, the offset behind the last whole line, and a mark: a digest of the bytes right
 * before that offset. Another identity, a shorter file or another mark mean that it is not what was read; then it is
 * read from its beginning, with nothing carried. Lines are told by their bytes: only those that have one of the wanted
 * fields become text and are parsed. A line longer than any that matters is passed over as it is read, also when that
 * takes several calls.
 */
import { createHash } from 'node:crypto';
import { constants, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { larger } from '../lifecycle/usage.ts';
import type { UsagePosition, UsageRecord } from '../lifecycle/usage.ts';
import { createLineScanner } from './line-scanner.ts';
import type { LineScanner } from './line-scanner.ts';
import { isObject } from './transcript.ts';
import type { AboutFile, LineFormat, UsagePiece, UsageReader, UsageRequest } from './usage.ts';

/** Large enough that asking for it costs nothing beside parsing it; small enough that others get a turn in between. */
const CHUNK_BYTES = 512 * 1024;
/** Most of the time a few lines are new. */
const MIN_CHUNK_BYTES = 16 * 1024;
/** An answer has at most some hundred kilobytes; what is longer carries the output of a tool, or a whole history. */
const MAX_LINE_BYTES = 4 * 1024 * 1024;
/** Each piece is written durably, which takes as long as reading megabytes; and all of it is in memory until then. */
const PIECE_BYTES = 32 * 1024 * 1024;
const PIECE_RECORDS = 500;
/** Lines differ in times and ids within so many bytes of their ends. */
const MARK_BYTES = 256;

interface State<S> {
  readonly mark: string;
  /** Whether the offset is in the middle of a line that is passed over. */
  readonly isInLongLine: boolean;
  readonly carried: S;
}

export function readerOfLines<S>(format: LineFormat<S>, files: UsageReader['files']): UsageReader {
  return { files, sign: signOf, read: (request) => readLines(format, request) };
}

/** Throws when something else than a plain file is there: to open a pipe would wait for somebody to write to it. */
export function signOf(path: string): string | null {
  const status = statSync(path, { bigint: true, throwIfNoEntry: false });
  if (status === undefined) return null;
  if (!status.isFile()) throw new Error(`${path} is no plain file.`);
  return `${status.dev}:${status.ino}:${status.size}:${status.mtimeNs}`;
}

async function* readLines<S>(format: LineFormat<S>, request: UsageRequest): AsyncGenerator<UsagePiece> {
  const file = await open(request.path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const status = await file.stat();
    if (!status.isFile()) throw new Error(`${request.path} is no plain file.`);
    const identity = `${status.dev}:${status.ino}`;
    const about: AboutFile = { path: request.path, changedAtMs: Math.round(status.mtimeMs) };
    const before = await stateAt<S>(file, identity, request.from);
    const start = before?.offset ?? 0;
    const scanner = createLineScanner(format.needles, MAX_LINE_BYTES, before?.state.isInLongLine ?? false);
    const range: Range = { start, size: status.size, maxBytes: request.maxBytes };
    let { carried } = before?.state ?? { carried: format.begin };
    for await (const { records, bytes } of pieces(file, range, scanner, (line) => {
      const taken = takeLine(format, line, carried, about);
      ({ carried } = taken);
      return taken.records;
    })) {
      const offset = start + scanner.consumed();
      const mark = await markAt(file, offset);
      const state: State<S> = { mark, isInLongLine: scanner.isInLongLine(), carried };
      yield { records, bytes, position: { identity, offset, state: JSON.stringify(state) } };
    }
  } finally {
    await file.close();
  }
}

interface Read {
  readonly records: readonly UsageRecord[];
  readonly bytes: number;
}

/** The records of so many chunks as make a piece. What moved nothing on is no piece. */
async function* pieces(
  file: FileHandle,
  range: Range,
  scanner: LineScanner,
  take: (line: string) => readonly UsageRecord[],
): AsyncGenerator<Read> {
  let records: UsageRecord[] = [];
  let [length, bytes, told] = [0, 0, 0];
  for await (const chunk of chunksAhead(file, range)) {
    length += chunk.length;
    bytes += chunk.length;
    scanner.take(chunk, (line) => {
      for (const record of take(line)) add(records, record);
    });
    const isEnd = chunk.length === 0;
    const hasMoved = scanner.consumed() > told;
    // Never cut before something was told: whoever asks again with as little to spend would be where it was.
    const isCut = hasMoved && length >= range.maxBytes;
    const isFull = hasMoved && (bytes >= PIECE_BYTES || records.length >= PIECE_RECORDS);
    if (!isEnd && !isCut && !isFull) continue;
    if (hasMoved) yield { records, bytes };
    if (isEnd || isCut) return;
    told = scanner.consumed();
    [records, bytes] = [[], 0];
  }
}

interface Range {
  readonly start: number;
  readonly size: number;
  readonly maxBytes: number;
}

/** What there is, an empty one at the end. While one is worked on the next is read, unless it may not be wanted. */
async function* chunksAhead(file: FileHandle, { start, size, maxBytes }: Range): AsyncGenerator<Buffer> {
  const buffers: (Buffer | undefined)[] = [];
  let turn = 0;
  const readAt = async (at: number): Promise<Buffer> => {
    const length = Math.min(CHUNK_BYTES, Math.max(MIN_CHUNK_BYTES, size - at));
    turn = 1 - turn;
    const buffer = (buffers[turn] ??= Buffer.alloc(length));
    const { bytesRead } = await file.read(buffer, 0, Math.min(length, buffer.length), at);
    return buffer.subarray(0, bytesRead);
  };
  let next: Promise<Buffer> | null = null;
  for (let at = start; ;) {
    const chunk: Buffer = await (next ?? readAt(at));
    at += chunk.length;
    next = chunk.length > 0 && at - start < maxBytes ? readAt(at) : null;
    // Whoever stops before it comes is told nothing of its failure.
    next?.catch(() => {});
    yield chunk;
  }
}

/** What is told again right away, as a block or while it grows, is one. */
function add(records: UsageRecord[], record: UsageRecord): void {
  const last = records.at(-1);
  if (last?.key !== record.key) records.push(record);
  else records[records.length - 1] = { ...last, ...larger(last, record) };
}

function takeLine<S>(format: LineFormat<S>, text: string, carried: S, about: AboutFile) {
  let line: unknown;
  try {
    line = JSON.parse(text);
  } catch {
    // Cut by a crash of its harness, or no record at all.
    return { carried, records: [] };
  }
  return isObject(line) ? format.take(line, carried, about) : { carried, records: [] };
}

/** Null when the position is not one in this file as it is now. */
async function stateAt<S>(
  file: FileHandle,
  identity: string,
  from: UsagePosition | null,
): Promise<{ offset: number; state: State<S> } | null> {
  if (from === null || from.identity !== identity) return null;
  const state = JSON.parse(from.state) as State<S>; // Written by this file.
  return state.mark === (await markAt(file, from.offset)) ? { offset: from.offset, state } : null;
}

/** As a digest: what people said to their agents is nobody's business in another database. */
async function markAt(file: FileHandle, offset: number): Promise<string> {
  const bytes = Buffer.alloc(Math.min(offset, MARK_BYTES));
  const { bytesRead } =
    bytes.length === 0 ? { bytesRead: 0 } : await file.read(bytes, 0, bytes.length, offset - bytes.length);
  return createHash('sha256').update(bytes.subarray(0, bytesRead)).digest('hex').slice(0, 16);
}
