/** The overview of sessions as a table: for `ls`, which prints it, and for `top`, which lays it out on a screen. */
import { bold, cyan, dim, gray, green, magenta, red, yellow } from './style.ts';
import type { SessionView } from '../../api/session-view.ts';
import { MARKS } from '../../api/status-words.ts';
import type { Status } from '../../lifecycle/status.ts';
import { painted, span } from './line.ts';
import type { Line, Paint } from './line.ts';
import { groupsOf } from './session-groups.ts';
import { age } from '../../api/time-words.ts';
import { cut, cutStart, displayWidth, padded, plainText } from './width.ts';

export const COLOURS: Readonly<Record<Status, Paint>> = {
  working: green,
  idle: cyan,
  'needs-input': yellow,
  unknown: magenta,
  done: green,
  failed: red,
  superseded: gray,
  stopped: gray,
  lost: yellow,
};

const HEADINGS = ['', 'SESSION', 'STATUS', 'FOR', 'HARNESS', 'PID', 'COMMAND', 'DIRECTORY'] as const;
const [NAME, STATUS, COMMAND, DIRECTORY] = [1, 2, 6, 7];
const GAP = '  ';
const MAX_NAME_WIDTH = 32;
/** Names are not to push everything else off a narrow terminal. */
const NAME_SHARE = 0.35;
const MIN_NAME_WIDTH = 12;
const MAX_COMMAND_WIDTH = 40;
/** Less of a command or a directory says nothing. */
const MIN_CUT_WIDTH = 10;

interface TableRow {
  readonly session: SessionView;
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

export function renderSessions(sessions: readonly SessionView[], nowMs: number, width: number): string {
  if (sessions.length === 0) return dim('No sessions yet. Start one: reeve run -- COMMAND');
  const { heading, groups } = layOutSessions(sessions, nowMs, width);
  const blocks = groups.map(({ title, rows }) => {
    const lines = rows.flatMap(({ line, want }) => (want === null ? [line] : [line, want]));
    return [bold(title), ...lines.map((line) => painted(line, width))].join('\n');
  });
  return [painted(heading, width), blocks.join('\n\n')].join('\n');
}

/** Columns as wide as needed; the last ones share what is left, and what would not fit is left out whole. */
export function layOutSessions(sessions: readonly SessionView[], nowMs: number, width: number): SessionTable {
  const nameWidth = Math.min(MAX_NAME_WIDTH, Math.max(MIN_NAME_WIDTH, Math.floor(width * NAME_SHARE)));
  const rows = new Map(sessions.map((session) => [session, cellsOf(session, nowMs, nameWidth)]));
  const natural = HEADINGS.map((heading, column) =>
    Math.max(heading.length, ...[...rows.values()].map((row) => displayWidth(row[column] ?? ''))),
  );
  // The mark has no heading; without sessions it would have no width.
  const widths = shared([Math.max(1, natural[0] ?? 1), ...natural.slice(1)], width);
  return {
    heading: lineOf(HEADINGS, widths, () => dim),
    groups: groupsOf(sessions)
      .filter((group) => group.sessions.length > 0)
      .map((group) => ({
        title: group.title,
        rows: group.sessions.map((session) => ({
          session,
          line: lineOf(rows.get(session) ?? [], widths, (column) => paintOf(column, session.status)),
          want: wantOf(session),
        })),
      })),
  };
}

/** The widths of the columns that are shown. The directory gives way first, then the command. */
function shared(natural: readonly number[], width: number): number[] {
  const widthOf = (columns: readonly number[]) =>
    columns.reduce((sum, column) => sum + column, GAP.length * (columns.length - 1));
  const [command = 0, directory = 0] = natural.slice(COMMAND);
  const left = width - widthOf(natural.slice(0, COMMAND)) - GAP.length;
  const forBoth = left - GAP.length;
  if (forBoth >= 2 * MIN_CUT_WIDTH) {
    const directoryWidth = Math.min(directory, Math.max(forBoth - command, Math.floor(forBoth / 2)));
    return [...natural.slice(0, COMMAND), Math.min(command, forBoth - directoryWidth), directoryWidth];
  }
  const shown =
    left >= MIN_CUT_WIDTH
      ? [...natural.slice(0, COMMAND), Math.min(command, left)]
      : natural.slice(0, COMMAND);
  while (shown.length > STATUS && widthOf(shown) > width) shown.pop();
  return shown;
}

function lineOf(
  cells: readonly string[],
  widths: readonly number[],
  paint: (column: number) => Paint | undefined,
): Line {
  return widths.flatMap((width, column) => {
    const cell = (column === DIRECTORY ? cutStart : cut)(cells[column] ?? '', width);
    const isLast = column === widths.length - 1;
    const text = span(isLast ? cell : padded(cell, width), paint(column));
    return isLast ? [text] : [text, span(GAP)];
  });
}

function paintOf(column: number, status: Status): Paint | undefined {
  if (column === NAME) return bold;
  return column <= STATUS ? COLOURS[status] : undefined;
}

function wantOf({ status, activity }: SessionView): Line | null {
  const want = status === 'needs-input' ? activity?.waitingFor : null;
  return want === null || want === undefined ? null : [span(`   └ ${want}`, yellow)];
}

function cellsOf(session: SessionView, nowMs: number, nameWidth: number): string[] {
  const { run, status, activity } = session;
  const sinceMs = Date.parse(activity?.since ?? run.endedAt ?? run.startedAt);
  return [
    MARKS[status],
    cut(plainText(session.name), nameWidth),
    status,
    age(sinceMs, nowMs),
    session.harness === 'command' ? '-' : plainText(session.harness),
    run.state === 'ended' || run.pid === null ? '-' : String(run.pid),
    cut(plainText(session.argv.join(' ')), MAX_COMMAND_WIDTH),
    plainText(session.cwd),
  ];
}
