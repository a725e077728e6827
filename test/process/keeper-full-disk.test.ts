/** A keeper whose disk takes only half of an exit record. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, watch } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemCalls } from '../../src/process/containment.ts';
import { readExit } from '../../src/process/run-directory.ts';
import { eventually } from '../support/processes.ts';
import { endStarted, remember } from './started.ts';

const KEEPER = fileURLToPath(new URL('../../src/process/keeper.pl', import.meta.url));
/** Shorter than any exit record. */
const ROOM_BYTES = 40;

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'reeve-keeper-'));
});
afterEach(async () => {
  await endStarted();
  rmSync(directory, { recursive: true });
});

/** A keeper in `directory` whose harness exits with 5 at the end of the keeper's standard input. */
async function startKeeper() {
  const calls = systemCalls({ by: 'marks' });
  const numbers = [calls.prctl, calls.madvise, calls.fsync, calls.prlimit].map(String);
  const finaliser = ['0', '', 'sh', '-c', `exec touch ${directory}/finalised`];
  // A write beyond the limit is then an error like that of a full disk, and no deadly signal.
  const weathering = ['-c', 'trap "" XFSZ; exec perl "$@"', 'sh'];
  const keeper = spawn(
    'sh',
    [...weathering, KEEPER, directory, 'r-1', 'title', 'own', 'none', '', ...numbers, ...finaliser],
    { stdio: ['pipe', 'ignore', 'inherit', 'pipe', 'pipe'], env: { PATH: process.env['PATH'] } },
  );
  const seen = remember(keeper.pid ?? 0);
  const closed = once(keeper, 'close');
  // Made by the last two 'pipe' entries, which Node gives as duplex streams.
  const [orders, reports] = [keeper.stdio[3], keeper.stdio[4]] as [Duplex, Duplex];
  orders.end(['0', directory, '0', '', '0', '3', 'sh', '-c', 'read line; exit 5', 'go'].join('\0'));
  const [report] = await once(reports, 'data');
  remember(Number(/^executing (\d+)\n$/.exec(String(report))?.[1]));
  return { seen, closed, endHarness: () => keeper.stdin?.end() };
}

/** Counts how often part of an exit record, still under its temporary name, has reached the disk. */
function countParts() {
  let count = 0;
  const watcher = watch(directory, (event, name) => {
    if (event === 'change' && name?.startsWith('.exit.json.')) count += 1;
  });
  return { count: () => count, close: () => watcher.close() };
}

it('never shows half an exit record, holds the exit back, and records it once there is space', async () => {
  const keeper = await startKeeper();
  const limit = (bytes: number | 'unlimited') =>
    execFileSync('prlimit', ['--pid', String(keeper.seen.pid), `--fsize=${bytes}:`]);
  const parts = countParts();
  try {
    limit(ROOM_BYTES);
    keeper.endHarness();
    await eventually(
      'it has tried again, or shows what it has',
      () => parts.count() > 1 || existsSync(join(directory, 'exit.json')),
    );
    expect(readExit(directory, 'r-1')).toMatchObject({ kind: 'none' });
    limit('unlimited');
    await keeper.closed;
  } finally {
    parts.close();
  }
  expect(readExit(directory, 'r-1')).toMatchObject({ kind: 'exited', code: 5, signal: null });
  expect(readdirSync(directory).toSorted()).toEqual(['exit.json', 'finalised', 'started.json']);
});
