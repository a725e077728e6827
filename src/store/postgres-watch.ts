/**
 * Learning that something was written. The server tells a connection that listens, which is a matter of one session:
 * behind a pooler sessions are shared and the word gets lost, and a standby knows no listening. There it is asked for.
 */
import type pg from 'pg';

/** Where it is said that something was written. */
export const CHANNEL = 'reeve_written';
const PAUSE_MS = 1_000;

interface Subscription {
  /** Settles when the connection is gone. */
  readonly lost: Promise<void>;
  readonly end: () => Promise<void>;
}

export interface Source {
  readonly connect: () => Promise<pg.Client>;
  /** The number of the last event. */
  readonly lastSeq: () => Promise<number>;
}

export async function watchPostgres(source: Source, listener: () => void): Promise<() => void> {
  const subscription = await subscribe(source, listener);
  return subscription === null ? ask(source, listener) : keepSubscribed(source, subscription, listener);
}

/** A connection of its own, for it must stay. Lost, it is made anew; meanwhile something may have been written. */
function keepSubscribed(source: Source, first: Subscription, listener: () => void): () => void {
  let isOver = false;
  let subscription = first;
  const keep = async () => {
    for (;;) {
      await subscription.lost;
      if (isOver) return;
      await pause();
      const next = await subscribe(source, listener).catch(() => null);
      if (next === null) continue;
      subscription = next;
      if (isOver) void next.end();
      else listener();
    }
  };
  void keep();
  return () => {
    isOver = true;
    void subscription.end();
  };
}

/** Null where listening would hear nothing. */
async function subscribe(source: Source, listener: () => void): Promise<Subscription | null> {
  const client = await source.connect();
  const lost = new Promise<void>((resolve) => client.once('end', () => resolve()));
  const end = () => client.end().catch(() => {});
  try {
    client.on('notification', listener);
    if (!(await isOwnSession(client))) {
      await end();
      return null;
    }
    await client.query(`listen ${CHANNEL}`);
    return { lost, end };
  } catch (error) {
    await end();
    throw error;
  }
}

/** A pooler gives its clients numbers of its own, so the number told at the start is not that of the server's process. */
async function isOwnSession(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ pid: number; standby: boolean }>(
    'select pg_backend_pid() as pid, pg_is_in_recovery() as standby',
  );
  // The driver keeps it to cancel queries by; its types do not tell.
  const { processID } = client as pg.Client & { readonly processID?: number };
  return rows[0]?.pid === processID && rows[0]?.standby === false;
}

async function ask(source: Source, listener: () => void): Promise<() => void> {
  let isOver = false;
  let seen = await source.lastSeq();
  const keep = async () => {
    for (;;) {
      await pause();
      if (isOver) return;
      // A store that is away is asked again; whoever reads it is told.
      const now = await source.lastSeq().catch(() => seen);
      if (now !== seen && !isOver) listener();
      seen = now;
    }
  };
  void keep();
  return () => {
    isOver = true;
  };
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, PAUSE_MS).unref());
}
