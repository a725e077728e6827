import type { Reeve } from '../supervisor/reeve.ts';
import { LogText } from './log-text.ts';

/** Copies a run's log, to a terminal only its text and colours unless asked. Ctrl-C ends the copying, never the run. */
export async function followLog(
  reeve: Reeve,
  reference: string,
  options: { follow: boolean; lines?: number | undefined; raw?: boolean | undefined },
): Promise<void> {
  const leave = new AbortController();
  const onInterrupt = () => leave.abort();
  process.once('SIGINT', onInterrupt);
  // Nobody sees it any more, which is said where it is noticed.
  process.stdout.once('error', onInterrupt);
  try {
    const { follow, lines } = options;
    const text = process.stdout.isTTY && options.raw !== true ? new LogText() : null;
    for await (const chunk of reeve.logs(reference, { follow, lines, signal: leave.signal })) {
      await write(text?.take(chunk) ?? chunk);
    }
    if (text !== null) await write(text.end());
  } finally {
    process.off('SIGINT', onInterrupt);
    process.stdout.off('error', onInterrupt);
  }
}

async function write(text: string | Uint8Array): Promise<void> {
  if (text.length === 0 || process.stdout.write(text)) return;
  await new Promise<void>((resolve) => {
    const done = () => {
      for (const event of ['drain', 'error'] as const) process.stdout.off(event, done);
      resolve();
    };
    for (const event of ['drain', 'error'] as const) process.stdout.on(event, done);
  });
}
