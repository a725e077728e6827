/**
 * A control group of the run's own, where one may be made: no process leaves it by forking, and the kernel ends all of it
 * at once. Root, and whoever was given a part of the hierarchy, can move a process out: so an empty one proves nothing by
 * itself, and one that is missing even less. It is made below the cgroup of the caller, so it needs no rights beyond what a session manager delegates;
 * inside another run it is made beside that run's, which could not be ended without it otherwise.
 */
import {
  accessSync,
  constants,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

/** Null when none can be made here. */
export function createCgroup(runId: string): string | null {
  const base = placeForRuns();
  if (base === null) return null;
  const path = join(base, `reeve-${runId}`);
  try {
    // To move a process one must be allowed to write to the common ancestor too.
    accessSync(join(base, 'cgroup.procs'), constants.W_OK);
    mkdirSync(path);
    accessSync(join(path, 'cgroup.kill'), constants.W_OK);
    return path;
  } catch {
    removeCgroup(path);
    return null;
  }
}

/** Out of the cgroup of the run inside which this happens, if it is in one. False: it could not be taken out. */
export function leaveCgroupOfRun(pid: number): boolean {
  const [own, base] = [ownCgroup(), placeForRuns()];
  if (own === null || base === null || own === base) return true;
  try {
    writeFileSync(join(base, 'cgroup.procs'), String(pid));
    return true;
  } catch {
    return false;
  }
}

/** The caller's own cgroup, or above the runs inside which the caller is. */
function placeForRuns(): string | null {
  return ownCgroup()?.replace(/\/reeve-r-[^/]*(\/.*)?$/, '') ?? null;
}

export interface CgroupReading {
  /** Those in its sub-cgroups too. A cgroup that is not there holds nothing. */
  readonly pids: readonly number[];
  /** What could not be read of it; null when all could be. */
  readonly unreadable: string | null;
}

/** Never throws: what is wrong with one run's cgroup must not keep anybody from looking at the others. */
export function readCgroup(path: string): CgroupReading {
  try {
    const below = subCgroups(path).map(readCgroup);
    return {
      pids: [...new Set([...processesIn(path), ...below.flatMap(({ pids }) => pids)])],
      unreadable: below.find(({ unreadable }) => unreadable !== null)?.unreadable ?? null,
    };
  } catch (error) {
    return { pids: [], unreadable: isGone(error) ? null : `reading ${path} gave ${codeOf(error)}` };
  }
}

export function cgroupPids(path: string): readonly number[] {
  return readCgroup(path).pids;
}

/** A threaded cgroup lists threads only: two threads of one process may be in different ones. */
function processesIn(path: string): readonly number[] {
  try {
    return numbersIn(join(path, 'cgroup.procs'));
  } catch (error) {
    if (codeOf(error) !== 'ENOTSUP') throw error;
    return numbersIn(join(path, 'cgroup.threads')).flatMap(processOfThread);
  }
}

function processOfThread(thread: number): number[] {
  try {
    const process = /^Tgid:\s+(\d+)$/m.exec(readFileSync(`/proc/${thread}/status`, 'latin1'))?.[1];
    return process === undefined ? [] : [Number(process)];
  } catch {
    return []; // Gone meanwhile.
  }
}

function numbersIn(path: string): readonly number[] {
  return readFileSync(path, 'latin1').split('\n').filter(Boolean).map(Number);
}

/** As the kernel counts it, at one instant: no look at pids, however quick, can miss a process that keeps forking. */
export function isPopulated(path: string): boolean | 'unknown' {
  try {
    return /^populated 1$/m.test(readFileSync(join(path, 'cgroup.events'), 'latin1'));
  } catch (error) {
    return isGone(error) ? false : 'unknown';
  }
}

/** What is frozen hears no signal but SIGKILL. A harness may have frozen a part of itself, to any depth. */
export function thawCgroup(path: string): void {
  try {
    const freeze = join(path, 'cgroup.freeze');
    if (readFileSync(freeze, 'latin1').trim() === '1') writeFileSync(freeze, '0');
    for (const below of subCgroups(path)) thawCgroup(below);
  } catch {
    // Gone, or another user's: then it is killed after the grace, or named.
  }
}

/**
 * Only a cgroup that this run's launch made is ever killed: the path ends in the run's own id. Answers whether the kernel
 * took the order, which asks nobody's user.
 */
export function killCgroup(path: string, runId: string): boolean {
  if (!path.endsWith(`/reeve-${runId}`)) throw new Error(`${path} is not the cgroup of run ${runId}.`);
  try {
    writeFileSync(join(path, 'cgroup.kill'), '1');
    return true;
  } catch {
    // Gone, or another user's: then the rest of the ladder finds nobody, or names those it could not end.
    return false;
  }
}

/** An empty cgroup that cannot be removed costs nothing and harms nobody. */
export function removeCgroup(path: string): void {
  try {
    for (const sub of subCgroups(path)) removeCgroup(sub);
    rmdirSync(path);
  } catch {
    // Not there, or still held by a zombie: the kernel gives it back with the last of them.
  }
}

function subCgroups(path: string): readonly string[] {
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(path, entry.name));
}

function ownCgroup(): string | null {
  try {
    const mount = readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .find((line) => line.includes(' - cgroup2 '))
      ?.split(' ');
    const own = /^0::(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1];
    const [root, point] = [mount?.[3], mount?.[4]];
    // A mount that shows another part of the hierarchy than ours would need translating; nobody has needed it yet.
    if (root !== '/' || point === undefined || own === undefined || own.includes('..')) return null;
    return join(point, own);
  } catch {
    return null;
  }
}

function isGone(error: unknown): boolean {
  return codeOf(error) === 'ENOENT' || codeOf(error) === 'ENODEV';
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'an unknown error';
}
