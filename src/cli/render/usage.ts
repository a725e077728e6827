/** What was spent, as a table: a row for each name, with a bar beside it, the largest first. */
import { costWords, shortCount } from '../../api/token-words.ts';
import type { SpentView, UsageBy, UsageRowView, UsageView } from '../../api/usage-view.ts';
import { painted, span } from './line.ts';
import type { Line, Paint } from './line.ts';
import { bold, dim, yellow } from './style.ts';
import { layOutFigures } from './usage-columns.ts';
import type { FigureRow } from './usage-columns.ts';
import { daysLine } from './usage-days.ts';
import { treeRows } from './usage-tree.ts';
import { plainText } from './width.ts';
import { wrappedLines } from './wrap.ts';

/** A screen of them; the small ones are seldom what was looked for. */
const MOST_ROWS = 20;

const HEADING_OF: Readonly<Record<UsageBy, string>> = {
  run: 'RUN',
  session: 'SESSION',
  model: 'MODEL',
  day: 'DAY (UTC)',
  harness: 'HARNESS',
};

export function renderUsage(view: UsageView, width: number, range: 'most' | 'all'): string {
  const isNothing = view.all.total === 0 && (view.children?.total ?? 0) === 0;
  if (isNothing) return dim(nothingOf(view));
  const table = view.tree === null ? tableOf(view, width, range) : treeOf(view, width, range);
  const said = [
    ...noteLines(lateNote(view), width, yellow),
    ...noteLines(priceNote(view), width, dim),
    ...noteLines(childrenNote(view), width, dim),
  ];
  return [...table, ...(said.length === 0 ? [] : ['', ...said])].join('\n');
}

/** Painted last, for colours have no width. */
function noteLines(note: string | null, width: number, paint: Paint): string[] {
  return note === null ? [] : wrappedLines(note, width).map(paint);
}

function nothingOf({ session, since }: UsageView): string {
  const whose = session === null ? 'by any session that is on record' : `by ${plainText(session)}`;
  return `Nothing was spent ${whose}${since === null ? '' : ` since ${since}`}, as far as transcripts tell.`;
}

function tableOf(view: UsageView, width: number, range: 'most' | 'all'): string[] {
  const shown = shownOf(view, range);
  const rows = shown.map((row): FigureRow => ({ name: nameOf(view, row), spent: row, bar: row.total }));
  const hidden = view.rows.length - shown.length;
  const table = layOutFigures(rows, {
    heading: view.by === 'run' && view.session === null ? 'RUN, SESSION' : HEADING_OF[view.by],
    all: view.rows.length > 1 ? view.all : null,
    hasLate: view.all.late > 0,
    currency: view.currency,
    width,
  });
  const more =
    hidden === 0 ? [] : [dim(view.by === 'day' ? `… and ${hidden} earlier` : `… and ${hidden} more`)];
  const days = view.by === 'day' ? daysLine(view.rows, width) : null;
  const [heading = '', ...lines] = table.lines.map((line) => painted(line, width));
  return [
    ...(days === null ? [] : [painted(days, width), '']),
    heading,
    // Days go on at the end, so what is left out of them is before.
    ...(view.by === 'day' ? [...more, ...lines] : [...lines, ...more]),
    ...(table.all === null ? [] : [painted(table.all, width)]),
  ];
}

/** Of days the latest, of everything else the largest. */
function shownOf({ by, rows }: UsageView, range: 'most' | 'all'): readonly UsageRowView[] {
  // One more than there is room for takes no more room than the words that it is missing.
  if (range === 'all' || rows.length <= MOST_ROWS + 1) return rows;
  return by === 'day' ? rows.slice(-MOST_ROWS) : rows.slice(0, MOST_ROWS);
}

function nameOf({ by, session: asked }: UsageView, { name, session }: UsageRowView): Line {
  if (by !== 'run' || asked !== null) return [span(plainText(name), bold)];
  return [span(name, dim), span(' '), span(plainText(session ?? ''), bold)];
}

function treeOf(view: UsageView, width: number, range: 'most' | 'all'): string[] {
  const tree = view.tree ?? [];
  const shown = range === 'all' || tree.length <= MOST_ROWS + 1 ? tree : tree.slice(0, MOST_ROWS);
  const table = layOutFigures(treeRows(shown), {
    heading: 'SESSION AND RUNS',
    all: null,
    hasLate: tree.some(({ inclusive }) => inclusive.late > 0),
    currency: view.currency,
    width,
  });
  const hidden = tree.length - shown.length;
  return [
    ...table.lines.map((line) => painted(line, width)),
    ...(hidden === 0 ? [] : [dim(`… and ${hidden} more`)]),
  ];
}

function lateNote(view: UsageView): string | null {
  const { late } = view.tree?.[0]?.inclusive ?? view.all;
  if (late === 0) return null;
  return `${shortCount(late)} tokens were spent after their run had been superseded, or was over.`;
}

/** Only where some have a price: that nobody wrote any down is not worth a line each time. */
function priceNote({ all }: UsageView): string | null {
  if (all.cost === null || all.unpricedTokens === 0) return null;
  return `${shortCount(all.unpricedTokens)} tokens have no price in the configuration.`;
}

function childrenNote({ session, children, tree, currency }: UsageView): string | null {
  if (session === null || children === null || tree !== null || children.total === 0) return null;
  return `What its runs started spent ${wordsOf(children, currency)} besides: reeve usage ${plainText(session)} --tree`;
}

function wordsOf(spent: SpentView, currency: string): string {
  const cost = costWords(spent, currency);
  return `${shortCount(spent.total)} tokens${cost === null ? '' : `, ${cost}`},`;
}
