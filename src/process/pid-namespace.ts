/**
 * Whether anybody is left in another pid namespace (a container), for whoever stands outside of all of them.
 *
 * A namespace lives exactly as long as its first process: with that the kernel ends all the others, and nobody is born
 * into it any more. That process keeps its pid, so that one walk through the process table meets it if it is there. A walk
 * proves that nobody is left only from the initial namespace, which shows the processes of all others, and only when the
 * namespace of every single process could be read, which takes root.
 *
 * The number of a namespace is used again for a later one. That is told by its age: its first process is older than
 * everybody in it, so a namespace in which all are younger than the process on record is not the one on record.
 */
import { readdirSync, readlinkSync } from 'node:fs';
import type { ProcessIdentity } from '../lifecycle/process-identity.ts';
import type { HostIdentity, ProcessReading } from './process-table.ts';

export type NamespaceReading =
  | { readonly is: 'gone'; readonly because: string }
  | { readonly is: 'unknown'; readonly because: string };

/** PROC_PID_INIT_INO, a constant of the kernel. */
export const INITIAL_PID_NAMESPACE = 'pid:[4026531836]';
const ELSEWHERE = 'it is in another pid namespace (a container)';

export interface NamespaceView {
  /** Where the process table is mounted. */
  readonly root: string;
  readonly host: HostIdentity;
  readonly read: (pid: number) => ProcessReading;
}

export function seekNamespace(
  { root, host, read }: NamespaceView,
  { pidNamespace, startTime }: ProcessIdentity,
): NamespaceReading {
  const [namespace = '', time = ''] = pidNamespace.split(' ');
  const [own, ownTime = ''] = host.pidNamespace.split(' ');
  if (own !== INITIAL_PID_NAMESPACE || namespace === INITIAL_PID_NAMESPACE) return unknown(ELSEWHERE);
  const started: number[] = [];
  // Process 1 is the first of this very namespace, whether it may be looked at or not.
  for (const pid of readdirSync(root).filter((name) => /^\d+$/.test(name) && name !== '1')) {
    const seen = namespaceOf(root, pid);
    if (seen === null) return unknown(`${ELSEWHERE}, and only root can see that nobody is left there`);
    const reading = seen === namespace ? read(Number(pid)) : GONE;
    if (reading.is === 'unreadable') return unknown(ELSEWHERE);
    // The first process only becomes a zombie when all others are gone.
    if (reading.is === 'there' && !reading.fact.isZombie) started.push(Number(reading.fact.startTime));
  }
  if (started.length === 0) {
    return { is: 'gone', because: 'nobody is left in its pid namespace (a container that is gone)' };
  }
  const since = startTime === null || time !== ownTime ? Number.NaN : Number(startTime);
  if (started.every((each) => each > since)) {
    return { is: 'gone', because: 'its pid namespace is gone, and a later one has its number' };
  }
  return unknown(ELSEWHERE);
}

const GONE = { is: 'gone' } as const;

/** Of a process that is gone it is nobody's; null when it may not be looked at. */
function namespaceOf(root: string, pid: string): string | null {
  try {
    return readlinkSync(`${root}/${pid}/ns/pid`);
  } catch (error) {
    return isGone(error) ? '' : null;
  }
}

function isGone(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH');
}

function unknown(because: string): NamespaceReading {
  return { is: 'unknown', because };
}
