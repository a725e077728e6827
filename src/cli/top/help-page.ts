/** The keys in full. The first lines matter most, for a small screen shows no more. */
import { MARKS, STATUS_GROUPS } from '../../api/status-words.ts';
import { span } from '../render/line.ts';
import type { Line } from '../render/line.ts';
import { bold, dim } from '../render/style.ts';
import type { Board } from './model.ts';

type Help = readonly [key: string, long: string, short: string];

const REVIEWS: Help = ['v', 'the reviews, and back', 'the reviews'];
const KEYS: readonly Help[] = [
  ['j k ↓ ↑', 'move; PageUp and PageDown by a screen', 'move; PgUp, PgDn'],
  ['g G', 'the first, the last', 'first, last'],
  ['Enter', 'join it in tmux (C-b d comes back), or follow its log', 'join, or follow its log'],
  ['s', 'stop it, with all that it started; asks first', 'stop it; asks first'],
  ['r', 'resume an ended session, as its last run was; asks first', 'resume it; asks first'],
  ['/', 'search names, commands, directories; Escape clears', 'search; Esc clears'],
  ['Ctrl-L', 'draw the screen anew', 'draw anew'],
  ['Ctrl-Z', 'suspend', 'suspend'],
  ['q Ctrl-C', 'quit; nothing that runs is touched', 'quit'],
];
/** As many as fit into the narrowest screen that has a legend. */
const MARKS_A_LINE = 4;
const LEGEND = inLines(
  STATUS_GROUPS.flatMap(({ statuses }) => statuses).map((status) => `${MARKS[status]} ${status}`),
);

/** After the search. */
const REVIEWS_AT = 6;
const KEY_WIDTH = 12;
const MIN_COLUMNS_FOR_LONG = 72;

export function helpPage(columns: number, board: Board): Line[] {
  const isLong = columns >= MIN_COLUMNS_FOR_LONG;
  const all = board.is === 'absent' ? KEYS : KEYS.toSpliced(REVIEWS_AT, 0, REVIEWS);
  const keys = all.map(([key, long, short]): Line => [
    span(`  ${key.padEnd(KEY_WIDTH - 2)}`, bold),
    span(isLong ? long : short),
  ]);
  return isLong ? [[], ...keys, [], ...LEGEND.map((text) => [span(`  ${text}`, dim)])] : keys;
}

function inLines(words: readonly string[]): string[] {
  const lines = Math.ceil(words.length / MARKS_A_LINE);
  return Array.from({ length: lines }, (_, at) =>
    words.slice(at * MARKS_A_LINE, (at + 1) * MARKS_A_LINE).join('   '),
  );
}
