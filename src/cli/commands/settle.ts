import { printLines, say } from '../output.ts';
import type { OutputOptions } from '../output.ts';
import { withReeve } from '../with-reeve.ts';

/** 7 while something is left of which nothing can be proven. */
export async function settle(
  references: readonly string[],
  options: OutputOptions & { readonly hostGone?: string },
): Promise<number> {
  return withReeve(async (reeve) => {
    const result = await reeve.settle(references, { hostGone: options.hostGone });
    const { settled, remaining } = result;
    const lines = settled.map(
      ({ session, run, outcome, evidence }) =>
        `${session}: run ${run} ended as ${outcome}; ${evidence.at(-1) ?? 'nothing more is known'}.`,
    );
    const isQuiet = settled.length === 0 && remaining.length === 0;
    printLines(options, result, isQuiet ? ['Nothing to settle: no run is in doubt.'] : lines);
    if (options.json !== true) {
      for (const { session, run, because, next } of remaining) {
        const how = next.startsWith('reeve ') ? 'If you know better' : 'Where its records are';
        say(`${session}: run ${run} is not settled: ${because}.`, `  ${how}: ${next}`);
      }
    }
    return remaining.length === 0 ? 0 : 7;
  });
}
