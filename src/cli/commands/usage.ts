/** `usage`: what was spent. */
import { sinceFrom } from '../../api/since-words.ts';
import type { UsageBy } from '../../api/usage-view.ts';
import { linesOf, outputWidth, printLines, say } from '../output.ts';
import type { OutputOptions } from '../output.ts';
import { renderUsage } from '../render/usage.ts';
import { openPatiently } from '../with-reeve.ts';

export async function usage(
  session: string | undefined,
  options: OutputOptions & { by?: UsageBy; since?: string; tree?: boolean; all?: boolean },
): Promise<number> {
  // Before anything is opened: a slip of the finger needs no store.
  const sinceMs = options.since === undefined ? undefined : sinceFrom(options.since, Date.now());
  const reeve = await openPatiently();
  try {
    const view = await reeve.usage({ session, by: options.by, sinceMs, tree: options.tree });
    for (const problem of view.problems) say(`incomplete: ${problem}`);
    const range = options.all === true ? 'all' : 'most';
    printLines(options, view, options.json === true ? [] : linesOf(renderUsage(view, outputWidth(), range)));
    return 0;
  } finally {
    await reeve.close();
  }
}
