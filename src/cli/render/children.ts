/** Runs that were started by runs, as a tree: each below the one that started it. */
import type { ChildView } from '../../api/session-view.ts';
import { MARKS } from '../../api/status-words.ts';
import { shortCount } from '../../api/token-words.ts';
import { age } from '../../api/time-words.ts';
import { STATUS_OF_OUTCOME } from '../../lifecycle/status.ts';
import type { Status } from '../../lifecycle/status.ts';
import { painted, span } from './line.ts';
import type { Line } from './line.ts';
import { COLOURS } from './sessions.ts';
import { bold, dim, yellow } from './style.ts';
import { displayWidth, padded, plainText } from './width.ts';

export function renderChildren(children: readonly ChildView[], nowMs: number, width: number): string {
  const known = new Set(children.map(({ run }) => run.id));
  const roots = [...new Set(children.map(({ parent }) => parent))].filter((parent) => !known.has(parent));
  const rows = roots.flatMap((parent) => [
    { branch: '', child: null, parent },
    ...below(parent, children, '').map((row) => ({ ...row, parent })),
  ]);
  const named = Math.max(...rows.map(({ branch, child }) => displayWidth(branch + (child?.session ?? ''))));
  return rows
    .map(({ branch, child, parent }) =>
      painted(child === null ? [span(`run ${parent}`, dim)] : lineOf(branch, child, named, nowMs), width),
    )
    .join('\n');
}

interface TreeRow {
  readonly branch: string;
  readonly child: ChildView;
}

function below(parent: string, children: readonly ChildView[], indent: string): TreeRow[] {
  const own = children.filter((child) => child.parent === parent);
  return own.flatMap((child, index) => {
    const isLast = index === own.length - 1;
    return [
      { branch: `${indent}${isLast ? '└─ ' : '├─ '}`, child },
      ...below(child.run.id, children, `${indent}${isLast ? '   ' : '│  '}`),
    ];
  });
}

function lineOf(branch: string, child: ChildView, named: number, nowMs: number): Line {
  const { run } = child;
  const status = statusOf(child);
  const since = age(Date.parse(run.endedAt ?? run.startedAt), nowMs);
  const about = [child.subject, child.revision].filter((word) => word !== null).join('@');
  return [
    span(branch, dim),
    span(padded(plainText(child.session), named - displayWidth(branch)), bold),
    span(`  ${MARKS[status]} ${padded(run.outcome ?? status, 11)}`, COLOURS[status]),
    span(padded(`  ${since}`, 6)),
    span(padded(`  ${child.tokens === null ? '-' : shortCount(child.tokens)}`, 8)),
    span(`  ${padded(child.onParentEnd, 6)}`, dim),
    ...(child.waitsUntil === null ? [] : [span(`  waits for a successor until ${child.waitsUntil}`, yellow)]),
    ...(about === '' ? [] : [span(`  ${about}`)]),
    span(`  ${child.argv.join(' ')}`, dim),
  ];
}

function statusOf({ run }: ChildView): Status {
  if (run.outcome !== null) return STATUS_OF_OUTCOME[run.outcome];
  return run.liveness === 'alive' ? 'working' : 'unknown';
}
