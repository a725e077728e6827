/**
 * What a keeper becomes when its harness has ended: sweep, outcome, once. It runs in the keeper's own process, so
 * that it is still the one to whom the tree's orphans come. If it fails, the exit record stays for the next reader.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { finaliseOwn } from '../supervisor/finalise-own.ts';

/**
 * A store that is locked, full or away for longer than this, which is longer than a failover, is left to
 * the next reader, and so is a state directory that cannot be entered.
 */
const ATTEMPTS = 30;
const GIVE_UP_AFTER_MS = 120_000;
const PAUSE_MS = 1_000;

// A terminal's Ctrl-C or hang-up is meant for the harness, which has already ended; the last two for the keeper.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const)
  process.on(signal, () => {});

void main(process.argv[2] ?? '', process.argv[3] ?? '');

async function main(runId: string, record: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      process.exitCode = (await finaliseOwn(runId, record)) ? 0 : 1;
      return;
    } catch (error) {
      process.exitCode = 1;
      if (attempt === ATTEMPTS || performance.now() > GIVE_UP_AFTER_MS || !isPassing(error)) return;
      await sleep(PAUSE_MS);
    }
  }
}

/** The daemon of an older Reeve gives way to a newer one by itself, within seconds. */
const PASSING = new Set(['store_unavailable', 'store_full', 'state_directory', 'daemon_older', 'EACCES']);

function isPassing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && PASSING.has(String(error.code));
}
