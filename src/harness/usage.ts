/**
 * Which files tell what a conversation cost, and how they are read. Nothing is ever written to them.
 *
 * A reader is asked for what is new behind a position, and hands it out in pieces, each with the position behind it.
 * Whoever asks puts both on record together. A reader keeps nothing of its own between two calls, so that
 *   a piece that was lost is read again, and one that is told twice has the same keys;
 *   a file that was replaced, or is shorter than it was, is read from its beginning, with the same keys as before;
 *   what does not end in a whole line yet is left for the next time.
 * It takes memory for a chunk and a line, never for a file.
 */
import type { UsagePosition, UsageRecord } from '../lifecycle/usage.ts';
import type { Place } from './adapter.ts';
import type { JsonObject } from './transcript.ts';

export interface UsageReader {
  /** The files of a conversation and of those below it (subagents), as far as they are there. */
  files(place: Place, nativeId: string): readonly string[];
  /** Changes whenever a file may have something new, and costs no more than a look at its status; null without a file. */
  sign(path: string): string | null;
  /** Ends when there is nothing more, or after about so many bytes. Throws when the file cannot be read. */
  read(request: UsageRequest): AsyncIterable<UsagePiece>;
}

export interface UsageRequest {
  readonly path: string;
  readonly nativeId: string;
  /** Null for a file that was never read. */
  readonly from: UsagePosition | null;
  readonly maxBytes: number;
}

export interface UsagePiece {
  readonly records: readonly UsageRecord[];
  readonly position: UsagePosition;
  readonly bytes: number;
}

/** How the lines of one harness are understood: a pure function from a line and what was carried to it. */
export interface LineFormat<S> {
  /** Fields without which a line says nothing here, as they stand in it: looked for before anything is parsed. */
  readonly needles: readonly string[];
  readonly begin: S;
  take(line: JsonObject, carried: S, about: AboutFile): Taken<S>;
}

export interface AboutFile {
  readonly path: string;
  /** When the file was written to last: for a line that does not say when it was. */
  readonly changedAtMs: number;
}

export interface Taken<S> {
  readonly carried: S;
  readonly records: readonly UsageRecord[];
}

/** More than any conversation costs in its life: what is told beyond is a mistake, and must not spoil every sum. */
const MAX_COUNT = 1e12;

/** A count as harnesses write them; nought for what is missing, or is none. */
export function countIn(object: JsonObject, name: string): number {
  const value = object[name];
  return typeof value === 'number' && Number.isFinite(value) && value > 0
    ? Math.min(Math.round(value), MAX_COUNT)
    : 0;
}

/** The time of a line; null when it says none that can be understood. */
export function timeIn(line: JsonObject): number | null {
  const { timestamp } = line;
  const atMs = typeof timestamp === 'string' ? Date.parse(timestamp) : Number.NaN;
  return Number.isNaN(atMs) ? null : atMs;
}
