import { bold, cyan, dim, gray, green, magenta, red, yellow } from './style.ts';
import type { SessionView } from '../../api/session-view.ts';
import type { Status } from '../../lifecycle/status.ts';
import { age } from '../../api/time-words.ts';

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

/** In the order in which a person wants to know of them. */
const GROUPS: readonly (readonly [title: string, statuses: readonly Status[]])[] = [
  ['Needs you', ['needs-input', 'unknown']],
  ['Working', ['working']],
  ['Idle', ['idle']],
  ['Ended', ['done', 'failed', 'lost', 'stopped', 'superseded']],
];

const HEADINGS = ['', 'SESSION', 'STATUS', 'FOR', 'HARNESS', 'PID', 'COMMAND', 'DIRECTORY'] as const;
const MAX_NAME_WIDTH = 32;
const MAX_COMMAND_WIDTH = 40;

export function statusMark(status: Status): string {
  const [mark, colour] = MARKS[status];
  return colour(mark);
}

export function coloured(status: Status): string {
  return MARKS[status][1](status);
}

/** A table as wide as the terminal, in groups; the directory gives way first. */
export function renderSessions(sessions: readonly SessionView[], nowMs: number, width: number): string {
  if (sessions.length === 0) return dim('No sessions yet. Start one: reeve run -- COMMAND');
  const rows = new Map(sessions.map((session) => [session, cellsOf(session, nowMs)]));
  const widths = HEADINGS.map((heading, column) =>
    Math.max(heading.length, ...[...rows.values()].map((row) => [...(row[column] ?? '')].length)),
  );
  const line = (cells: readonly string[]) =>
    cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ');
  const groups = GROUPS.flatMap(([title, statuses]) => {
    const members = sessions.filter(({ status }) => statuses.includes(status));
    if (members.length === 0) return [];
    const lines = members.flatMap((session) => {
      const row = rows.get(session) ?? [];
      return [paint(cut(line(row), width).trimEnd(), row, session.status, widths), ...wantOf(session, width)];
    });
    return [[bold(title), ...lines].join('\n')];
  });
  return [dim(cut(line(HEADINGS), width).trimEnd()), groups.join('\n\n')].join('\n');
}

/** What it waits for, below it: the one thing to know before going there. */
function wantOf({ status, activity }: SessionView, width: number): string[] {
  const want = status === 'needs-input' ? activity?.waitingFor : null;
  return want === null || want === undefined ? [] : [yellow(cut(`   └ ${plain(want)}`, width))];
}

function cellsOf(session: SessionView, nowMs: number): string[] {
  const { run, status, activity } = session;
  const sinceMs = Date.parse(activity?.since ?? run.endedAt ?? run.startedAt);
  return [
    MARKS[status][0],
    cut(session.name, MAX_NAME_WIDTH),
    status,
    age(sinceMs, nowMs),
    session.harness === 'command' ? '-' : session.harness,
    run.state === 'ended' || run.pid === null ? '-' : String(run.pid),
    cut(plain(session.argv.join(' ')), MAX_COMMAND_WIDTH),
    session.cwd,
  ];
}

function plain(text: string): string {
  return text.replaceAll(/[\p{Cc}\s]+/gu, ' ');
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
