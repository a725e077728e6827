/** Below the list: what is asked, what happened, what went wrong, or else more about the selected session; and the keys. */
import { budgetWords } from '../../api/budget-words.ts';
import { lineWidth, span } from '../render/line.ts';
import type { Line, Paint } from '../render/line.ts';
import type { ListedSession } from '../render/sessions.ts';
import { bold, cyan, dim, green, red, yellow } from '../render/style.ts';
import { age } from '../../api/time-words.ts';
import { wrappedLines } from '../render/wrap.ts';
import { selectedSession, shownSessions } from './model.ts';
import type { Notice, Size, TopState } from './model.ts';
import { question } from './question.ts';
import { timeOfDay } from './title.ts';

/** Longer than a look takes on a busy machine. */
const LATE_MS = 5_000;
/** Of one message; it is all in the record, and the list is what one came for. */
const MAX_MESSAGE_LINES = 4;
/** Below this, the line about the selected session is worth less than one more session. */
const MIN_ROWS_FOR_DETAIL = 10;

export function footer(state: TopState, { columns, rows }: Size): Line[] {
  const { mode } = state;
  const keys = keysLine(state, columns);
  const trouble = troubleLines(state, columns);
  if (mode.is === 'confirm') return [...question(mode, state, columns), ...trouble, keys];
  if (mode.is === 'help') return [keys];
  if (mode.is === 'reviews') return [...trouble, keys];
  const said = [...trouble, ...happenings(state, columns)];
  if (mode.is === 'search' || state.filter !== '') return [...said, searchLine(state), keys];
  const session = selectedSession(state);
  if (said.length > 0 || session === null || rows < MIN_ROWS_FOR_DETAIL) return [...said, keys];
  return [[span(detailOf(session, state.nowMs), dim)], keys];
}

/** The last list stays, and it is said of when it is. */
function troubleLines({ problem, askedAtMs, listedAtMs, nowMs }: TopState, columns: number): Line[] {
  const asOf = listedAtMs === null ? '' : ` Shown as of ${timeOfDay(listedAtMs)}.`;
  if (problem !== null) {
    return messageLines({ ...problem, text: `Not refreshed: ${problem.text}${asOf}` }, columns);
  }
  if (askedAtMs === null || nowMs - askedAtMs < LATE_MS) return [];
  const text = `No answer from the store for ${age(askedAtMs, nowMs)}.${asOf}`;
  return textLines(text, columns, yellow);
}

function happenings({ underWay, notice }: TopState, columns: number): Line[] {
  return [
    ...(notice === null ? [] : messageLines(notice, columns)),
    ...(underWay === null ? [] : [[span(`${underWay} …`, cyan)]]),
  ];
}

function messageLines({ tone, text, hint }: Notice, columns: number): Line[] {
  const lines = textLines(text, columns, tone === 'good' ? green : red);
  return hint === null ? lines : [...lines, ...textLines(hint, columns, dim)];
}

function textLines(text: string, columns: number, paint: Paint): Line[] {
  const lines = wrappedLines(text, columns);
  const kept = lines.slice(0, MAX_MESSAGE_LINES - 1);
  const last = lines.slice(MAX_MESSAGE_LINES - 1).join(' ');
  return [...kept, ...(last === '' ? [] : [last])].map((line) => [span(line, paint)]);
}

function searchLine(state: TopState): Line {
  const found = `${shownSessions(state).length} of ${state.sessions.length}`;
  const cursor = state.mode.is === 'search' ? '_' : '';
  return [span('/', cyan), span(`${state.filter}${cursor}`, bold), span(`   ${found}`, dim)];
}

/** What the columns have no room for. */
function detailOf({ run, cwd, argv, nativeId, harness, budgets = [] }: ListedSession, nowMs: number): string {
  const facts =
    run.state === 'ended'
      ? [run.reason ?? 'no reason is known', `run ${run.id}`]
      : [`run ${run.id}`, run.mode, `started ${age(Date.parse(run.startedAt), nowMs)} ago by ${run.actor}`];
  const serves = nativeId === null ? argv.join(' ') : `${harness} ${nativeId}`;
  return [...budgets.map(budgetWords), ...facts, cwd, serves].join(' · ');
}

type KeyHint = readonly [key: string, says: string];

/** As they are shown. Where there is no room, those before the last two go first: the help tells the rest. */
const KEYS: Readonly<Record<'list' | 'search' | 'help' | 'reviews', readonly KeyHint[]>> = {
  list: [
    ['Enter', 'attach'],
    ['s', 'stop'],
    ['r', 'resume'],
    ['/', 'search'],
    ['j/k', 'move'],
    ['?', 'help'],
    ['q', 'quit'],
  ],
  search: [
    ['Enter', 'keep'],
    ['Esc', 'clear'],
    ['↑/↓', 'move'],
  ],
  help: [['any key', 'back to the list']],
  reviews: [
    ['j/k', 'move'],
    ['v', 'sessions'],
    ['q', 'quit'],
  ],
};

const REVIEWS_HINT: KeyHint = ['v', 'reviews'];

function keysLine({ mode, board }: TopState, columns: number): Line {
  const hints: readonly KeyHint[] =
    mode.is === 'confirm'
      ? [
          ['y', `${mode.action} it`],
          ['n', 'leave it'],
        ]
      : KEYS[mode.is];
  const shown =
    mode.is === 'list' && board.is !== 'absent' ? hints.toSpliced(-2, 0, REVIEWS_HINT) : [...hints];
  while (shown.length > 2 && lineWidth(hintsLine(shown)) > columns) shown.splice(-3, 1);
  return hintsLine(shown);
}

function hintsLine(hints: readonly KeyHint[]): Line {
  return hints.flatMap(([key, says], index) => [
    span(index === 0 ? '' : '   '),
    span(key, bold),
    span(` ${says}`, dim),
  ]);
}
