/** Brings the ledger up to date for somebody who asks, without a daemon, and within bounds. */
import type { Session } from '../lifecycle/session.ts';
import type { SessionWithRun } from '../store/store.ts';
import type { Context } from './context.ts';
import { ledgerFor, readLedger } from './ledger.ts';
import { isHere } from './reach.ts';

/** What one answer reads at most, of all its sessions together. About a second. */
const MAX_BYTES = 64 * 1024 * 1024;
/** Each is read to its end before it is settled; what is beyond is left for the next time. */
const MAX_SETTLED = 50;
/** So many ids in one question to the store. */
const IDS_A_QUESTION = 500;

export async function inChunks<T>(
  ids: readonly string[],
  ask: (some: readonly string[]) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  const found: T[] = [];
  for (let at = 0; at < ids.length; at += IDS_A_QUESTION) {
    found.push(...(await ask(ids.slice(at, at + IDS_A_QUESTION))));
  }
  return found;
}

/** Every live session, and those that ended lately. What could not be read is told, a sentence each. */
export async function readAll(context: Context): Promise<readonly string[]> {
  return (await ledgerFor(context).round()).problems;
}

interface Reading {
  /** Those of these that live are read, in this order: what does not get its turn this time matters less. */
  readonly ids: readonly string[];
  /** Those of these are read too of which something ended, and was not read to the end since. */
  readonly ended?: readonly string[];
  /** This one is read whatever it is. */
  readonly first?: string;
  readonly maxBytes?: number;
}

/** The ended runs of what was read whole are settled. What could not be read is told, a sentence each. */
export async function readSessions(
  context: Context,
  { ids, ended = ids, first, maxBytes = MAX_BYTES }: Reading,
): Promise<readonly string[]> {
  const unsettled = (await inChunks(ended, (some) => context.store.unsettledRuns(0, MAX_SETTLED, some)))
    .filter(({ run }) => isHere(context, run))
    .slice(0, MAX_SETTLED);
  const unread = new Set(unsettled.map(({ session }) => session.id));
  const wanted = (await sessionsOf(context, [...new Set([...ids, ...unread])])).filter(
    (each) =>
      isHere(context, each.run) &&
      (each.run.state !== 'ended' || unread.has(each.session.id) || each.session.id === first),
  );
  const problems: string[] = [];
  let left = maxBytes;
  for (const each of wanted) {
    const { bytes, trouble } = await readOne(context, each, left);
    left -= bytes;
    problems.push(...trouble);
    if (trouble.length > 0) continue;
    for (const { run } of unsettled.filter(({ session }) => session.id === each.session.id))
      await context.store.settleUsage(run.id);
  }
  return problems;
}

async function sessionsOf(context: Context, ids: readonly string[]): Promise<readonly SessionWithRun[]> {
  const found = await inChunks(ids, (some) => context.store.sessionsOf(some));
  const byId = new Map(found.map((each) => [each.session.id, each]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

async function readOne(
  context: Context,
  each: SessionWithRun,
  maxBytes: number,
): Promise<{ bytes: number; trouble: readonly string[] }> {
  try {
    const { bytes, isComplete, problems } = await readLedger(context, each, undefined, maxBytes);
    return { bytes, trouble: isComplete ? problems : [...problems, notWhole(each.session, bytes)] };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { bytes: 0, trouble: [`${each.session.name}: ${message}`] };
  }
}

function notWhole({ name }: Session, bytes: number): string {
  return `${name}: ${Math.round(bytes / 1_000_000)} MB of its transcripts were read, and there is more; the same command reads on`;
}
