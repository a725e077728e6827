/** Reads the pages of the documentation: their tables, code and headings, as a person sees them. */
import { readFileSync } from 'node:fs';

export interface Page {
  readonly name: string;
  readonly text: string;
  /** Every table, with the cells of its head and its rows. */
  readonly tables: readonly Table[];
  /** The text of every `…` outside of code blocks; `where` is the line it stands in. */
  readonly spans: readonly Span[];
  readonly blocks: readonly { readonly language: string; readonly text: string }[];
}

interface Table {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

interface Span {
  readonly text: string;
  /** A heading, the first cell of a row, or anything else. */
  readonly place: 'heading' | 'first cell' | 'text';
}

export const PAGES = [
  'README.md',
  'docs/cli.md',
  'docs/config.md',
  'docs/http.md',
  'docs/errors.md',
] as const;

export function readPage(name: (typeof PAGES)[number]): Page {
  return pageFrom(name, readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8'));
}

export function pageFrom(name: string, text: string): Page {
  const blocks: { language: string; text: string }[] = [];
  const prose = text.replaceAll(/^```(\w*)\n([^]*?)^```$/gm, (_, language: string, code: string) => {
    blocks.push({ language, text: code });
    return '';
  });
  const lines = prose.split('\n');
  return { name, text, tables: tablesIn(lines), spans: spansIn(lines), blocks };
}

/** The rows of the one table whose first column is called so. */
export function rowsOf({ name, tables }: Page, column: string): readonly (readonly string[])[] {
  const found = tables.filter(({ head }) => head[0] === column);
  if (found.length !== 1) throw new Error(`${name} has ${found.length} tables of "${column}", not one`);
  return found[0]?.rows ?? [];
}

/** What stands between backticks. */
export function codeIn(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
}

function cellsOf(line: string): string[] {
  // A bar inside of a cell is escaped.
  return line
    .trim()
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll(String.raw`\|`, '|'));
}

function tablesIn(lines: readonly string[]): Table[] {
  const tables: { head: string[]; rows: string[][] }[] = [];
  for (const [at, line] of lines.entries()) {
    if (!line.startsWith('|')) continue;
    if (/^[|\s:-]+$/.test(line)) continue;
    if (/^\|[|\s:-]+\|$/.test(lines[at + 1] ?? '')) tables.push({ head: cellsOf(line), rows: [] });
    else tables.at(-1)?.rows.push(cellsOf(line));
  }
  return tables;
}

function spansIn(lines: readonly string[]): Span[] {
  const inTables = lines
    .filter((line) => line.startsWith('|'))
    .flatMap((line) =>
      cellsOf(line).flatMap((cell, index) => {
        const place = index === 0 ? 'first cell' : 'text';
        return codeIn(cell).map((text): Span => ({ text, place }));
      }),
    );
  const headings = lines.filter((line) => line.startsWith('#'));
  // A span may go on in the next line, a paragraph's end ends it.
  const rest = lines
    .map((line) => (/^[|#]/.test(line) ? '' : line))
    .join('\n')
    .split(/\n\s*\n/);
  return [
    ...inTables,
    ...headings.flatMap((line) => codeIn(line).map((text): Span => ({ text, place: 'heading' }))),
    ...rest.flatMap((part) =>
      codeIn(part.replaceAll(/\s*\n\s*/g, ' ')).map((text): Span => ({ text, place: 'text' })),
    ),
  ];
}
