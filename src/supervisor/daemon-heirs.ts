/**
 * Who is about to serve. Between the end of one daemon and the record of the next there is a moment without any, and
 * whoever asks in it must neither be told that there is none, nor that the last one is gone for good.
 *
 *   announced (by the daemon that gives way, as soon as it has started the other; or by the replacing command itself)
 *     -> on record as the daemon, and not announced any more
 *     -> dead before that, which whoever looks next sees
 *
 * Each has a file of its own, for several may be started at once. A file says nothing of a process that is gone.
 */
import { readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ProcessIdentity } from '../lifecycle/process-identity.ts';
import { probe } from '../process/liveness.ts';
import { identify } from '../process/process-table.ts';
import { readText, unread } from '../process/reading.ts';
import type { Machine } from './context.ts';
import { daemonPlace, prepareDaemonPlace } from './daemon-place.ts';
import type { Home } from './home.ts';

export interface Heir {
  readonly process: ProcessIdentity;
  /** Which build it is taken for by whoever started it; not there of one that a person started. */
  readonly build?: string;
}

const NAME = /^heir-\d+\.json$/;

export function announceHeir(machine: Machine, pid: number, build?: string): void {
  const heir: Heir = { process: identify(machine.table, pid), ...(build === undefined ? {} : { build }) };
  prepareDaemonPlace(machine.home);
  const file = fileOf(machine.home, pid);
  writeFileSync(`${file}.new`, `${JSON.stringify(heir)}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

export function forgetHeir(home: Home, pid: number): void {
  rmSync(fileOf(home, pid), { force: true });
}

/** Whoever also reads the record of the daemon does that afterwards: an heir is announced until it is on record. */
export function livingHeirs(machine: Machine): readonly Heir[] {
  const { directory } = daemonPlace(machine.home);
  return namesIn(directory)
    .map((name) => readHeir(join(directory, name)))
    .filter((heir) => heir !== null)
    .filter(({ process }) => probe(machine.table, process).is === 'alive');
}

/** As the one that is running here was announced, by another one. */
export function ownHeirdom(machine: Machine): Heir | null {
  return livingHeirs(machine).find((heir) => heir.process.pid === process.pid) ?? null;
}

/** Those that died before they served; by the one that serves. */
export function forgetDeadHeirs(machine: Machine): void {
  const living = new Set(livingHeirs(machine).map((heir) => heir.process.pid));
  const { directory } = daemonPlace(machine.home);
  for (const name of namesIn(directory)) {
    const pid = Number(/\d+/.exec(name)?.[0]);
    if (!living.has(pid)) forgetHeir(machine.home, pid);
  }
}

function fileOf(home: Home, pid: number): string {
  return join(daemonPlace(home).directory, `heir-${pid}.json`);
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory).filter((name) => NAME.test(name));
  } catch (error) {
    // No daemon was ever here.
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
}

function readHeir(path: string): Heir | null {
  const reading = readText(path);
  if (reading.is === 'failed') throw unread(reading);
  // It is on record by now.
  if (reading.is === 'absent') return null;
  try {
    // Written above, whole or not at all; of anything else nothing is believed.
    const heir = JSON.parse(reading.value) as Partial<Heir> | null;
    return typeof heir?.process?.pid === 'number' ? (heir as Heir) : null;
  } catch {
    return null;
  }
}
