/**
 * A run's directory, written by its keeper: `started.json`, `exit.json`, and `output.log` for detached runs.
 * Files appear whole, by rename; whatever else is found there is said to be malformed, and left as it is. A file that
 * could not be read is neither: see reading.ts.
 */
import { mkdirSync, statSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import type { ExitEvidence, ExitReading } from '../lifecycle/exit.ts';
import type { ProcessIdentity } from '../lifecycle/process-identity.ts';
import type { ProcessTable } from './process-table.ts';
import { readText } from './reading.ts';
import type { Reading } from './reading.ts';

export function createRunDirectory(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
}

export function logPathIn(runDirectory: string): string {
  return join(runDirectory, 'output.log');
}

export function readExit(runDirectory: string, runId: string): ExitReading {
  const path = join(runDirectory, 'exit.json');
  const reading = readRecord(path, runId);
  switch (reading.is) {
    case 'absent':
      return { kind: 'none', ...oomKillsSince(runDirectory, runId) };
    case 'malformed':
    case 'failed':
      return { kind: reading.is, because: reading.because };
    case 'read':
      return exitFrom(reading.value, writtenAtMs(path));
  }
}

/** The same from the text of a record that could not be kept. */
export function parseExit(text: string, runId: string, atMs: number): ExitEvidence {
  const reading = parseRecord(text, runId, 'what the keeper handed on');
  return reading.is === 'read' ? exitFrom(reading.value, atMs) : { kind: 'none' };
}

function exitFrom(record: Fields, atMs: number): ExitEvidence {
  const { notStarted, code, signal, uptime, oomKills, left, adopted, hungUp } = record;
  const uptimeMs =
    typeof uptime === 'string' && /^\d+(\.\d+)?$/.test(uptime) ? Math.round(Number(uptime) * 1000) : null;
  if (adopted === true) return { kind: 'unseen', atMs, uptimeMs };
  if (typeof notStarted === 'string') return { kind: 'not_started', reason: notStarted, atMs };
  const exitCode = wholeOrNull(code);
  const exitSignal = signalName(wholeOrNull(signal));
  if ((exitCode === null) === (exitSignal === null)) {
    return { kind: 'malformed', because: 'it has neither or both of an exit code and a signal' };
  }
  return {
    kind: 'exited',
    code: exitCode,
    signal: exitSignal,
    atMs,
    uptimeMs,
    oomKills: wholeOrNull(oomKills),
    ...(hungUp === true ? { hungUp } : {}),
    ...(Array.isArray(left) && left.length > 0 ? { leftBehind: left.map(String) } : {}),
  };
}

/** The kernel counts what it kills for want of memory; the harness noted the count when it started. Only told, if known. */
function oomKillsSince(runDirectory: string, runId: string): { oomKills?: number } {
  const started = readRecord(join(runDirectory, 'started.json'), runId);
  const before = started.is === 'read' ? wholeOrNull(started.value['oomKills']) : null;
  const counters = readText('/proc/vmstat');
  const now = counters.is === 'read' ? /^oom_kill (\d+)$/m.exec(counters.value)?.[1] : undefined;
  return before === null || now === undefined ? {} : { oomKills: Math.max(0, Number(now) - before) };
}

/** The harness as its own process recorded it before it executed. */
export function readStarted(
  runDirectory: string,
  runId: string,
  table: ProcessTable,
): Reading<ProcessIdentity> {
  const path = join(runDirectory, 'started.json');
  const reading = readRecord(path, runId);
  if (reading.is !== 'read') return reading;
  const { pid, startTime } = reading.value;
  if (typeof pid !== 'number') return { is: 'malformed', because: `${path} has no pid` };
  if (typeof startTime === 'string' && startTime !== '') {
    return { is: 'read', value: { ...table.host, pid, startTime } };
  }
  const seen = table.read(pid);
  return {
    is: 'read',
    value: { ...table.host, pid, startTime: seen.is === 'there' ? seen.fact.startTime : null },
  };
}

/**
 * Since when signals reach the harness: it writes its record after it has ceased to ignore them, and before it executes.
 * Where that is not known, it has not got any.
 */
export function harnessSinceMs(runDirectory: string): number {
  try {
    return statSync(join(runDirectory, 'started.json')).mtimeMs;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

type Fields = Readonly<Record<string, unknown>>;

function readRecord(path: string, runId: string): Reading<Fields> {
  const reading = readText(path);
  return reading.is === 'read' ? parseRecord(reading.value, runId, path) : reading;
}

function parseRecord(text: string, runId: string, place: string): Reading<Fields> {
  try {
    const record: unknown = JSON.parse(text);
    if (typeof record !== 'object' || record === null) throw new TypeError('not an object');
    const fields = Object.fromEntries(Object.entries(record));
    if (fields['run'] !== runId) return { is: 'malformed', because: `${place} is of another run` };
    return { is: 'read', value: fields };
  } catch {
    return { is: 'malformed', because: `${place} is not the JSON of a keeper's record` };
  }
}

/** The record may be removed, together with its session, between the reading of its text and of its time. */
function writtenAtMs(path: string): number {
  try {
    return Math.round(statSync(path).mtimeMs);
  } catch {
    return Date.now();
  }
}

function wholeOrNull(value: unknown): number | null {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : null;
}

function signalName(number: number | null): string | null {
  // Nought is no signal: nothing was ever killed by it.
  if (number === null || number === 0) return null;
  return Object.entries(constants.signals).find(([, value]) => value === number)?.[0] ?? `signal ${number}`;
}
