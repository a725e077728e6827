/** After an update: the same command line again, by the program that is on disk now. This process only waits for it. */
import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { programOnDisk } from '../supervisor/own-program.ts';

/** An update has the program away for some seconds. After that nobody knows whether there will be one again. */
const AWAY_LIMIT_MS = 60_000;
const POLL_MS = 200;

export async function goOnAnew(): Promise<number> {
  const ending = new AbortController();
  const end = () => ending.abort();
  process.on('SIGTERM', end).on('SIGINT', end);
  for (let waitedMs = 0; programOnDisk().is === 'gone' && waitedMs < AWAY_LIMIT_MS; waitedMs += POLL_MS) {
    if (ending.signal.aborted) return 0;
    await sleep(POLL_MS);
  }
  process.off('SIGTERM', end).off('SIGINT', end);
  const child = spawn(process.execPath, [...process.execArgv, ...process.argv.slice(1)], {
    stdio: 'inherit',
  });
  process.on('SIGTERM', (signal) => child.kill(signal));
  // A terminal has told it as well.
  process.on('SIGINT', () => {});
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}
