/**
 * A run's directory, written by its keeper: `started.json`, `exit.json`, and `output.log` for detached runs.
 * Files appear whole, by rename; whatever else is found there is said to be unreadable, and left as it is.
 */
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import type { ExitEvidence } from '../lifecycle/exit.ts';
import type { ProcessIdentity } from '../lifecycle/process-identity.ts';
import type { ProcessTable } from './process-table.ts';

export function createRunDirectory(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
}

export function logPathIn(runDirectory: string): string {
  return join(runDirectory, 'output.log');
}

export function readExit(runDirectory: string, runId: string): ExitEvidence {
  const path = join(runDirectory, 'exit.json');
  const read = readRecord(path, runId);
  if (read.is === 'absent') return { kind: 'none', ...oomKillsSince(runDirectory, runId) };
  if (read.is === 'unreadable') return { kind: 'unreadable', because: read.because };
  return exitFrom(read.record, writtenAtMs(path));
}

/** The same from the text of a record that could not be kept. */
export function parseExit(text: string, runId: string, atMs: number): ExitEvidence {
  const read = parseRecord(text, runId, 'what the keeper handed on');
  return read.is === 'read' ? exitFrom(read.record, atMs) : { kind: 'none' };
}

function exitFrom(record: Readonly<Record<string, unknown>>, atMs: number): ExitEvidence {
  const { notStarted, code, signal, uptime, oomKills, left, adopted, hungUp } = record;
  if (adopted === true) return { kind: 'unseen', atMs };
  if (typeof notStarted === 'string') return { kind: 'not_started', reason: notStarted, atMs };
  const exitCode = wholeOrNull(code);
  const exitSignal = signalName(wholeOrNull(signal));
  if ((exitCode === null) === (exitSignal === null)) {
    return { kind: 'unreadable', because: 'it has neither or both of an exit code and a signal' };
  }
  return {
    kind: 'exited',
    code: exitCode,
    signal: exitSignal,
    atMs,
    uptimeMs:
      typeof uptime === 'string' && /^\d+(\.\d+)?$/.test(uptime) ? Math.round(Number(uptime) * 1000) : null,
    oomKills: wholeOrNull(oomKills),
    ...(hungUp === true ? { hungUp } : {}),
    ...(Array.isArray(left) && left.length > 0 ? { leftBehind: left.map(String) } : {}),
  };
}

/** The kernel counts what it kills for want of memory; the harness noted the count when it started. */
function oomKillsSince(runDirectory: string, runId: string): { oomKills?: number } {
  const read = readRecord(join(runDirectory, 'started.json'), runId);
  const before = read.is === 'read' ? wholeOrNull(read.record['oomKills']) : null;
  const now = /^oom_kill (\d+)$/m.exec(readIfThere('/proc/vmstat'))?.[1];
  return before === null || now === undefined ? {} : { oomKills: Math.max(0, Number(now) - before) };
}

function readIfThere(path: string): string {
  return existsSync(path) ? readFileSync(path, 'latin1') : '';
}

/** The harness as its own process recorded it before it executed; null when that is not, or not yet, known. */
export function readStarted(
  runDirectory: string,
  runId: string,
  table: ProcessTable,
): ProcessIdentity | null {
  const read = readRecord(join(runDirectory, 'started.json'), runId);
  if (read.is !== 'read' || typeof read.record['pid'] !== 'number') return null;
  const { pid, startTime } = read.record;
  if (typeof startTime === 'string' && startTime !== '') return { ...table.host, pid, startTime };
  const reading = table.read(pid);
  return { ...table.host, pid, startTime: reading.is === 'there' ? reading.fact.startTime : null };
}

type RecordReading =
  | { is: 'read'; record: Readonly<Record<string, unknown>> }
  | { is: 'absent' }
  | { is: 'unreadable'; because: string };

function readRecord(path: string, runId: string): RecordReading {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    return code === 'ENOENT'
      ? { is: 'absent' }
      : { is: 'unreadable', because: `reading ${path} gave ${code}` };
  }
  return parseRecord(text, runId, path);
}

function parseRecord(text: string, runId: string, place: string): Exclude<RecordReading, { is: 'absent' }> {
  try {
    const record: unknown = JSON.parse(text);
    if (typeof record !== 'object' || record === null) throw new TypeError('not an object');
    const fields = Object.fromEntries(Object.entries(record));
    if (fields['run'] !== runId) return { is: 'unreadable', because: `${place} is of another run` };
    return { is: 'read', record: fields };
  } catch {
    return { is: 'unreadable', because: `${place} is not the JSON of an exit record` };
  }
}

/** The record may be removed, together with its session, between the reading of its text and of its time. */
function writtenAtMs(path: string): number {
  return Math.round(statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
}

function wholeOrNull(value: unknown): number | null {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : null;
}

function signalName(number: number | null): string | null {
  // Nought is no signal: nothing was ever killed by it.
  if (number === null || number === 0) return null;
  return Object.entries(constants.signals).find(([, value]) => value === number)?.[0] ?? `signal ${number}`;
}
