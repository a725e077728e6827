/**
 * Node puts a terminal back as it found it when it exits, and aborts when it cannot: a command whose terminal was closed
 * would die of SIGABRT, whatever it was about to exit with. A descriptor that leads elsewhere by then is left alone.
 */
import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { isatty } from 'node:tty';

export function leaveClosedTerminal(): void {
  const terminals = [0, 1, 2].filter((descriptor) => isatty(descriptor));
  if (terminals.length === 0) return;
  process.on('exit', () => {
    for (const descriptor of terminals) if (!isatty(descriptor)) replace(descriptor);
  });
}

/** What is opened gets the lowest number that is free: those below are open, as they were when this program began. */
function replace(descriptor: number): void {
  closeSync(descriptor);
  openSync(devNull, 'r+');
}
