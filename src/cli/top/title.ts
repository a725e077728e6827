/** The first line: how many there are of what, and when that was so. */
import { lineWidth, span } from '../render/line.ts';
import type { Line, Paint } from '../render/line.ts';
import { groupsOf } from '../render/session-groups.ts';
import { bold, cyan, dim, green, yellow } from '../render/style.ts';
import { clock } from '../../api/time-words.ts';
import type { TopState } from './model.ts';

/** In the order of the groups: the word for one, for several, the sign where there is no room for words. */
const COUNTS: readonly (readonly [one: string, many: string, mark: string, paint: Paint])[] = [
  ['needs you', 'need you', '▲', yellow],
  ['working', 'working', '●', green],
  ['idle', 'idle', '○', cyan],
  ['ended', 'ended', '■', dim],
];

export function titleLine(state: TopState, columns: number): Line {
  const name = span('reeve top', bold);
  const time = state.listedAtMs === null ? '' : timeOfDay(state.listedAtMs);
  const counts = groupsOf(state.sessions).map(({ sessions }) => sessions.length);
  const long = [name, span('   '), ...totals(counts, words)];
  const short = [name, span('  '), ...totals(counts, signs)];
  const left = lineWidth(long) <= columns ? long : short;
  const gap = columns - lineWidth(left) - time.length;
  return gap < 2 ? left : [...left, span(' '.repeat(gap)), span(time, dim)];
}

/** `20:52:11` */
export function timeOfDay(atMs: number): string {
  return clock(atMs).slice(-8);
}

type Say = (count: number, kind: (typeof COUNTS)[number]) => string;

const words: Say = (count, [one, many]) => `${count} ${count === 1 ? one : many}`;
const signs: Say = (count, [, , mark]) => `${mark} ${count}`;

function totals(counts: readonly number[], say: Say): Line {
  return COUNTS.flatMap((kind, index) => {
    const count = counts[index] ?? 0;
    const text = span(say(count, kind), count === 0 ? dim : kind[3]);
    return index === 0 ? [text] : [span(say === words ? ' · ' : '  ', dim), text];
  });
}
