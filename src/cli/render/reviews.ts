/** Reviews as a table, what wants a person first. */
import type { ReviewView } from '../../api/http-views.ts';
import { needsExplaining } from '../../api/review-words.ts';
import { age } from '../../api/time-words.ts';
import type { ReviewStatus } from '../../lifecycle/review.ts';
import { painted, span } from './line.ts';
import type { Line, Paint } from './line.ts';
import { bold, cyan, dim, gray, green, red, yellow } from './style.ts';
import { cut, displayWidth, padded, plainText } from './width.ts';

const LOOKS: Readonly<Record<ReviewStatus, { readonly mark: string; readonly paint: Paint }>> = {
  'changes-requested': { mark: '▲', paint: yellow },
  failed: { mark: '✗', paint: red },
  running: { mark: '●', paint: cyan },
  'needs-review': { mark: '○', paint: cyan },
  'up-to-date': { mark: '✓', paint: green },
  cancelled: { mark: '■', paint: gray },
  superseded: { mark: '↷', paint: gray },
};

const GROUPS: readonly { readonly title: string; readonly statuses: readonly ReviewStatus[] }[] = [
  { title: 'For you', statuses: ['changes-requested', 'failed'] },
  { title: 'Under review', statuses: ['running', 'needs-review'] },
  { title: 'Done', statuses: ['up-to-date', 'cancelled', 'superseded'] },
];

const HEADINGS = ['', 'WORKER', 'PR', 'HEAD', 'STATUS', 'FOR', 'TOKENS', 'REVIEW', 'REVIEWER'] as const;
const [WORKER, STATUS] = [1, 4];
const GAP = '  ';
const MAX_NAME_WIDTH = 32;
const HEAD_WIDTH = 10;

export function renderReviews(reviews: readonly ReviewView[], nowMs: number, width: number): string {
  if (reviews.length === 0) {
    return dim('No reviews yet. Ask for one: reeve review trigger --worker SESSION --pr KEY=HEADSHA');
  }
  const rows = new Map(reviews.map((review) => [review, cellsOf(review, nowMs)]));
  const widths = HEADINGS.map((heading, column) =>
    Math.max(heading.length, 1, ...[...rows.values()].map((row) => displayWidth(row[column] ?? ''))),
  );
  const blocks = GROUPS.flatMap(({ title, statuses }) => {
    const shown = reviews.filter(({ status }) => statuses.includes(status));
    if (shown.length === 0) return [];
    const lines = shown.flatMap((review) => linesOf(review, rows.get(review) ?? [], widths));
    return [[bold(title), ...lines.map((line) => painted(line, width))].join('\n')];
  });
  const heading = lineOf(HEADINGS, widths, () => dim);
  return [painted(heading, width), blocks.join('\n\n')].join('\n');
}

export function statusOf({ status, verdict }: Pick<ReviewView, 'status' | 'verdict'>): string {
  const { mark, paint } = LOOKS[status];
  return paint(`${mark} ${words(status, verdict)}`);
}

function linesOf(review: ReviewView, cells: readonly string[], widths: readonly number[]): readonly Line[] {
  const { paint } = LOOKS[review.status];
  const line = lineOf(cells, widths, (column) => {
    if (column === WORKER) return bold;
    return column === 0 || column === STATUS ? paint : undefined;
  });
  return needsExplaining(review) ? [line, [span(`   └ ${review.reason}`, red)]] : [line];
}

function lineOf(
  cells: readonly string[],
  widths: readonly number[],
  paint: (column: number) => Paint | undefined,
): Line {
  return widths.flatMap((width, column) => {
    const isLast = column === widths.length - 1;
    const cell = cells[column] ?? '';
    const text = span(isLast ? cell : padded(cell, width), paint(column));
    return isLast ? [text] : [text, span(GAP)];
  });
}

function cellsOf(review: ReviewView, nowMs: number): string[] {
  const { status, verdict, worker, pr, head, tokens, id, reviewer, isCurrent } = review;
  const since = review.endedAt ?? review.startedAt ?? review.createdAt;
  return [
    LOOKS[status].mark,
    cut(plainText(worker), MAX_NAME_WIDTH),
    cut(plainText(pr), MAX_NAME_WIDTH),
    `${head.slice(0, HEAD_WIDTH)}${isCurrent ? '' : ' (old)'}`,
    words(status, verdict),
    age(Date.parse(since), nowMs),
    tokens === null ? '-' : tokens.toLocaleString('en'),
    id,
    reviewer?.run ?? '-',
  ];
}

function words(status: ReviewStatus, verdict: ReviewView['verdict']): string {
  return status === 'up-to-date' && verdict !== null ? `${status} (${verdict})` : status;
}
