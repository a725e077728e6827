/** Conversations in the files of a harness: one file each, the latest being the one written to last. */
import { join } from 'node:path';
import type { Conversation, Environment } from './adapter.ts';
import { changedAtMs } from './transcript.ts';

/** What a transcript says of its conversation; null when it is none. */
export type Read = (path: string) => Pick<Conversation, 'nativeId' | 'cwd'> | null;

/** The latest first. One after another, for each reads a file, and whoever wants the latest stops early. */
export function* conversationsAt(paths: readonly string[], read: Read): Generator<Conversation> {
  const files = paths.flatMap((path) => {
    const updatedAtMs = changedAtMs(path);
    return updatedAtMs === null ? [] : [{ path, updatedAtMs }];
  });
  for (const file of files.toSorted((a, b) => b.updatedAtMs - a.updatedAtMs)) {
    const conversation = read(file.path);
    if (conversation !== null) yield { ...conversation, ...file };
  }
}

export function firstIn(conversations: Iterable<Conversation>, cwd: string): Conversation | null {
  for (const conversation of conversations) if (conversation.cwd === cwd) return conversation;
  return null;
}

export function isUuid(text: string | null | undefined): text is string {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text ?? '');
}

/** The directory that a variable names, or else this one in the user's home. Set to nothing is not set. */
export function directoryIn(
  environment: Environment,
  variable: string,
  ...inHome: readonly string[]
): string {
  const given = environment[variable] ?? '';
  return given === '' ? join(environment['HOME'] ?? '/', ...inHome) : given;
}

/** Says what a process was asked to serve, not what it serves. */
export const COMMAND_LINE = 'its command line';
