/** `top`: the overview of `ls`, live. On a screen where there is one; otherwise as text; with --json once. */
import { setTimeout as sleep } from 'node:timers/promises';
import { loadWholeProgram } from '../../supervisor/own-program.ts';
import { openReeve } from '../../supervisor/reeve.ts';
import { printLines } from '../output.ts';
import type { OutputOptions } from '../output.ts';

/** A store that does not answer must not keep a person who quit. */
const CLOSING_LIMIT_MS = 1_000;

export async function top(options: OutputOptions): Promise<number> {
  if (options.json !== true) loadWholeProgram();
  const reeve = await openReeve();
  let code = 1;
  try {
    if (options.json === true) {
      printLines(options, await reeve.list('recent'), []);
      code = 0;
    } else if (hasScreen()) {
      const reviews = { list: () => reeve.reviews.list() };
      code = await (await import('../top/app.ts')).topOnScreen(reeve, reviews);
    } else code = await (await import('../top/plain.ts')).topAsText(reeve);
    return code;
  } finally {
    const isClosed = await Promise.race([
      reeve.close().then(() => true),
      sleep(CLOSING_LIMIT_MS, false, { ref: false }),
    ]);
    if (!isClosed) process.exit(code);
  }
}

function hasScreen(): boolean {
  const { TERM = 'dumb' } = process.env;
  return process.stdin.isTTY && process.stdout.isTTY && TERM !== 'dumb' && TERM !== '';
}
