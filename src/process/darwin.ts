/**
 * macOS: through `ps` and `sysctl`, since there is no /proc. Start times have steps of a second here, so a pid that
 * is reused within its own second cannot be told apart; macOS hands out pids in order, which makes that improbable.
 */
import { execFileSync } from 'node:child_process';
import type { HostIdentity, ProcessFact, ProcessReading, ProcessTable } from './process-table.ts';

/** Runs a program and returns what it printed; throws when it failed. `ps` exits 1 for a pid that is not there. */
export type Ask = (program: string, args: readonly string[]) => string;

const FACT_COLUMNS = 'pid=,ppid=,pgid=,stat=,lstart=,comm=';
/** A busy Mac lists about a thousand processes in 100 ms. */
const ASK_TIMEOUT_MS = 5_000;
const ASK_MAX_BYTES = 64 * 1024 * 1024;

export function createDarwinProcessTable(ask: Ask = askSystem): ProcessTable {
  return {
    host: hostIdentity(ask),
    read: (pid) => readProcess(ask, pid),
    all: () => parseFacts(ask('ps', ['-axww', '-o', FACT_COLUMNS])),
    startedWith: (assignment) => parseMarked(ask('ps', ['-axwwE', '-o', 'pid=,command=']), assignment),
  };
}

export function parseFacts(output: string): readonly ProcessFact[] {
  return output.split('\n').flatMap((line) => {
    const match = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\w{3}\s+\w{3}\s+\d+\s+[\d:]{8}\s+\d{4})\s+(.*)$/.exec(
      line,
    );
    if (match === null) return [];
    const [, pid, parentPid, groupId, stat = '', startTime = '', command = ''] = match;
    return [
      {
        pid: Number(pid),
        parentPid: Number(parentPid),
        groupId: Number(groupId),
        sessionId: null,
        startTime: startTime.replaceAll(/\s+/g, ' '),
        isZombie: stat.startsWith('Z'),
        name: command.split('/').at(-1) ?? command,
      },
    ];
  });
}

/** `ps -E` puts the environment behind the arguments; the mark is a word of its own there. */
export function parseMarked(output: string, assignment: string): readonly number[] {
  return output.split('\n').flatMap((line) => {
    const match = /^\s*(\d+)\s+(.*)$/.exec(line);
    return match !== null && match[2]?.split(' ').includes(assignment) ? [Number(match[1])] : [];
  });
}

function readProcess(ask: Ask, pid: number): ProcessReading {
  try {
    const [fact] = parseFacts(ask('ps', ['-ww', '-p', String(pid), '-o', FACT_COLUMNS]));
    return fact === undefined ? { is: 'gone' } : { is: 'there', fact };
  } catch (error) {
    // `ps` exits 1 with nothing printed when no such process exists; every other failure tells nothing about it.
    if (error instanceof Error && 'status' in error && error.status === 1) return { is: 'gone' };
    return { is: 'unreadable', because: 'ps did not answer' };
  }
}

function hostIdentity(ask: Ask): HostIdentity {
  const [uuid = '', boot = ''] = ask('sysctl', ['-n', 'kern.uuid', 'kern.bootsessionuuid'])
    .trim()
    .split('\n');
  return { host: uuid, boot, pidNamespace: 'darwin' };
}

function askSystem(program: string, args: readonly string[]): string {
  return execFileSync(program, [...args], {
    encoding: 'utf8',
    env: { PATH: '/bin:/usr/bin:/usr/sbin:/sbin', LC_ALL: 'C' },
    timeout: ASK_TIMEOUT_MS,
    maxBuffer: ASK_MAX_BYTES,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
}
