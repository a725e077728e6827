/**
 * The notifier's memory, and its copy on disk: one file, replaced whole, so that how far it has read and what it still
 * owes change together. A change counts at once in memory, and for a crash from when `kept` has answered.
 */
import { chmodSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { ReeveError } from '../../api/errors.ts';
import type { Clock } from './clock.ts';
import { EMPTY_OUTBOX, parseOutbox } from './outbox-state.ts';
import type { OutboxState } from './outbox-state.ts';
import { replaceWhole } from './whole-file.ts';

export interface Outbox {
  readonly state: () => OutboxState;
  readonly change: (change: (state: OutboxState) => OutboxState) => void;
  /** Whether all changes up to now are on disk. It tries until they are, or until this is closed: then once more. */
  readonly kept: () => Promise<boolean>;
  /** The state as it would be after a crash. */
  readonly keptState: () => OutboxState;
  /** Why it cannot be written; null when it can. */
  readonly trouble: () => string | null;
}

export interface OutboxOptions {
  readonly directory: string;
  readonly clock: Clock;
  readonly closing: AbortSignal;
  readonly log: (text: string) => void;
}

/** A full disk is not freed in less, and not noticed much later. */
const WRITE_AGAIN_MS = 5_000;

export function openOutbox({ directory, clock, closing, log }: OutboxOptions): Outbox {
  const path = join(directory, 'outbox.json');
  let keptState = load(directory, path, log);
  let state = keptState;
  let trouble: string | null = null;
  let writing: Promise<void> | null = null;

  const write = async (): Promise<void> => {
    const written = state;
    try {
      await replaceWhole(path, JSON.stringify(written));
      keptState = written;
      if (trouble !== null) log('notifications: the outbox can be written again');
      trouble = null;
    } catch (error) {
      const because = `the outbox cannot be written (${codeOf(error)})`;
      if (trouble !== because) log(`notifications: ${because}; nothing is sent until it can`);
      trouble = because;
      await clock.wait(WRITE_AGAIN_MS, closing);
    }
  };
  const kept = async (): Promise<boolean> => {
    // Who is already writing began before the latest change perhaps; then it is written once more, for all who wait.
    while (keptState !== state) {
      const isLastTry = closing.aborted && writing === null;
      writing ??= write().finally(() => (writing = null));
      await writing;
      if (isLastTry && keptState !== state) return false;
    }
    return true;
  };
  return {
    state: () => state,
    change: (change) => (state = change(state)),
    kept,
    keptState: () => keptState,
    trouble: () => trouble,
  };
}

function load(directory: string, path: string, log: (text: string) => void): OutboxState {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const text = readIfThere(path);
    if (text === null) return EMPTY_OUTBOX;
    const state = parseOutbox(text);
    if (state !== null) return state;
    // Kept for whoever wants to know what was in it; there is one such at most.
    const aside = `${path}.unreadable`;
    renameSync(path, aside);
    chmodSync(aside, 0o600);
    log(
      `notifications: the outbox was damaged, so what it still had to deliver is lost; it is kept as ${aside}`,
    );
    return EMPTY_OUTBOX;
  } catch (error) {
    throw new ReeveError(
      'state_directory',
      `The notifications' directory ${directory} cannot be used (${codeOf(error)}).`,
      { hint: 'Check its permissions and those of its parents, then try again.', cause: error },
    );
  }
}

function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
}
