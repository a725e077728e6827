/** Looking at real processes from tests, independently of the code under test. */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Seen {
  readonly pid: number;
  readonly startTime: string;
}

/** Alive means: there, the same process as when it was seen, and not a zombie. */
export function isAlive({ pid, startTime }: Seen): boolean {
  const now = look(pid);
  return now !== null && now.startTime === startTime && !now.isZombie;
}

/** For a pid that was only written down: whether anything at all executes under it now. */
export function isExecuting(pid: number): boolean {
  const now = look(pid);
  return now !== null && !now.isZombie;
}

/** The identity of a living process; throws when there is none. */
export function see(pid: number): Seen {
  const [seen] = seeIfThere(pid);
  if (seen === undefined) throw new Error(`There is no process ${pid}.`);
  return seen;
}

/** The same of one that may be gone by now. */
export function seeIfThere(pid: number): Seen[] {
  const now = look(pid);
  return now === null ? [] : [{ pid, startTime: now.startTime }];
}

/** Signals only what was seen before and is still the same process. One that is killed is gone when this returns. */
export function signalSeen(seen: Seen, signal: NodeJS.Signals): void {
  if (!isAlive(seen)) return;
  try {
    process.kill(seen.pid, signal);
  } catch (error) {
    // Gone in between.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
  if (signal === 'SIGKILL') waitForDeath(seen);
}

/** A busy machine takes its time to let a killed process die, and whoever looks meanwhile sees it alive. */
function waitForDeath(seen: Seen): void {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  const deadline = performance.now() + 20_000;
  while (isAlive(seen)) {
    if (performance.now() > deadline) throw new Error(`Process ${seen.pid} does not die of SIGKILL.`);
    Atomics.wait(pause, 0, 0, 1);
  }
}

export function parentOf(pid: number): number {
  return Number(fieldsOf(pid)?.[1]);
}

export function groupOf(pid: number): number {
  return Number(fieldsOf(pid)?.[2]);
}

/** Waits for an event; the limit only turns a hang into a failure. */
export async function eventually<T>(
  what: string,
  probe: () => T | undefined | null | false | Promise<T | undefined | null | false>,
  limitMs = 20_000,
): Promise<T> {
  const deadline = Date.now() + limitMs;
  for (;;) {
    const value = await probe();
    if (value !== undefined && value !== null && value !== false) return value;
    if (Date.now() > deadline) throw new Error(`Waited in vain for: ${what}`);
    await sleep(10);
  }
}

/** Living processes whose environment has this exact assignment. */
export function startedWith(assignment: string): Seen[] {
  return readdirSync('/proc')
    .map(Number)
    .filter(Number.isInteger)
    .flatMap((pid) => {
      try {
        const environment = readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0');
        const now = look(pid);
        return environment.includes(assignment) && now !== null && !now.isZombie
          ? [{ pid, startTime: now.startTime }]
          : [];
      } catch {
        return [];
      }
    });
}

function look(pid: number): { startTime: string; isZombie: boolean } | null {
  const fields = fieldsOf(pid);
  if (fields === null) return null;
  // With more than one thread, only the main one has exited.
  const isZombie = (fields[0] === 'Z' || fields[0] === 'X') && Number(fields[17]) <= 1;
  return { startTime: fields[19] ?? '', isZombie };
}

function fieldsOf(pid: number): string[] | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return null;
  }
}
