/**
 * Which files tell what a session spent, and which of them have something new. Where a harness keeps its files is said by
 * the environment of its process; once that is gone, by what was seen of it, by what its run and the ledger have on
 * record, and by this process's own environment.
 */
import { adapterNamed } from '../harness/adapters.ts';
import type { Environment } from '../harness/adapter.ts';
import type { UsageReader } from '../harness/usage.ts';
import type { Run } from '../lifecycle/run.ts';
import type { Session } from '../lifecycle/session.ts';
import type { KnownConversation, SessionWithRun } from '../store/store.ts';
import { recordedPlace } from '../process/run-place.ts';
import { harnessProcess } from './activity.ts';
import type { Context } from './context.ts';
import type { LedgerFile } from './ledger-read.ts';
import { runDirectory } from './liveness.ts';

/** Files that begin without a change of one that is known: a subagent's, or the first one of a session. */
const LOOK_AGAIN_MS = 20_000;

interface Remembered {
  /** The files as they were when they had been read to their ends. */
  readonly read: Map<string, { readonly file: LedgerFile; readonly sign: string }>;
  /** What a look for other files depends on: the run, its conversation, and what it does. */
  circumstances: string;
  environment: Environment | null;
  lookedAtMs: number;
  /** Whether there was more to read than was read. */
  isBehind: boolean;
}

export interface FileMemory {
  /**
   * The files of a session that have something new, as far as can be told; those that cannot be looked at are problems.
   * `onRecord` is what the ledger has of it, where that was read for many at once.
   */
  look(
    context: Context,
    found: SessionWithRun,
    onRecord?: readonly KnownConversation[],
  ): Promise<{ files: readonly LedgerFile[]; problems: readonly string[] }>;
  /** It was read to its end. */
  remember(session: Session, file: LedgerFile): void;
  /** All that there is was read, as far as it can be. */
  upToDate(session: Session): void;
  keepOnly(sessionIds: ReadonlySet<string>): void;
  of(sessionId: string): Remembered | undefined;
}

export function createFileMemory(): FileMemory {
  const sessions = new Map<string, Remembered>();
  return {
    async look(context, { session, run }, onRecord) {
      const known = sessions.get(session.id) ?? {
        read: new Map(),
        circumstances: '',
        environment: null,
        lookedAtMs: 0,
        isBehind: false,
      };
      sessions.set(session.id, known);
      known.circumstances = circumstancesOf({ session, run });
      known.environment = environmentOf(context, run) ?? known.environment;
      known.lookedAtMs = Date.now();
      // Until it is said otherwise: whoever looks may fail.
      known.isBehind = true;
      const conversations = onRecord ?? (await context.store.ledgersOf([session.id])).get(session.id) ?? [];
      return filesOf(context, run, known, conversations);
    },
    remember: (session, file) => sessions.get(session.id)?.read.set(keyOf(file), { file, sign: file.sign }),
    upToDate: (session) => {
      const known = sessions.get(session.id);
      if (known !== undefined) known.isBehind = false;
    },
    keepOnly: (sessionIds) => {
      for (const id of sessions.keys()) if (!sessionIds.has(id)) sessions.delete(id);
    },
    of: (sessionId) => sessions.get(sessionId),
  };
}

/** Null when it is gone, or not ours to look at. */
function environmentOf(context: Context, run: Run): Environment | null {
  const environment = harnessProcess(context, run)?.environment() ?? {};
  return Object.keys(environment).length === 0 ? null : environment;
}

/** A look at the status of its files, and nothing more. */
export function isChanged(memory: FileMemory, each: SessionWithRun): boolean {
  const known = memory.of(each.session.id);
  if (known === undefined || known.isBehind || known.circumstances !== circumstancesOf(each)) return true;
  if (Date.now() - known.lookedAtMs >= LOOK_AGAIN_MS) return true;
  return [...known.read.values()].some(({ file, sign }) => signOf(file) !== sign);
}

function circumstancesOf({ session, run }: SessionWithRun): string {
  return [run.id, session.nativeId, run.native?.id, run.activity?.sinceMs].join(' ');
}

/** Null also for one that cannot be looked at: reading it will say why. */
function signOf({ reader, path }: Pick<LedgerFile, 'reader' | 'path'>): string | null {
  try {
    return reader.sign(path);
  } catch {
    return null;
  }
}

async function filesOf(
  context: Context,
  run: Run,
  known: Remembered,
  conversations: readonly KnownConversation[],
) {
  const files: LedgerFile[] = [];
  const problems: string[] = [];
  // Where to look is not known when that cannot be read: nothing found elsewhere means that nothing was spent.
  const environment =
    known.environment ?? recordedPlace(runDirectory(context, run.id)) ?? context.environment;
  for (const { harness, nativeId, paths: earlier } of conversations) {
    const reader = await readerOf(harness);
    if (reader === null) continue;
    const found = reader.files({ environment, cwd: run.cwd }, nativeId);
    for (const path of new Set([...found, ...earlier])) {
      try {
        const sign = reader.sign(path);
        const file = { nativeId, path, reader, sign: sign ?? '' };
        if (sign !== null && known.read.get(keyOf(file))?.sign !== sign) files.push(file);
      } catch (error) {
        problems.push(`${path}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  }
  return { files, problems };
}

function keyOf({ nativeId, path }: Pick<LedgerFile, 'nativeId' | 'path'>): string {
  return `${nativeId} ${path}`;
}

const readers = new Map<string, Promise<UsageReader | null>>();

/** One for all sessions: it may remember which file belongs to which conversation. */
function readerOf(harness: string): Promise<UsageReader | null> {
  const known = readers.get(harness);
  if (known !== undefined) return known;
  const loaded = adapterNamed(harness).then(async ({ usage }) => (usage === undefined ? null : usage()));
  readers.set(harness, loaded);
  return loaded;
}
