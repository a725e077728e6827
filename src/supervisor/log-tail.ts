import { statSync } from 'node:fs';
import type { LogView } from '../api/http-views.ts';
import type { Context } from './context.ts';
import { logs } from './logs.ts';
import { resolveSession, runNamed } from './resolve.ts';

/** As much as a page shows without a thought. */
const MAX_TAIL_BYTES = 1024 * 1024;

/** The last lines of a log, of which at most the last megabyte. */
export async function logTail(context: Context, reference: string, lines: number): Promise<LogView> {
  const run = await runNamed(context, await resolveSession(context, reference), reference);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of logs(context, reference, { lines })) {
    chunks.push(chunk);
    bytes += chunk.length;
    while (bytes - (chunks[0]?.length ?? 0) >= MAX_TAIL_BYTES) bytes -= chunks.shift()?.length ?? 0;
  }
  const size = run.logPath === null ? 0 : (statSync(run.logPath, { throwIfNoEntry: false })?.size ?? 0);
  return {
    run: run.id,
    logPath: run.logPath,
    text: Buffer.concat(chunks).toString('utf8'),
    isCut: size > bytes,
  };
}
