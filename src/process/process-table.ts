/** What Reeve asks the operating system about processes. One adapter an operating system. */
import { sharePids } from '../lifecycle/process-identity.ts';
import type { ProcessIdentity } from '../lifecycle/process-identity.ts';
import type { NamespaceReading } from './pid-namespace.ts';

export interface ProcessFact {
  readonly pid: number;
  readonly parentPid: number;
  readonly groupId: number;
  /** Null where the operating system does not tell. */
  readonly sessionId: number | null;
  readonly startTime: string;
  /** It has exited and only waits to be collected: nothing of it executes. */
  readonly isZombie: boolean;
  /** It lives, but was stopped by a signal and executes nothing until it is continued. */
  readonly isStopped: boolean;
  /** The short program name, for people. */
  readonly name: string;
}

export type ProcessReading =
  | { readonly is: 'there'; readonly fact: ProcessFact }
  | { readonly is: 'gone' }
  /** With the code of the failed read, where it was one. */
  | { readonly is: 'unreadable'; readonly because: string; readonly code?: string };

/** Linux counts start times in hundredths of a second since boot, whatever the kernel's own clock rate. */
export const START_TIME_STEP_MS = 10;

export interface HostIdentity {
  readonly host: string;
  readonly boot: string;
  readonly pidNamespace: string;
}

/** What a closer look at one process shows; each part is read when it is asked for, and empty when it cannot be read. */
export interface ProcessDetails {
  readonly argv: readonly string[];
  cwd(): string | null;
  environment(): Readonly<Record<string, string>>;
  openFiles(): readonly string[];
}

export interface ProcessTable {
  readonly host: HostIdentity;
  read(pid: number): ProcessReading;
  /** Whether the other pid namespace in which a process was is gone; not where there are none. */
  seekNamespace?(identity: ProcessIdentity): NamespaceReading;
  /** Every process that can be seen. Throws when the table as a whole cannot be read: that is unknown, not empty. */
  all(): readonly ProcessFact[];
  /**
   * The children of a process, of all its threads, as the kernel lists them. Null where it keeps no such list, and for a
   * process that is gone.
   */
  childrenOf(pid: number): readonly number[] | null;
  /**
   * The processes, of those that can be seen, that were started with this exact `NAME=value` in their environment.
   * With `among`, only these are looked at. One of them may have come to be after the last `all()`.
   */
  startedWith(assignment: string, among?: readonly number[]): readonly ProcessFact[];
  /** The processes that bear a run's mark in the kernel (run-mark.ts), whoever they belong to. */
  bearing(mark: string): readonly ProcessFact[];
  /** Processes of this very user that nevertheless do not let it see their environment: of these no mark in it tells. */
  withheld(): readonly ProcessFact[];
  /** Null when it is gone, or not to be looked at by this user. */
  details(pid: number): ProcessDetails | null;
  /** What each holds in memory for itself alone, in bytes; those of which that cannot be told are missing. */
  memoryOf(pids: readonly number[]): ReadonlyMap<number, number>;
  /** When a process started, by the wall clock as it is now; null where that cannot be told. */
  startedAtMs(fact: ProcessFact): number | null;
  /** A clock that stands still while the machine sleeps, the same for all processes of one boot; null where there is none. */
  awakeMs(): number | null;
}

/** Throws when the process is not there: only a process that can be proven may be put on record. */
export function identify(table: ProcessTable, pid: number): ProcessIdentity {
  const reading = table.read(pid);
  if (reading.is !== 'there') throw new Error(`Process ${pid} cannot be identified: it is ${reading.is}.`);
  return { ...table.host, pid, startTime: reading.fact.startTime };
}

/**
 * In another boot, which is also another host's, or in another pid namespace, its number names something else. And whatever
 * a damaged record says, nobody is known by the first process, from which everybody descends.
 */
export function isHere({ host }: ProcessTable, identity: ProcessIdentity): boolean {
  return identity.pid > 1 && sharePids(identity, host);
}

/** A look at everybody, and who was met after it. Who ended in between is in it too, as in any look. */
export function withLater(look: readonly ProcessFact[], met: readonly ProcessFact[]): readonly ProcessFact[] {
  const known = new Set(look.map(({ pid }) => pid));
  const later = new Map(met.filter(({ pid }) => !known.has(pid)).map((fact) => [fact.pid, fact]));
  return [...look, ...later.values()];
}
