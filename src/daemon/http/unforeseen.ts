/**
 * Failures that nobody foresaw, in the log: each with its stack, but whoever can cause one can cause it ten thousand times.
 * The same failure is written once a minute, and then with how often it came in between.
 */

const EVERY_MS = 60_000;
/** Of the code that fails there are fewer places than this; what is beyond is told together. */
const MOST_PLACES = 100;

interface Told {
  readonly atMs: number;
  readonly untold: number;
}

export function unforeseen(
  log: (text: string) => void,
): (where: string, error: Error, nowMs: number) => void {
  const told = new Map<string, Told>();
  return (where, error, nowMs) => {
    const place = placeOf(where, error);
    const key = told.has(place) || told.size < MOST_PLACES ? place : '';
    const last = told.get(key);
    if (last !== undefined && nowMs - last.atMs < EVERY_MS) {
      told.set(key, { ...last, untold: last.untold + 1 });
      return;
    }
    told.set(key, { atMs: nowMs, untold: 0 });
    const more = last === undefined || last.untold === 0 ? '' : ` (and ${last.untold} times more before)`;
    log(`${where} failed${more}: ${error.stack ?? error.message}`);
  };
}

/** By where it happened: a message may quote what was sent, and so be another one each time. */
function placeOf(where: string, error: Error): string {
  const stack = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  return [where, error.name, ...(stack.length === 0 ? [error.message] : stack)].join('\n');
}
