/** After an update: the same command line again, by the program that is on disk now. This process only waits for it. */
import { spawn } from 'node:child_process';

export function goOnAnew(): Promise<number> {
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
