import type { Reeve } from '../supervisor/reeve.ts';

/** Copies a run's log to the terminal. Ctrl-C ends the copying, never the run. */
export async function followLog(
  reeve: Reeve,
  reference: string,
  options: { follow: boolean; lines?: number | undefined },
): Promise<void> {
  const leave = new AbortController();
  const onInterrupt = () => leave.abort();
  process.once('SIGINT', onInterrupt);
  try {
    for await (const chunk of reeve.logs(reference, { ...options, signal: leave.signal })) {
      if (!process.stdout.write(chunk)) await new Promise((resolve) => process.stdout.once('drain', resolve));
    }
  } finally {
    process.off('SIGINT', onInterrupt);
  }
}
