/** Standard output that takes no more: said once, as a sentence, and the command fails, whatever else came of it. */
import { say } from './output.ts';

const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file may not become larger',
  EIO: 'its device gave an error',
};

/** What is under way goes on: an action is not left half done because nobody can be told of it. */
export function watchOutput(): void {
  let isLost = false;
  process.stdout.on('error', ({ code = 'unknown' }: NodeJS.ErrnoException) => {
    // A reader that went away (`reeve ls | head`) is not an error.
    if (code === 'EPIPE') process.exit(0);
    if (!isLost) say(`what it printed could not be written: ${REASONS[code] ?? code}.`);
    isLost = true;
  });
  process.on('exit', () => {
    if (isLost && (process.exitCode ?? 0) === 0) process.exitCode = 1;
  });
}
