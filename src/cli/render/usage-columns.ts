/**
 * The columns of what was spent. A narrow terminal has fewer of them: the kinds of tokens give way one after the other,
 * the bar and the name shrink, and the total stays.
 */
import { costWords, shortCount } from '../../api/token-words.ts';
import type { SpentView } from '../../api/usage-view.ts';
import { bar } from './bar.ts';
import { lineText, span } from './line.ts';
import type { Line, Paint } from './line.ts';
import { cyan, dim, yellow } from './style.ts';
import { cut, displayWidth, padded } from './width.ts';

export interface FigureRow {
  readonly name: Line;
  readonly spent: SpentView;
  /** What the bar shows. */
  readonly bar: number;
  /** With all that is below it: a column of its own, where rows are a tree. */
  readonly inclusive?: SpentView;
}

interface Layout {
  readonly heading: string;
  /** Null where it would only repeat a row. */
  readonly all: SpentView | null;
  readonly hasLate: boolean;
  readonly currency: string;
  readonly width: number;
}

interface Column {
  readonly heading: string;
  readonly paint?: Paint;
  readonly cell: (spent: SpentView, row: FigureRow) => string;
}

const GAP = '  ';
const MAX_NAME = 44;
const MIN_NAME = 12;
const MAX_BAR = 32;
const MIN_BAR = 8;

/** In the order in which they give way. */
const KINDS: readonly Column[] = [
  { heading: 'REASONING', cell: ({ reasoning }) => shortCount(reasoning) },
  { heading: 'CACHE WRITE', cell: ({ cacheWrite }) => shortCount(cacheWrite) },
  { heading: 'CACHE READ', cell: ({ cacheRead }) => shortCount(cacheRead) },
  { heading: 'OUTPUT', cell: ({ output }) => shortCount(output) },
  { heading: 'INPUT', cell: ({ input }) => shortCount(input) },
];

export function layOutFigures(
  rows: readonly FigureRow[],
  layout: Layout,
): { lines: Line[]; all: Line | null } {
  const { all, heading } = layout;
  const sumRow: FigureRow | null = all === null ? null : { name: [span('all', dim)], spent: all, bar: 0 };
  const every = sumRow === null ? rows : [...rows, sumRow];
  const natural = largestOf(rows, ({ name }) => displayWidth(lineText(name)), heading.length);
  const { columns, nameWidth, barWidth } = fitted(every, layout, Math.min(natural, MAX_NAME));
  const widths = columns.map((column) => widthOf(column, every));
  const largest = largestOf(rows, (row) => row.bar);
  const lineOf = (row: FigureRow): Line => [
    ...nameCell(row.name, nameWidth),
    ...columns.flatMap((column, index) => [
      span(GAP),
      span(column.cell(row.spent, row).padStart(widths[index] ?? 0), column.paint),
    ]),
    ...barCell(row, largest, barWidth),
  ];
  const titles = columns.flatMap(({ heading: title }, index) => [
    span(GAP),
    span(title.padStart(widths[index] ?? 0), dim),
  ]);
  return {
    lines: [[span(padded(cut(heading, nameWidth), nameWidth), dim), ...titles], ...rows.map(lineOf)],
    all: sumRow === null ? null : lineOf(sumRow),
  };
}

/** The kinds that there is room for beside a name and a bar that say something. */
function fitted(rows: readonly FigureRow[], layout: Layout, natural: number) {
  for (let left = KINDS.length; ; left -= 1) {
    const columns = columnsOf(rows, layout, KINDS.slice(KINDS.length - left));
    const taken = columns.reduce((sum, column) => sum + GAP.length + widthOf(column, rows), 0);
    const room = layout.width - taken;
    const barWidth = Math.min(MAX_BAR, room - natural - GAP.length);
    if (barWidth >= MIN_BAR) return { columns, nameWidth: natural, barWidth };
    if (left > 0) continue;
    const forName = room - MIN_BAR - GAP.length;
    if (forName >= MIN_NAME) return { columns, nameWidth: Math.min(natural, forName), barWidth: MIN_BAR };
    if (room >= MIN_NAME) return { columns, nameWidth: Math.min(natural, room), barWidth: 0 };
    // Whose it is, and how much: what does not fit then is cut.
    const few = columns.slice(0, 1);
    const forFew = layout.width - GAP.length - widthOf(columns[0], rows);
    return { columns: few, nameWidth: Math.max(1, Math.min(natural, forFew)), barWidth: 0 };
  }
}

function columnsOf(
  rows: readonly FigureRow[],
  { hasLate, currency }: Layout,
  kinds: readonly Column[],
): readonly Column[] {
  const isTree = rows.some(({ inclusive }) => inclusive !== undefined);
  const costed = (row: FigureRow) => row.inclusive ?? row.spent;
  const hasCost = rows.some((row) => costed(row).cost !== null);
  return [
    { heading: isTree ? 'OWN' : 'TOTAL', cell: ({ total }) => shortCount(total) },
    ...(isTree
      ? [{ heading: 'WITH BELOW', cell: (_: SpentView, row: FigureRow) => shortCount(costed(row).total) }]
      : []),
    ...kinds.toReversed(),
    ...(hasLate
      ? [
          {
            heading: 'LATE',
            paint: yellow,
            cell: ({ late }: SpentView) => (late === 0 ? '' : shortCount(late)),
          },
        ]
      : []),
    ...(hasCost
      ? [{ heading: 'COST', cell: (_: SpentView, row: FigureRow) => costWords(costed(row), currency) ?? '-' }]
      : []),
  ];
}

function widthOf(column: Column | undefined, rows: readonly FigureRow[]): number {
  if (column === undefined) return 0;
  return largestOf(rows, (row) => column.cell(row.spent, row).length, column.heading.length);
}

/** Of any number of rows: a function takes only so many arguments. */
function largestOf(rows: readonly FigureRow[], valueOf: (row: FigureRow) => number, least = 0): number {
  return rows.reduce((largest, row) => Math.max(largest, valueOf(row)), least);
}

/** Cut as a whole, painted in its parts. */
function nameCell(name: Line, width: number): Line {
  let left = width;
  const spans = name.map(({ text, paint }) => {
    const shown = cut(text, left);
    left -= displayWidth(shown);
    return span(shown, paint);
  });
  return [...spans, span(' '.repeat(Math.max(0, left)))];
}

/** What was late of it is at its end, in the colour of that. */
function barCell({ bar: value, spent, inclusive }: FigureRow, largest: number, width: number): Line {
  const whole = bar(value, largest, width);
  if (whole === '') return [];
  const { late, total } = inclusive ?? spent;
  const lateWidth = late === 0 ? 0 : Math.max(1, Math.floor((late / total) * whole.length));
  const at = whole.length - lateWidth;
  return [span(GAP), span(whole.slice(0, at), cyan), span(whole.slice(at), yellow)];
}
