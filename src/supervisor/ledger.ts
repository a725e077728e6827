/**
 * Keeps the token ledger: what is new in the transcripts of sessions goes into the store, piece by piece, each together
 * with how far it was read. Whoever reads, a daemon or a command, may be killed at any moment or read beside another.
 *
 *   live      read again and again; when no file of it has changed since, a look at their status is all
 *   ended     read once more after the end was on record, then settled: never looked at again
 */
import type { Session } from '../lifecycle/session.ts';
import type { KnownConversation, SessionWithRun } from '../store/store.ts';
import type { Context } from './context.ts';
import { createFileMemory, isChanged } from './ledger-files.ts';
import type { FileMemory } from './ledger-files.ts';
import { readFile } from './ledger-read.ts';
import { isHere } from './reach.ts';

/** What one call reads of a session; what is beyond is read by the next. Some tenths of a second. */
const MAX_BYTES_A_CALL = 64 * 1024 * 1024;
/** Runs that ended longer ago and were never settled ended while nobody kept a ledger. */
const LATELY_MS = 24 * 60 * 60 * 1000;
/** Each is read to its end before it is settled, so a round must not begin with too many. */
const MAX_ENDED_A_ROUND = 50;

export interface LedgerReading {
  readonly bytes: number;
  readonly records: number;
  /** Whether everything was read that there is, as far as it could be. */
  readonly isComplete: boolean;
  /** What could not be read, a sentence each. */
  readonly problems: readonly string[];
}

/** Brings the ledger of one session up to date, or as far as it gets within some bytes. */
export async function readLedger(
  context: Context,
  found: SessionWithRun,
  memory: FileMemory = createFileMemory(),
  maxBytes = MAX_BYTES_A_CALL,
  onRecord?: readonly KnownConversation[],
): Promise<LedgerReading> {
  const { session } = found;
  const known = await memory.look(context, found, onRecord);
  const problems: string[] = [...known.problems];
  let [bytes, records, isComplete] = [0, 0, true];
  for (const file of known.files) {
    if (bytes >= maxBytes) {
      isComplete = false;
      break;
    }
    try {
      const read = await readFile(context, session, file, maxBytes - bytes);
      bytes += read.bytes;
      records += read.records;
      if (read.isComplete) memory.remember(session, file);
      isComplete &&= read.isComplete;
    } catch (error) {
      problems.push(`${file.path}: ${messageOf(error)}`);
    }
  }
  if (isComplete) memory.upToDate(session);
  return { bytes, records, isComplete, problems };
}

interface LedgerRound {
  /** How many had something to read, or to be looked for. */
  readonly sessions: number;
  readonly bytes: number;
  /** What cannot be read as of now, also of sessions that were not looked at again. */
  readonly problems: readonly string[];
}

export interface Ledger {
  /** Reads what all sessions here have spent since the last round. */
  round(): Promise<LedgerRound>;
}

/** `report` is told of each trouble once, and again only when it was well in between. */
export function ledgerFor(
  context: Context,
  report: (problem: string) => void = () => {},
  maxBytes = MAX_BYTES_A_CALL,
): Ledger {
  const memory = createFileMemory();
  const troubles = new Map<string, readonly string[]>();
  const isReadHere = ({ run }: SessionWithRun) => isHere(context, run);
  const read = async (
    each: SessionWithRun,
    onRecord: readonly KnownConversation[],
  ): Promise<LedgerReading> => {
    const reading = await readOne(context, each, memory, maxBytes, onRecord);
    const before = troubles.get(each.session.id) ?? [];
    for (const problem of reading.problems) if (!before.includes(problem)) report(problem);
    troubles.set(each.session.id, reading.problems);
    return reading;
  };
  return {
    async round() {
      // Plain commands have no conversations.
      const live = (await context.store.liveHarnesses()).filter(isReadHere);
      const unsettled = await context.store.unsettledRuns(Date.now() - LATELY_MS, MAX_ENDED_A_ROUND);
      const ended = unsettled.filter(isReadHere);
      const changed = live.filter((each) => isChanged(memory, each));
      const onRecord = await context.store.ledgersOf([...changed, ...ended].map(({ session }) => session.id));
      let bytes = 0;
      for (const each of changed) bytes += (await read(each, onRecord.get(each.session.id) ?? [])).bytes;
      for (const each of ended) {
        const reading = await read(each, onRecord.get(each.session.id) ?? []);
        bytes += reading.bytes;
        if (reading.isComplete && reading.problems.length === 0) await context.store.settleUsage(each.run.id);
      }
      const ids = new Set([...live, ...ended].map(({ session }) => session.id));
      memory.keepOnly(ids);
      for (const id of troubles.keys()) if (!ids.has(id)) troubles.delete(id);
      return { sessions: changed.length + ended.length, bytes, problems: [...troubles.values()].flat() };
    },
  };
}

/** The trouble of one session stops no other. */
async function readOne(
  context: Context,
  each: SessionWithRun,
  memory: FileMemory,
  maxBytes: number,
  onRecord: readonly KnownConversation[],
): Promise<LedgerReading> {
  try {
    return await readLedger(context, each, memory, maxBytes, onRecord);
  } catch (error) {
    return { bytes: 0, records: 0, isComplete: false, problems: [trouble(each.session, error)] };
  }
}

function trouble({ name }: Session, error: unknown): string {
  return `${name}: ${messageOf(error)}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
