import { bold, cyan, dim, gray, green, magenta, red, yellow } from './style.ts';
import type { SessionView } from '../../api/session-view.ts';
import type { Status } from '../../lifecycle/status.ts';
import { age } from './time.ts';

const MARKS: Readonly<Record<Status, readonly [mark: string, colour: (text: string) => string]>> = {
  working: ['●', green],
  idle: ['○', cyan],
  'needs-input': ['▲', yellow],
  unknown: ['?', magenta],
  done: ['✓', green],
  failed: ['✗', red],
  superseded: ['↷', gray],
  stopped: ['■', gray],
  lost: ['!', yellow],
};

const HEADINGS = ['', 'SESSION', 'STATUS', 'FOR', 'EPOCH', 'PID', 'COMMAND', 'DIRECTORY'] as const;
const MAX_NAME_WIDTH = 32;
const MAX_COMMAND_WIDTH = 40;

export function statusMark(status: Status): string {
  const [mark, colour] = MARKS[status];
  return colour(mark);
}

export function coloured(status: Status): string {
  return MARKS[status][1](status);
}

/** A table as wide as the terminal; the directory gives way first. */
export function renderSessions(sessions: readonly SessionView[], nowMs: number, width: number): string {
  if (sessions.length === 0) return dim('No sessions yet. Start one: reeve run -- COMMAND');
  const rows = sessions.map((session) => cellsOf(session, nowMs));
  const widths = HEADINGS.map((heading, column) =>
    Math.max(heading.length, ...rows.map((row) => [...(row[column] ?? '')].length)),
  );
  const line = (cells: readonly string[]) =>
    cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ');
  return [
    dim(cut(line(HEADINGS), width).trimEnd()),
    ...rows.map((row, index) => {
      const status = sessions[index]?.status ?? 'unknown';
      return paint(cut(line(row), width).trimEnd(), row, status, widths);
    }),
  ].join('\n');
}

function cellsOf(session: SessionView, nowMs: number): string[] {
  const { run, status } = session;
  const sinceMs = Date.parse(run.endedAt ?? run.startedAt);
  return [
    MARKS[status][0],
    cut(session.name, MAX_NAME_WIDTH),
    status,
    age(sinceMs, nowMs),
    String(session.epoch),
    run.state === 'ended' || run.pid === null ? '-' : String(run.pid),
    cut(session.argv.join(' ').replaceAll(/[\p{Cc}\s]+/gu, ' '), MAX_COMMAND_WIDTH),
    session.cwd,
  ];
}

/** Colours are put on after the columns are laid out, for they have no width. */
function paint(line: string, row: readonly string[], status: Status, widths: readonly number[]): string {
  const [, colour] = MARKS[status];
  const nameEnd = 3 + (widths[1] ?? 0);
  const statusEnd = nameEnd + 2 + (widths[2] ?? 0);
  const name = line.slice(3, nameEnd);
  return `${colour(row[0] ?? '')}  ${bold(name)}${colour(line.slice(nameEnd, statusEnd))}${line.slice(statusEnd)}`;
}

function cut(text: string, width: number): string {
  const characters = [...text];
  return characters.length <= width ? text : `${characters.slice(0, Math.max(0, width - 1)).join('')}…`;
}
