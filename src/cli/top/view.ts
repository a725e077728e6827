/** The screen of `top` as lines: exactly as many as it has rows, none wider than it has columns. */
import { painted, span } from '../render/line.ts';
import type { Line } from '../render/line.ts';
import { listBody } from './body.ts';
import { footer } from './footer.ts';
import { helpPage } from './help-page.ts';
import { reviewBoard } from './review-board.ts';
import type { Size, TopState } from './model.ts';
import { titleLine } from './title.ts';

/** A list of fewer rows shows nothing, whatever else there is to say. */
const MIN_BODY_ROWS = 1;

export function view(state: TopState, size: Size): string[] {
  const rows = Math.max(1, size.rows);
  const hasTitle = rows > 2;
  const room = rows - (hasTitle ? 1 : 0) - MIN_BODY_ROWS;
  const below = shortened(footer(state, size), room);
  const bodyRows = rows - (hasTitle ? 1 : 0) - below.length;
  const body = bodyOf(state, { ...size, rows: bodyRows });
  const lines: Line[] = [
    ...(hasTitle ? [titleLine(state, size.columns)] : []),
    ...filled(body, bodyRows),
    ...below,
  ];
  return lines.map((line) => painted(line, size.columns));
}

function bodyOf(state: TopState, size: Size): Line[] {
  switch (state.mode.is) {
    case 'help':
      return helpPage(size.columns, state.board);
    case 'reviews':
      return reviewBoard(state.board, state.mode.from, state.nowMs, size);
    case 'list':
    case 'search':
    case 'confirm':
      return listBody(state, size);
  }
}

function filled(lines: readonly Line[], rows: number): Line[] {
  const missing = Math.max(0, rows - lines.length);
  return [...lines.slice(0, rows), ...Array.from({ length: missing }, (): Line => [span('')])];
}

/** Of what does not fit, the first line says what it is about, and the last one the keys. */
function shortened(lines: readonly Line[], room: number): readonly Line[] {
  if (lines.length <= room) return lines;
  return room < 1 ? [] : [...lines.slice(0, room - 1), ...lines.slice(-1)];
}
