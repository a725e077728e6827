/** `child ls`: what runs started. Starting one is in run.ts, with the other starts. */
import { withReeve } from '../with-reeve.ts';
import { linesOf, outputWidth, printLines } from '../output.ts';
import type { OutputOptions } from '../output.ts';
import { renderChildren } from '../render/children.ts';
import { dim } from '../render/style.ts';

export async function childLs(reference: string | undefined, options: OutputOptions): Promise<number> {
  return withReeve(async (reeve) => {
    const children = await reeve.children(reference);
    const text =
      children.length === 0
        ? [dim('No children. From inside a run: reeve child run -- COMMAND')]
        : linesOf(renderChildren(children, Date.now(), outputWidth()));
    printLines(options, { children }, text);
    return 0;
  });
}
