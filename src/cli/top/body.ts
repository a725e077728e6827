/** The list between title and footer. The selected session is always on it; what does not fit is counted. */
import type { SessionView } from '../../api/session-view.ts';
import { lineText, span } from '../render/line.ts';
import type { Line } from '../render/line.ts';
import { layOutSessions } from '../render/sessions.ts';
import { bold, dim, inverse } from '../render/style.ts';
import { cut, padded } from '../render/width.ts';
import { shownSessions } from './model.ts';
import type { Size, TopState } from './model.ts';

/** Where the selection is marked: it must be seen without colours too. */
const GUTTER = '  ';
const SELECTED = '> ';
/** With fewer rows, the sessions themselves need them all. */
const MIN_ROWS_FOR_HEADING = 6;
const MIN_ROWS_FOR_COUNTS = 5;

interface BodyLine {
  readonly line: Line;
  readonly isSelected: boolean;
}

export function listBody(state: TopState, { columns, rows }: Size): Line[] {
  const shown = shownSessions(state);
  if (shown.length === 0) return [[span(GUTTER), span(saysNothing(state), dim)]];
  const table = layOutSessions(shown, state.nowMs, columns - GUTTER.length);
  const heading = rows >= MIN_ROWS_FOR_HEADING ? [[span(GUTTER), ...table.heading]] : [];
  const groups = table.groups.map(({ title, rows: members }) => [
    unselected([span(title, bold), span(` ${members.length}`, dim)]),
    ...members.flatMap(({ session, line, want }) => [
      rowLine(session, line, state, columns),
      ...(want === null ? [] : [unselected([span(GUTTER), ...want])]),
    ]),
  ]);
  const spaced = groups.flatMap((group, index) => (index === 0 ? group : [unselected([]), ...group]));
  const room = rows - heading.length;
  if (spaced.length < room) return [[], ...heading, ...window(spaced, room - 1)];
  return [...heading, ...window(spaced.length === room ? spaced : groups.flat(), room)];
}

function rowLine(session: SessionView, line: Line, state: TopState, columns: number): BodyLine {
  if (session.id !== state.selectedId) return unselected([span(GUTTER), ...line]);
  const text = padded(cut(SELECTED + lineText(line), columns), columns);
  return { line: [span(text, inverse)], isSelected: true };
}

function unselected(line: Line): BodyLine {
  return { line, isSelected: false };
}

/** The part around the selected line, which stays in the middle where it can. */
function window(lines: readonly BodyLine[], rows: number): Line[] {
  if (lines.length <= rows) return lines.map(({ line }) => line);
  const selected = Math.max(
    0,
    lines.findIndex(({ isSelected }) => isSelected),
  );
  const start = Math.max(0, Math.min(lines.length - rows, selected - Math.floor(rows / 2)));
  const part = lines.slice(start, start + rows).map(({ line }) => line);
  if (rows < MIN_ROWS_FOR_COUNTS) return part;
  const [above, below] = [start, lines.length - start - rows];
  // One line more, for the count takes the place of one.
  if (above > 0) part[0] = more(above + 1, '↑');
  if (below > 0) part[rows - 1] = more(below + 1, '↓');
  return part;
}

function more(count: number, arrow: string): Line {
  return [span(`${GUTTER}${arrow} ${count} more lines`, dim)];
}

function saysNothing({ listedAtMs, sessions, filter }: TopState): string {
  if (listedAtMs === null) return 'Looking…';
  if (sessions.length === 0) return 'No sessions yet. Start one: reeve run -- COMMAND';
  return `No session matches “${filter}”. Escape shows all.`;
}
