/** The reviews by worker and pull request, in place of the list. */
import { amount } from '../../api/amount.ts';
import type { ReviewView } from '../../api/http-views.ts';
import type { ReviewStatus } from '../../lifecycle/review.ts';
import { byWorker, needsExplaining, REVIEW_MARKS, reviewSinceMs, shortHead } from '../../api/review-words.ts';
import { age } from '../../api/time-words.ts';
import { span } from '../render/line.ts';
import type { Line, Paint } from '../render/line.ts';
import { bold, cyan, dim, gray, green, red, yellow } from '../render/style.ts';
import { cut, displayWidth, padded, plainText } from '../render/width.ts';
import type { Board, Size } from './model.ts';

const COLOURS: Readonly<Record<ReviewStatus, Paint>> = {
  'changes-requested': yellow,
  failed: red,
  running: cyan,
  'needs-review': cyan,
  'up-to-date': green,
  cancelled: gray,
  superseded: gray,
};

const GUTTER = '  ';
const GAP = '  ';
const MAX_KEY_WIDTH = 28;
const HOW_TO_BEGIN = 'No reviews yet. Ask for one: reeve review trigger --worker SESSION --pr KEY=HEADSHA';

/** From a line on, as far as there are so many. */
export function reviewBoard(board: Board, from: number, nowMs: number, { rows }: Pick<Size, 'rows'>): Line[] {
  if (board.is !== 'listed') return [[span(`${GUTTER}Looking…`, dim)]];
  if (board.reviews.length === 0) return [[span(GUTTER), span(HOW_TO_BEGIN, dim)]];
  const lines = boardLines(board.reviews, nowMs);
  return lines.slice(Math.max(0, Math.min(from, lines.length - rows)));
}

/** How many lines there are to move by. */
export function boardLength(board: Board): number {
  return board.is === 'listed' ? boardLines(board.reviews, 0).length : 0;
}

function boardLines(reviews: readonly ReviewView[], nowMs: number): Line[] {
  const cells = new Map(reviews.map((review) => [review, cellsOf(review, nowMs)]));
  const rows = [...cells.values()];
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => displayWidth(row[column] ?? ''))),
  );
  return byWorker(reviews).flatMap(({ worker, pullRequests }) => [
    [],
    [span(plainText(worker), bold)],
    ...pullRequests.flatMap(({ reviews: ofPr }) =>
      ofPr.flatMap((review) => reviewLines(review, cells.get(review) ?? [], widths)),
    ),
  ]);
}

function reviewLines(review: ReviewView, cells: readonly string[], widths: readonly number[]): Line[] {
  const { status, reason } = review;
  const paint = COLOURS[status];
  const [mark = '', pr = '', head = '', words = '', ...rest] = cells.map((cell, column) =>
    padded(cell, widths[column] ?? 0),
  );
  const line = [
    span(`${GUTTER}${mark}${GAP}`, paint),
    span(`${pr}${GAP}`, review.isCurrent ? bold : dim),
    span(`${head}${GAP}`, dim),
    span(`${words}${GAP}`, paint),
    span(rest.join(GAP), review.isCurrent ? undefined : dim),
  ];
  // Only where something is the matter: a review that gave way needs no explanation.
  return needsExplaining(review) ? [line, [span(`${GUTTER}   └ ${reason}`, red)]] : [line];
}

function cellsOf(review: ReviewView, nowMs: number): string[] {
  const { status, verdict, pr, head, tokens, reviewer, isCurrent } = review;
  return [
    REVIEW_MARKS[status],
    cut(plainText(isCurrent ? pr : `└ ${pr}`), MAX_KEY_WIDTH),
    shortHead(plainText(head)),
    status === 'up-to-date' && verdict !== null ? `${status} (${verdict})` : status,
    age(reviewSinceMs(review), nowMs),
    tokens === null ? '-' : `${amount(tokens)} tokens`,
    plainText(reviewer?.session ?? '-'),
  ];
}
