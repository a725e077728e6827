/** The overview of sessions as a table: for `ls`, which prints it, and for `top`, which lays it out on a screen. */
import { bold, cyan, dim, gray, green, magenta, red, yellow } from './style.ts';
import { amount } from '../../api/amount.ts';
import { hostNames } from '../../api/host-words.ts';
import type { BudgetView } from '../../api/http-views.ts';
import type { Placed } from '../../api/session-family.ts';
import type { SessionView } from '../../api/session-view.ts';
import { MARKS } from '../../api/status-words.ts';
import type { Status } from '../../lifecycle/status.ts';
import { budgetCell, budgetPaint } from './budget-bar.ts';
import { painted, span } from './line.ts';
import type { Line, Paint } from './line.ts';
import { placedGroups } from './session-groups.ts';
import { age } from '../../api/time-words.ts';
import { cut, cutStart, displayWidth, padded, plainCut, plainText } from './width.ts';

export const COLOURS: Readonly<Record<Status, Paint>> = {
  working: green,
  idle: cyan,
  'needs-input': yellow,
  unknown: magenta,
  done: green,
  failed: red,
  superseded: gray,
  stopped: gray,
  cancelled: gray,
  'over-budget': yellow,
  reaped: gray,
  lost: yellow,
};

/** With what it costs, where somebody looked that up. */
export interface ListedSession extends SessionView {
  readonly tokens?: number | null | undefined;
  readonly budgets?: readonly BudgetView[] | undefined;
}

interface Column {
  readonly heading: string;
  readonly cell: (placed: Placed<ListedSession>, layout: Layout) => string;
  readonly paint?: (session: ListedSession) => Paint | undefined;
  /** A column that would say nothing of anybody is left out. */
  readonly isWanted?: (session: ListedSession, layout: Layout) => boolean;
}

interface Layout {
  readonly nowMs: number;
  readonly nameWidth: number;
  /** Empty where there is one host only. */
  readonly hosts: ReadonlyMap<string, string>;
}

const GAP = '  ';
const MAX_NAME_WIDTH = 32;
/** Names are not to push everything else off a narrow terminal. */
const NAME_SHARE = 0.35;
const MIN_NAME_WIDTH = 12;
/** Deeper ones stand no further in, for the same reason. */
const MAX_INDENT = 4;
const MAX_COMMAND_WIDTH = 40;
/** Less of a command or a directory says nothing. */
const MIN_CUT_WIDTH = 10;

const byStatus = ({ status }: SessionView) => COLOURS[status];

/** What does not fit is left out from the end; the last two share what is left for them. */
const COLUMNS: readonly Column[] = [
  { heading: '', cell: ({ session }) => MARKS[session.status], paint: byStatus },
  { heading: 'SESSION', cell: nameOf, paint: () => bold },
  { heading: 'STATUS', cell: ({ session }) => session.status, paint: byStatus },
  { heading: 'FOR', cell: ({ session }, { nowMs }) => age(sinceMs(session), nowMs) },
  {
    heading: 'TOKENS',
    cell: ({ session: { tokens = null } }) => (tokens === null ? '-' : amount(tokens)),
    isWanted: ({ tokens = null }) => tokens !== null,
  },
  {
    heading: 'BUDGET',
    cell: ({ session: { budgets = [] } }) => budgetCell(budgets),
    paint: ({ budgets = [] }) => budgetPaint(budgets),
    isWanted: ({ budgets = [] }) => budgets.length > 0,
  },
  {
    heading: 'HARNESS',
    cell: ({ session: { harness } }) => (harness === 'command' ? '-' : plainText(harness)),
  },
  {
    heading: 'HOST',
    cell: ({ session: { run } }, { hosts }) => plainText(hosts.get(run.host) ?? '-'),
    isWanted: (_, { hosts }) => hosts.size > 0,
  },
  {
    heading: 'PID',
    cell: ({ session: { run } }) => (run.state === 'ended' || run.pid === null ? '-' : String(run.pid)),
  },
  {
    heading: 'COMMAND',
    cell: ({ session }) => plainCut(session.argv.join(' '), MAX_COMMAND_WIDTH),
  },
  { heading: 'DIRECTORY', cell: ({ session }) => plainText(session.cwd) },
];
/** Without mark, name and status there is no table. */
const MIN_COLUMNS = 2;

interface TableRow {
  readonly session: ListedSession;
  readonly line: Line;
  /** What it waits for, below it: the one thing to know before going there. */
  readonly want: Line | null;
}

export interface SessionTable {
  readonly heading: Line;
  readonly groups: readonly { readonly title: string; readonly rows: readonly TableRow[] }[];
}

export function statusMark(status: Status): string {
  const [mark, colour] = [MARKS[status], COLOURS[status]];
  return colour(mark);
}

export function coloured(status: Status): string {
  return COLOURS[status](status);
}

export function renderSessions(sessions: readonly ListedSession[], nowMs: number, width: number): string {
  if (sessions.length === 0) return dim('No sessions yet. Start one: reeve run -- COMMAND');
  const { heading, groups } = layOutSessions(sessions, nowMs, width);
  const blocks = groups.map(({ title, rows }) => {
    const lines = rows.flatMap(({ line, want }) => (want === null ? [line] : [line, want]));
    return [bold(title), ...lines.map((line) => painted(line, width))].join('\n');
  });
  return [painted(heading, width), blocks.join('\n\n')].join('\n');
}

/** Columns as wide as needed; the last ones share what is left, and what would not fit is left out whole. */
export function layOutSessions(
  sessions: readonly ListedSession[],
  nowMs: number,
  width: number,
): SessionTable {
  const nameWidth = Math.min(MAX_NAME_WIDTH, Math.max(MIN_NAME_WIDTH, Math.floor(width * NAME_SHARE)));
  const layout: Layout = { nowMs, nameWidth, hosts: hostNames(sessions.map(({ run }) => run.host)) };
  const columns = COLUMNS.filter(
    ({ isWanted }) => isWanted === undefined || sessions.some((each) => isWanted(each, layout)),
  );
  const groups = placedGroups(sessions).map(({ title, placed }) => ({
    title,
    rows: placed.map((each) => ({
      placed: each,
      cells: columns.map(({ cell }) => cell(each, layout)),
    })),
  }));
  const cells = groups.flatMap(({ rows }) => rows.map((row) => row.cells));
  // The mark has no heading; without sessions it would have no width.
  const natural = columns.map(({ heading }, index) =>
    Math.max(1, heading.length, ...cells.map((row) => displayWidth(row[index] ?? ''))),
  );
  const widths = shared(natural, width);
  const headings = columns.map(({ heading }) => heading);
  return {
    heading: lineOf(headings, widths, () => dim),
    groups: groups
      .filter(({ rows }) => rows.length > 0)
      .map(({ title, rows }) => ({
        title,
        rows: rows.map(({ placed, cells: own }) => ({
          session: placed.session,
          line: lineOf(own, widths, (column) => columns[column]?.paint?.(placed.session)),
          want: wantOf(placed),
        })),
      })),
  };
}

/** The widths of the columns that are shown. The directory gives way first, then the command. */
function shared(natural: readonly number[], width: number): number[] {
  const widthOf = (columns: readonly number[]) =>
    columns.reduce((sum, column) => sum + column, GAP.length * (columns.length - 1));
  const fixed = natural.slice(0, -2);
  const [command = 0, directory = 0] = natural.slice(-2);
  const left = width - widthOf(fixed) - GAP.length;
  const forBoth = left - GAP.length;
  if (forBoth >= 2 * MIN_CUT_WIDTH) {
    const directoryWidth = Math.min(directory, Math.max(forBoth - command, Math.floor(forBoth / 2)));
    return [...fixed, Math.min(command, forBoth - directoryWidth), directoryWidth];
  }
  const shown = left >= MIN_CUT_WIDTH ? [...fixed, Math.min(command, left)] : fixed;
  while (shown.length > MIN_COLUMNS && widthOf(shown) > width) shown.pop();
  return shown;
}

function lineOf(
  cells: readonly string[],
  widths: readonly number[],
  paint: (column: number) => Paint | undefined,
): Line {
  return widths.flatMap((width, column) => {
    // Of a path the end says most; it is the last of all there can be.
    const cell = (column === cells.length - 1 ? cutStart : cut)(cells[column] ?? '', width);
    const isLast = column === widths.length - 1;
    const text = span(isLast ? cell : padded(cell, width), paint(column));
    return isLast ? [text] : [text, span(GAP)];
  });
}

function wantOf({ session: { status, activity }, depth }: Placed<ListedSession>): Line | null {
  const want = status === 'needs-input' ? activity?.waitingFor : null;
  return want === null || want === undefined ? null : [span(`   ${indent(depth)}└ ${want}`, yellow)];
}

/** A child stands further in than what it belongs to. */
function nameOf({ session, depth }: Placed<ListedSession>, { nameWidth }: Layout): string {
  const hook = depth === 0 ? '' : `${indent(depth - 1)}└ `;
  return cut(`${hook}${plainText(session.name)}`, nameWidth);
}

function indent(depth: number): string {
  return '  '.repeat(Math.min(depth, MAX_INDENT));
}

function sinceMs({ activity, run }: SessionView): number {
  return Date.parse(activity?.since ?? run.endedAt ?? run.startedAt);
}
