/** The rows of a tree, with the branches that show what belongs to what. */
import type { UsageTreeRowView } from '../../api/usage-view.ts';
import { span } from './line.ts';
import { bold, dim } from './style.ts';
import type { FigureRow } from './usage-columns.ts';
import { plainText } from './width.ts';

export function treeRows(rows: readonly UsageTreeRowView[]): readonly FigureRow[] {
  return rows.map((row, index) => ({
    name: [span(branches(rows, index), dim), ...labelOf(row, rows[0]?.session)],
    spent: row.own,
    inclusive: row.inclusive,
    bar: row.inclusive.total,
  }));
}

/** A run of the session itself is told by its id; another one also by its session. */
function labelOf({ session, run }: UsageTreeRowView, root: string | undefined) {
  if (run === null) return [span(plainText(session), bold)];
  if (session === root) return [span(run)];
  return [span(plainText(session), bold), span(` ${run}`, dim)];
}

function branches(rows: readonly UsageTreeRowView[], index: number): string {
  const depth = rows[index]?.depth ?? 0;
  if (depth === 0) return '';
  const above = Array.from({ length: depth - 1 }, (_, level) =>
    goesOn(rows, index, level + 1) ? '│ ' : '  ',
  );
  return `${above.join('')}${goesOn(rows, index, depth) ? '├ ' : '└ '}`;
}

/** Whether something of this depth follows before something that is less deep. */
function goesOn(rows: readonly UsageTreeRowView[], index: number, depth: number): boolean {
  const next = rows.slice(index + 1).find((row) => row.depth <= depth);
  return next?.depth === depth;
}
