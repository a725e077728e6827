import { ReeveError } from '../api/errors.ts';
import { openReeve } from '../supervisor/reeve.ts';
import type { Reeve } from '../supervisor/reeve.ts';
import type { Interruption } from '../supervisor/context.ts';
import { interruption } from './interruption.ts';
import { printableLine } from './printable.ts';

/** What a failover of PostgreSQL takes, that of the slower hosted ones included. */
const WAIT_SECONDS = 120;
const LONGEST_WAIT_SECONDS = 86_400;

/** What a command does with the library, which is closed whatever comes of it. */
export async function withReeve(
  work: (reeve: Reeve) => Promise<number>,
  options: { readonly interruption?: Interruption | null } = {},
): Promise<number> {
  const reeve = await openPatiently(options);
  try {
    return await work(reeve);
  } finally {
    await reeve.close();
  }
}

/** For a command that does one thing: it waits for a store that is failing over, and says so to whoever sits there. */
export function openPatiently({
  interruption: heard = interruption,
}: { readonly interruption?: Interruption | null } = {}): Promise<Reeve> {
  const patience = { forMs: waitSeconds() * 1_000, ...(process.stderr.isTTY ? { tell } : {}) };
  return openReeve({ patience, tell, ...(heard === null ? {} : { interruption: heard }) });
}

export function tell(words: string): void {
  process.stderr.write(`${printableLine(words)}\n`);
}

function waitSeconds(): number {
  const text = process.env['REEVE_STORE_WAIT'] ?? '';
  if (text === '') return WAIT_SECONDS;
  const seconds = Number(text);
  if (/^\d+$/.test(text) && seconds <= LONGEST_WAIT_SECONDS) return seconds;
  throw new ReeveError('usage', `REEVE_STORE_WAIT is ${text}, which is no number of seconds up to a day.`, {
    hint: `It says how long a command waits for a PostgreSQL that cannot be reached; by default ${WAIT_SECONDS}.`,
  });
}
