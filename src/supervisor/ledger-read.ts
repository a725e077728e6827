/** One file of a session, from where it was read last to its end. */
import type { UsageReader } from '../harness/usage.ts';
import type { Session } from '../lifecycle/session.ts';
import type { UsagePosition } from '../lifecycle/usage.ts';
import { checkpoint } from '../process/checkpoint.ts';
import type { Context } from './context.ts';

export interface LedgerFile {
  readonly nativeId: string;
  readonly path: string;
  readonly reader: UsageReader;
  /** As it was before it is read: what is written meanwhile changes it again. */
  readonly sign: string;
}

interface FileReading {
  readonly bytes: number;
  readonly records: number;
  readonly isComplete: boolean;
}

/** When somebody else read on meanwhile it is read from there; one who is always faster leaves nothing to read. */
const MAX_TURNS = 5;

export async function readFile(
  context: Context,
  session: Session,
  file: LedgerFile,
  maxBytes: number,
): Promise<FileReading> {
  let [bytes, records] = [0, 0];
  for (let turn = 0; turn < MAX_TURNS; turn += 1) {
    const result = await readOn(context, session, file, maxBytes - bytes);
    bytes += result.bytes;
    records += result.records;
    if (result.end !== 'moved') return { bytes, records, isComplete: result.end !== 'cut' };
  }
  return { bytes, records, isComplete: false };
}

interface Turn {
  readonly bytes: number;
  readonly records: number;
  readonly end: 'whole' | 'cut' | 'moved' | 'gone';
}

async function readOn(
  { store }: Context,
  session: Session,
  { nativeId, path, reader }: LedgerFile,
  maxBytes: number,
): Promise<Turn> {
  const positions = await store.usagePositions(session.id);
  let from: UsagePosition | null =
    positions.find((each) => each.nativeId === nativeId && each.path === path)?.position ?? null;
  let [bytes, records] = [0, 0];
  for await (const piece of reader.read({ path, nativeId, from, maxBytes })) {
    await checkpoint('ledger.read');
    const batch = { sessionId: session.id, nativeId, path, from, to: piece.position, records: piece.records };
    const result = await store.recordUsage(batch);
    if (result !== 'recorded') return { bytes, records, end: result };
    await checkpoint('ledger.recorded');
    from = piece.position;
    bytes += piece.bytes;
    records += piece.records.length;
  }
  return { bytes, records, end: bytes >= maxBytes ? 'cut' : 'whole' };
}
