/** Linux: everything from /proc, without starting a process. */
import { closeSync, openSync, readdirSync, readFileSync, readlinkSync, readSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { ReeveError } from '../api/errors.ts';
import { hostOf } from '../lifecycle/installation.ts';
import { CONTAINER_BOOT } from '../lifecycle/process-identity.ts';
import { seekNamespace } from './pid-namespace.ts';
import { START_TIME_STEP_MS } from './process-table.ts';
import type {
  HostIdentity,
  ProcessDetails,
  ProcessFact,
  ProcessReading,
  ProcessTable,
} from './process-table.ts';

export function createLinuxProcessTable(root = '/proc', installation = ''): ProcessTable {
  const host = hostIdentity(root, installation);
  const read = (pid: number) => readProcess(root, pid);
  return {
    host,
    read,
    seekNamespace: (identity) => seekNamespace({ root, host, read }, identity),
    all: () => pids(root).flatMap((pid) => factOf(refuseTrouble(readProcess(root, pid)))),
    details: (pid) => detailsOf(root, pid),
    memoryOf: (asked) => new Map(asked.flatMap((pid) => memoryOf(root, pid))),
    // CLOCK_MONOTONIC, which does not count the time in suspend.
    awakeMs: () => Number(process.hrtime.bigint() / 1_000_000n),
    startedAtMs: ({ startTime }) => startedAtMs(root, startTime),
    childrenOf: (pid) => childrenOf(root, pid),
    startedWith: (assignment, among) => {
      const wanted = Buffer.from(`\0${assignment}\0`);
      return bearersOf(root, (pid) => lookIntoEnvironment(root, pid, wanted) === 'found', among);
    },
    bearing: (mark) => bearersOf(root, (pid) => markOf(root, pid) === mark),
    withheld: () => withheld(root),
  };
}

/**
 * The fields after the program name, which may itself contain spaces and parentheses: parse after the last `)`.
 * state 3, ppid 4, pgrp 5, session 6, num_threads 20, starttime 22, counted from 1 as in proc_pid_stat(5).
 */
export function parseStat(text: string): ProcessFact | null {
  const open = text.indexOf('(');
  const close = text.lastIndexOf(')');
  if (open === -1 || close === -1) return null;
  const fields = text.slice(close + 2).split(' ');
  const field = (number: number) => fields[number - 3] ?? '';
  const pid = Number(text.slice(0, open));
  const startTime = field(22);
  // Nonsense must not become a start time: it would differ from the one on record, and so prove a death.
  if (!Number.isInteger(pid) || !/^\d+$/.test(startTime)) return null;
  return {
    pid,
    parentPid: Number(field(4)),
    groupId: Number(field(5)),
    sessionId: Number(field(6)),
    startTime,
    // The main thread of a program may exit before the others: it then looks like a zombie, and the program works on.
    isStopped: field(3) === 'T' || field(3) === 't',
    isZombie: (field(3) === 'Z' || field(3) === 'X') && Number(field(20)) <= 1,
    name: text.slice(open + 1, close),
  };
}

function readProcess(root: string, pid: number): ProcessReading {
  try {
    const fact = parseStat(readLine(`${root}/${pid}/stat`));
    return fact === null ? { is: 'unreadable', because: 'its stat makes no sense' } : { is: 'there', fact };
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ESRCH') return { is: 'gone' };
    if (code !== 'ENOENT') return { is: 'unreadable', because: `reading it gave ${code}`, code };
    return isHidden(pid) ? { is: 'unreadable', because: 'it is hidden from this user' } : { is: 'gone' };
  }
}

/** Far longer than any line of stat. One buffer for all, for thousands are read in a row, each used before the next. */
const line = Buffer.alloc(4096);

/** Opened, read once and closed: half the system calls of `readFileSync`, which asks for the size and for the end too. */
function readLine(path: string): string {
  const file = openSync(path, 'r');
  try {
    return line.toString('latin1', 0, readSync(file, line, 0, line.length, 0));
  } finally {
    closeSync(file);
  }
}

/** With /proc mounted hidepid, another user's process has no entry although it lives; signal 0 still finds it. */
function isHidden(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) !== 'ESRCH';
  }
}

function factOf(reading: ProcessReading): ProcessFact[] {
  return reading.is === 'there' ? [reading.fact] : [];
}

/** Whom the kernel hides is another user's, or gone. Any other failure is this process's own, and then nobody is known. */
const HIDDEN = new Set(['ENOENT', 'ESRCH', 'EACCES', 'EPERM']);

function refuseTrouble(reading: ProcessReading): ProcessReading {
  if (reading.is === 'unreadable' && reading.code !== undefined && !HIDDEN.has(reading.code))
    throw trouble(reading.because);
  return reading;
}

function trouble(because: string): ReeveError {
  return new ReeveError('process_table', `The process table could not be read whole: ${because}.`, {
    hint: 'Nothing was concluded from it. Try again; if it stays, look at the limits of open files and of memory.',
  });
}

function pids(root: string): number[] {
  return readdirSync(root).map(Number).filter(Number.isInteger);
}

/**
 * Who bears a sign, each as it was read before it was seen to bear it: so it is the same process, also when the pid passes
 * on in between.
 */
function bearersOf(
  root: string,
  bears: (pid: number) => boolean,
  among: Iterable<number> = everybody(root),
): ProcessFact[] {
  const found: ProcessFact[] = [];
  for (const pid of among) {
    const facts = bears(pid) ? factOf(refuseTrouble(readProcess(root, pid))) : [];
    if (facts.length > 0 && bears(pid)) found.push(...facts);
  }
  return found;
}

/** Some ten times as many as were needed for a process that is another one every three milliseconds, on a busy machine. */
const LISTINGS = 50;

/**
 * Everybody in the list of processes, and then whoever came to be while they were looked at, until nobody did. In one
 * list alone a process that forks and exits all the time stands under a pid that is gone when its turn comes: it is the
 * youngest, so its turn is the last.
 */
function* everybody(root: string): Generator<number> {
  const seen = new Set<number>();
  for (let listing = 0; listing < LISTINGS; listing += 1) {
    const youngest = lastPid(root);
    const unseen = pids(root).filter((pid) => !seen.has(pid));
    if (unseen.length === 0) return;
    for (const pid of unseen) {
      seen.add(pid);
      yield pid;
    }
    if (youngest !== null && youngest === lastPid(root)) return;
  }
}

/** The pid that the kernel has given out last, as its last word on the load: while it stays, nobody comes to be. */
function lastPid(root: string): string | null {
  try {
    return readLine(`${root}/loadavg`).trimEnd().split(' ').at(-1) ?? null;
  } catch {
    return null;
  }
}

function detailsOf(root: string, pid: number): ProcessDetails | null {
  try {
    const first = readFileSync(`${root}/${pid}/cmdline`, 'utf8');
    const place = (first === '' ? livingThread(root, pid) : null) ?? `${root}/${pid}`;
    const argv = (first === '' ? readFileSync(`${place}/cmdline`, 'utf8') : first).split('\0').slice(0, -1);
    return {
      argv,
      cwd: () => linkIfThere(`${place}/cwd`)[0] ?? null,
      environment: () => Object.fromEntries(environmentOf(place)),
      openFiles: () => openFilesOf(place),
    };
  } catch {
    return null;
  }
}

/**
 * Where the kernel still shows what a program was started with when its main thread has exited: with another thread.
 * Null when there is no other.
 */
function livingThread(root: string, pid: number): string | null {
  try {
    const other = readdirSync(`${root}/${pid}/task`).find((thread) => thread !== String(pid));
    return other === undefined ? null : `${root}/${pid}/task/${other}`;
  } catch {
    return null;
  }
}

function environmentOf(place: string): [string, string][] {
  try {
    return readFileSync(`${place}/environ`, 'utf8')
      .split('\0')
      .flatMap((entry) => {
        const at = entry.indexOf('=');
        return at > 0 ? [[entry.slice(0, at), entry.slice(at + 1)]] : [];
      });
  } catch {
    return [];
  }
}

function openFilesOf(place: string): string[] {
  try {
    return readdirSync(`${place}/fd`).flatMap((number) => linkIfThere(`${place}/fd/${number}`));
  } catch {
    return [];
  }
}

/** What is not shared with a file: that is the same memory for all who have it, and would be counted again and again. */
function memoryOf(root: string, pid: number): [pid: number, bytes: number][] {
  try {
    const kilobytes = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`${root}/${pid}/status`, 'latin1'))?.[1];
    return kilobytes === undefined ? [] : [[pid, Number(kilobytes) * 1024]];
  } catch {
    return []; // Gone, or not to be looked at.
  }
}

function startedAtMs(root: string, startTime: string): number | null {
  const boot = /^btime (\d+)$/m.exec(readFileSync(`${root}/stat`, 'latin1'))?.[1];
  return boot === undefined ? null : Number(boot) * 1000 + Number(startTime) * START_TIME_STEP_MS;
}

/** Each thread has a list of its own: a program may start another from any of them. */
function childrenOf(root: string, pid: number): number[] | null {
  try {
    return readdirSync(`${root}/${pid}/task`).flatMap((thread) => childrenOfThread(root, pid, thread));
  } catch {
    return null;
  }
}

function childrenOfThread(root: string, pid: number, thread: string): number[] {
  try {
    return readFileSync(`${root}/${pid}/task/${thread}/children`, 'latin1')
      .split(' ')
      .filter(Boolean)
      .map(Number);
  } catch (error) {
    // A thread that has ended has handed its children on to another one of the process.
    const code = codeOf(error);
    if (code === 'ESRCH' || (code === 'ENOENT' && thread !== String(pid))) return [];
    throw error;
  }
}

/** As long as an environment may be that is looked at in one read; few are longer, and those are read whole. */
const environment = Buffer.alloc(256 * 1024);

/** `withheld`: it is there, and the kernel does not show its environment to this user. */
function lookIntoEnvironment(root: string, pid: number, wanted: Buffer): 'found' | 'not_found' | 'withheld' {
  try {
    return shownEnvironment(root, pid)?.includes(wanted) === true ? 'found' : 'not_found';
  } catch (error) {
    const code = codeOf(error);
    if (!HIDDEN.has(code)) throw trouble(`reading the environment of process ${pid} gave ${code}`);
    return code === 'EACCES' || code === 'EPERM' ? 'withheld' : 'not_found';
  }
}

/** Of a program whose main thread has exited it is shown, or denied to all but root, as nothing: then another thread tells. */
function shownEnvironment(root: string, pid: number): Buffer | null {
  let denied: unknown = null;
  try {
    const text = readEnvironment(`${root}/${pid}`);
    if (text !== null) return text;
  } catch (error) {
    if (!HIDDEN.has(codeOf(error))) throw error;
    denied = error;
  }
  const place = livingThread(root, pid);
  if (place !== null) return readEnvironment(place);
  if (denied !== null) throw denied;
  return null;
}

/**
 * With a NUL before the first entry too, as every other has the end of the one before. Used before the next is read.
 * Null when there is none: of a thread that has exited, and of one of the kernel's own.
 */
function readEnvironment(place: string): Buffer | null {
  const file = openIfLiving(`${place}/environ`);
  if (file === null) return null;
  try {
    const length = 1 + readSync(file, environment, 1, environment.length - 1, 0);
    if (length === 1) return null;
    if (length < environment.length) return environment.subarray(0, length);
    return Buffer.concat([Buffer.alloc(1), readFileSync(`${place}/environ`)]);
  } finally {
    closeSync(file);
  }
}

function openIfLiving(path: string): number | null {
  try {
    return openSync(path, 'r');
  } catch (error) {
    if (codeOf(error) === 'ESRCH') return null;
    throw error;
  }
}

const NOTHING = Buffer.from('\0\0');

function withheld(root: string): ProcessFact[] {
  const user = process.getuid?.() ?? 0;
  return pids(root).flatMap((pid) =>
    lookIntoEnvironment(root, pid, NOTHING) === 'withheld' && userOf(root, pid) === user
      ? factOf(readProcess(root, pid))
      : [],
  );
}

/** Not by the owner of the files in /proc: those of a process that withholds its environment belong to root. */
function userOf(root: string, pid: number): number | null {
  try {
    const user = /^Uid:\s+(\d+)/m.exec(readLine(`${root}/${pid}/status`))?.[1];
    return user === undefined ? null : Number(user);
  } catch {
    return null;
  }
}

/** The hard limit, which nobody but root can put back once it is lower; the soft one any program may set. */
function markOf(root: string, pid: number): string | null {
  try {
    return /^Max file locks +\S+ +(\d+) /m.exec(readLine(`${root}/${pid}/limits`))?.[1] ?? null;
  } catch (error) {
    const code = codeOf(error);
    if (!HIDDEN.has(code)) throw trouble(`reading the limits of process ${pid} gave ${code}`);
    return null;
  }
}

function hostIdentity(root: string, installation: string): HostIdentity {
  const [self] = linkIfThere(`${root}/self`);
  if (self !== undefined && self !== String(process.pid)) {
    throw new ReeveError(
      'process_table',
      `${root} shows another pid namespace than the one this process is in.`,
      {
        hint: 'Mount it anew inside the namespace (unshare --mount-proc): pids read there mean other processes here.',
      },
    );
  }
  return {
    host: hostOf(hostname(), installation),
    boot: bootId(root),
    // Start times are counted from the boot as the time namespace has it, so that is part of what a pid means.
    pidNamespace: [readlinkSync(`${root}/self/ns/pid`), ...linkIfThere(`${root}/self/ns/time`)].join(' '),
  };
}

function bootId(root: string): string {
  const path = `${root}/sys/kernel/random/boot_id`;
  const id = readFileSync(path, 'latin1').trim();
  // What was mounted over the kernel's own is a file of another file system.
  return statSync(path).dev === statSync(root).dev ? id : CONTAINER_BOOT + id;
}

function linkIfThere(path: string): string[] {
  try {
    return [readlinkSync(path)];
  } catch {
    return [];
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'an unknown error';
}
