/** Ends the daemon of a state directory, and proves it gone; also one that is giving way to another right now. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ReeveError } from '../api/errors.ts';
import { checkpoint } from '../process/checkpoint.ts';
import { probe } from '../process/liveness.ts';
import { signalProven } from '../process/run-tree.ts';
import type { Machine } from './context.ts';
import { livingHeirs } from './daemon-heirs.ts';
import { findDaemon, isServed } from './daemon-place.ts';
import type { DaemonRecord } from './daemon-place.ts';

/** It has nothing to save but its answers in flight. */
const STOP_GRACE_MS = 5_000;
const KILL_LIMIT_MS = 5_000;
const POLL_MS = 20;
/** An heir is on record within a second; on a machine that is very busy it takes its time, and may upgrade the store. */
export const HAND_OVER_LIMIT_MS = 30_000;
/** One that gives way, the one that it gives way to, and some more for an heir that has to be told twice. */
const MOST_ROUNDS = 5;

/**
 * The last daemon that was there, now proven gone with all who were about to follow it; null when there was none. No run
 * is touched by it.
 */
export async function stopDaemon(machine: Machine): Promise<DaemonRecord | null> {
  let ended: DaemonRecord | null = null;
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    // Before the record is looked at: an heir is announced until it is on that.
    const isFollowed = livingHeirs(machine).length > 0;
    const last = await endDaemon(machine, () => false);
    if (last === null && !isFollowed) return ended;
    ended = last ?? ended;
    if (last === null) await followed(machine);
  }
  throw new ReeveError(
    'unproven',
    'Daemons follow each other, and it could not be proven that none is left.',
    {
      hint: 'Look who starts them, and try again: reeve serve status',
    },
  );
}

/** Until the heir serves or is gone. One that does neither in time is ended like a daemon. */
async function followed(machine: Machine): Promise<void> {
  for (let waitedMs = 0; waitedMs < HAND_OVER_LIMIT_MS; waitedMs += POLL_MS) {
    if (livingHeirs(machine).length === 0 || findDaemon(machine).is !== 'none') return;
    await sleep(POLL_MS);
  }
  for (const heir of livingHeirs(machine)) signalProven(machine.table, heir.process, 'SIGTERM');
}

/** The daemon that is there, for whoever takes its place. One that was started in the foreground may wait for the end of that one. */
export async function displaceDaemon(machine: Machine): Promise<void> {
  await checkpoint('daemon.displacing');
  await endDaemon(machine, () => !isServed(machine.home, 0));
  await checkpoint('daemon.displaced');
}

async function endDaemon(machine: Machine, hasLetGo: () => boolean): Promise<DaemonRecord | null> {
  const seen = findDaemon(machine);
  if (seen.is === 'none') return null;
  const { record } = seen;
  const isGone = () => probe(machine.table, record.process).is === 'dead' || hasLetGo();
  for (const [signal, limitMs] of [
    ['SIGTERM', STOP_GRACE_MS],
    ['SIGKILL', KILL_LIMIT_MS],
  ] as const) {
    if (seen.is === 'running') signalProven(machine.table, record.process, signal);
    for (let waitedMs = 0; waitedMs < limitMs; waitedMs += POLL_MS) {
      if (isGone()) return record;
      await sleep(POLL_MS);
    }
  }
  throw new ReeveError('unproven', `The daemon (pid ${record.process.pid}) could not be proven gone.`, {
    hint: 'Look at that process; nothing depends on the daemon.',
  });
}
