/** How one cell of a terminal looks. */
import type { IBufferCell } from '@xterm/xterm';

export interface Look {
  /** Null is the terminal's own. */
  readonly colour: string | null;
  readonly background: string | null;
  readonly classes: string;
  /** Two cells wide. */
  readonly isWide: boolean;
}

export function lookOf(cell: IBufferCell): Look {
  const front = cell.isFgRGB()
    ? rgb(cell.getFgColor())
    : cell.isFgPalette()
      ? palette(cell.getFgColor())
      : null;
  const back = cell.isBgRGB()
    ? rgb(cell.getBgColor())
    : cell.isBgPalette()
      ? palette(cell.getBgColor())
      : null;
  const isInverse = cell.isInverse() !== 0;
  return {
    colour: isInverse ? (back ?? 'var(--terminal-back)') : front,
    background: isInverse ? (front ?? 'var(--terminal-front)') : back,
    classes: classesOf(cell),
    isWide: false,
  };
}

function classesOf(cell: IBufferCell): string {
  return [
    cell.isBold() !== 0 && 'bold',
    cell.isDim() !== 0 && 'faint',
    cell.isItalic() !== 0 && 'italic',
    cell.isUnderline() !== 0 && 'underline',
    cell.isStrikethrough() !== 0 && 'struck',
    cell.isInvisible() !== 0 && 'hidden',
  ]
    .filter((name) => name !== false)
    .join(' ');
}

function rgb(value: number): string {
  return `#${value.toString(16).padStart(6, '0')}`;
}

/** The first sixteen are the theme's; then come a cube of 6 × 6 × 6 and 24 grays, the same in every terminal. */
function palette(index: number): string {
  if (index < 16) return `var(--terminal-${index})`;
  if (index >= 232) return gray(8 + (index - 232) * 10);
  const cube = index - 16;
  const level = (step: number) => (step === 0 ? 0 : 55 + step * 40);
  return `rgb(${level(Math.floor(cube / 36))} ${level(Math.floor(cube / 6) % 6)} ${level(cube % 6)})`;
}

function gray(value: number): string {
  return `rgb(${value} ${value} ${value})`;
}
