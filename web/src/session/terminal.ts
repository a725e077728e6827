/**
 * Shows a terminal's screen as text. xterm.js reads the escape sequences and knows what each cell holds; the cells are
 * put into the document here, and not by xterm's own renderer, for that writes style elements and style attributes,
 * which the content security policy refuses, and hides the text from screen readers and from the search of a browser.
 */
import { Terminal } from '@xterm/xterm';
import type { IBufferCell, IBufferLine } from '@xterm/xterm';
import type { ScreenView } from '../../../src/api/http-views.ts';
import { lookOf } from './cell-look.ts';
import type { Look } from './cell-look.ts';

export async function paintScreen(box: HTMLElement, { screen, columns, rows }: ScreenView): Promise<void> {
  const terminal = new Terminal({ cols: columns, rows, scrollback: 0, convertEol: true });
  try {
    await new Promise<void>((written) => {
      terminal.write(screen.replace(/\r?\n$/, ''), written);
    });
    const buffer = terminal.buffer.active;
    const lines = Array.from({ length: rows }, (_, row) => paintLine(buffer.getLine(row), columns));
    box.style.setProperty('--columns', String(columns));
    box.replaceChildren(...lines);
  } finally {
    terminal.dispose();
  }
}

function paintLine(line: IBufferLine | undefined, columns: number): HTMLElement {
  const element = document.createElement('div');
  let open: { look: Look; text: string } | null = null;
  const flush = () => {
    if (open !== null) element.append(paintText(open.text, open.look));
    open = null;
  };
  let cell: IBufferCell | undefined;
  for (let column = 0; column < columns; column += 1) {
    cell = line?.getCell(column, cell);
    // The second half of a wide character.
    if (cell === undefined || cell.getWidth() === 0) continue;
    const look = lookOf(cell);
    const text = cell.getChars() || ' ';
    if (cell.getWidth() === 2) {
      flush();
      element.append(paintText(text, { ...look, isWide: true }));
    } else if (open !== null && isSame((open as { look: Look }).look, look)) {
      (open as { text: string }).text += text;
    } else {
      flush();
      open = { look, text };
    }
  }
  flush();
  // An empty line has a height, too.
  if (element.textContent?.trim() === '' && element.querySelector('[data-filled]') === null) {
    element.textContent = '\u00A0';
  }
  return element;
}

function paintText(text: string, look: Look): HTMLElement | Text {
  const { colour, background, classes, isWide } = look;
  if (colour === null && background === null && classes === '' && !isWide)
    return document.createTextNode(text);
  const span = document.createElement('span');
  span.textContent = text;
  span.className = isWide ? `${classes} wide` : classes;
  if (colour !== null) span.style.color = colour;
  if (background !== null) {
    span.style.background = background;
    span.dataset['filled'] = '';
  }
  return span;
}

function isSame(one: Look, other: Look): boolean {
  return one.colour === other.colour && one.background === other.background && one.classes === other.classes;
}
