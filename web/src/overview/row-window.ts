/**
 * Which rows of a list are in the document. Short lists are there whole, in the usual flow. Of a long one there are the
 * rows in sight, some around them for the next Tab or a fast scroll, and the selected one, which may hold the focus.
 * All rows have one height, so that the place of each is known without having it.
 */
import type { RefObject } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';

interface RowWindow {
  readonly indices: readonly number[];
  /** Of the whole list; null when it is in the flow. */
  readonly heightPx: number | null;
  readonly topOf: (index: number) => number | null;
}

const WHOLE_UP_TO = 20;
const AROUND = 8;
const NARROW = '(max-width: 760px)';
/** As `--row-height` in overview.css. */
const ROW_PX = 46;
const CARD_PX = 82;

export function useRowWindow(
  list: RefObject<HTMLElement | null>,
  length: number,
  selectedIndex: number,
): RowWindow {
  const isLong = length > WHOLE_UP_TO;
  const [range, setRange] = useState({ from: 0, to: 0, rowPx: rowHeight() });
  // Before anything is painted, so that not one row too many is made for the first sight.
  useLayoutEffect(() => {
    if (!isLong) return;
    const look = () =>
      setRange((before) => {
        const after = visibleRange(list.current);
        return after.from === before.from && after.to === before.to && after.rowPx === before.rowPx
          ? before
          : after;
      });
    look();
    window.addEventListener('scroll', look, { passive: true });
    window.addEventListener('resize', look);
    return () => {
      window.removeEventListener('scroll', look);
      window.removeEventListener('resize', look);
    };
  }, [isLong, length]);
  if (!isLong) return { indices: count(0, length), heightPx: null, topOf: () => null };
  const from = Math.min(range.from, Math.max(0, length - 1));
  const near = count(from, Math.min(range.to, length));
  return {
    indices: withSelected(near, selectedIndex),
    heightPx: length * range.rowPx,
    topOf: (index) => index * range.rowPx,
  };
}

function visibleRange(list: HTMLElement | null): { from: number; to: number; rowPx: number } {
  const rowPx = rowHeight();
  const top = list?.getBoundingClientRect().top ?? 0;
  // In steps, so that not every pixel of a scroll renders anew.
  const step = AROUND / 2;
  const first = Math.floor(-top / rowPx / step) * step;
  const last = Math.ceil((window.innerHeight - top) / rowPx / step) * step;
  return { from: Math.max(0, first - AROUND), to: Math.max(0, last) + AROUND, rowPx };
}

function rowHeight(): number {
  return window.matchMedia(NARROW).matches ? CARD_PX : ROW_PX;
}

/** In document order, for Tab follows it. */
function withSelected(near: readonly number[], selected: number): readonly number[] {
  if (selected === -1 || near.includes(selected)) return near;
  return selected < (near[0] ?? 0) ? [selected, ...near] : [...near, selected];
}

function count(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index);
}
