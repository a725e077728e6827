/** A harness's own administration (`claude mcp list`, `codex login`): it is run as it is, and nothing of it is on record. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { constants } from 'node:os';
import { isInTerminalForeground } from '../process/terminal.ts';

const PASSED = ['SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2'] as const;

/** Its exit code, or null where it could not be executed: then a start says why. */
export function passBy([program = '', ...args]: readonly string[]): Promise<number | null> {
  // Held before it begins: one that comes while it is being started would end this process alone, and leave it running.
  const pass = (signal: NodeJS.Signals) => passOn(child, signal);
  for (const signal of PASSED) process.on(signal, pass);
  const child = spawn(program, args, { stdio: 'inherit' });
  return new Promise<number | null>((resolve) => {
    child.once('error', () => resolve(null));
    child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal ?? 'SIGKILL']));
  }).finally(() => {
    for (const signal of PASSED) process.off(signal, pass);
  });
}

/** It is in the same group: what the terminal sends, it has got already. */
function passOn(child: ChildProcess, signal: NodeJS.Signals): void {
  const isOfTerminal = (signal === 'SIGINT' || signal === 'SIGQUIT') && isInTerminalForeground();
  if (!isOfTerminal) child.kill(signal);
}
