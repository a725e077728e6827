/** The shapes that the pages have in their tables. */
import { codeIn, rowsOf } from './page.ts';
import type { Page } from './page.ts';
import { shapeFrom, sorted } from './shape.ts';
import type { Shape } from './shape.ts';
import { commandLines } from './synopsis.ts';

/** Finds a shape by its name in the first of these pages that has it. */
export function namedShapes(pages: readonly Page[]): (name: string) => Shape {
  const rows = pages.flatMap((page) => rowsOf(page, 'shape'));
  const named = (name: string): Shape => {
    const row = rows.find(([each]) => each === name);
    if (row === undefined) throw new Error(`there is no shape ${name}`);
    return shapeFrom(shapesIn(row[1] ?? '').join(' or '), named);
  };
  return named;
}

/** What cli.md says that each verb prints. `completion bash|zsh|fish` is three. */
export function printedShapes(cli: Page): Record<string, Shape> {
  const named = namedShapes([cli]);
  const rows = rowsOf(cli, 'with `--json`').flatMap(([verbs = '', shape = '']) =>
    codeIn(verbs).flatMap((verb) =>
      commandLines(verb).map((words): [string, Shape] => [
        words.join(' '),
        sorted(shapeFrom(shapesIn(shape).join(' or '), named)),
      ]),
    ),
  );
  return Object.fromEntries(rows);
}

/** Those of a cell; beside them it is said when, with flags and fields. */
export function shapesIn(cell: string): string[] {
  return codeIn(cell).filter((code) => /^[[{]|^[A-Z][A-Za-z]+$/.test(code));
}
