/** What `top` shows, as lines. Colours are off here: what they say must be told without them too. */
import { describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { ReeveError } from '../../src/api/errors.ts';
import { painted, span } from '../../src/cli/render/line.ts';
import { renderSessions } from '../../src/cli/render/sessions.ts';
import { clock } from '../../src/api/time-words.ts';
import { cut, cutStart, displayWidth, padded, plainText } from '../../src/cli/render/width.ts';
import { startState } from '../../src/cli/top/model.ts';
import type { TopState } from '../../src/cli/top/model.ts';
import { PlainList } from '../../src/cli/top/plain.ts';
import { step } from '../../src/cli/top/state.ts';
import { view } from '../../src/cli/top/view.ts';
import { NOW_MS, sessionView } from '../fixtures/session-views.ts';

const open = (...sessions: readonly SessionView[]): TopState =>
  step(startState(NOW_MS), { kind: 'listed', sessions, nowMs: NOW_MS }).state;
const screen = (state: TopState, columns = 80, rows = 24) =>
  view(state, { columns, rows }).map((line) => line.trimEnd());
const filled = (lines: readonly string[]) => lines.filter((line) => line !== '');

const ASKING = sessionView('web', 'needs-input', {
  harness: 'claude',
  argv: ['claude'],
  nativeId: 'abc',
  activity: {
    since: new Date(NOW_MS - 3000).toISOString(),
    evidence: 'a hook',
    waitingFor: 'permission to use Bash',
  },
});
const FAILED = sessionView('lint', 'failed', { run: { reason: 'it exited with code 3' } });
const TIME = new Date(NOW_MS).toTimeString().slice(0, 8);

describe('the screen', () => {
  it('has totals, groups with counts, what is waited for, the selection, more about it, and the keys', () => {
    const state = open(FAILED, sessionView('build'), ASKING, sessionView('docs', 'idle'));
    expect(filled(screen(state))).toEqual([
      `reeve top   1 needs you · 1 working · 1 idle · 1 ended                  ${TIME}`,
      '     SESSION  STATUS       FOR  HARNESS  PID   COMMAND   DIRECTORY',
      'Needs you 1',
      '> ▲  web      needs-input  3s   claude   4711  claude    /src/web',
      '     └ permission to use Bash',
      'Working 1',
      '  ●  build    working      1m   -        4711  sleep 60  /src/build',
      'Idle 1',
      '  ○  docs     idle         1m   -        4711  sleep 60  /src/docs',
      'Ended 1',
      '  ✗  lint     failed       5s   -        -     sleep 60  /src/lint',
      'run r-web · detached · started 1m ago by ada · /src/web · claude abc',
      'Enter attach   s stop   r resume   / search   j/k move   ? help   q quit',
    ]);
  });

  it('narrow: signs for words, whole columns left out, the keys that matter', () => {
    expect(filled(screen(open(FAILED, ASKING), 40, 12))).toEqual([
      `reeve top  ▲ 1  ● 0  ○ 0  ■ 1   ${TIME}`,
      '     SESSION  STATUS       FOR  HARNESS',
      'Needs you 1',
      '> ▲  web      needs-input  3s   claude',
      '     └ permission to use Bash',
      'Ended 1',
      '  ✗  lint     failed       5s   -',
      'run r-web · detached · started 1m ago b…',
      'Enter attach   s stop   ? help   q quit',
    ]);
  });

  it('of an ended session it says why it ended', () => {
    expect(screen(open(FAILED)).at(-2)).toContain('it exited with code 3');
  });

  it.each([
    [1, ['> ▲  web      needs-input  3s   claude   4711']],
    [2, ['> ▲  web', 'Enter attach']],
    [3, ['reeve top', '> ▲  web', 'Enter attach']],
  ])('with %d rows the selected session is there', (rows, beginnings) => {
    const lines = screen(open(FAILED, ASKING), 60, rows);
    expect(lines.map((line, index) => line.slice(0, beginnings[index]?.length))).toEqual(beginnings);
  });

  it('that is too small for all keeps the selected one, and counts the lines that are not there', () => {
    const sessions = Array.from({ length: 40 }, (_, index) => sessionView(`n${index}`));
    const at = (id: number) => screen({ ...open(...sessions), selectedId: `s-n${id}` }, 80, 12);
    for (let id = 0; id < 40; id += 1) {
      const lines = at(id);
      expect(lines.filter((line) => line.startsWith('>'))).toEqual([expect.stringMatching(`^> ●  n${id} `)]);
    }
    expect(at(0).filter((line) => line.includes('more lines'))).toEqual(['  ↓ 34 more lines']);
    expect(at(39).filter((line) => line.includes('more lines'))).toEqual(['  ↑ 34 more lines']);
    expect(at(20).filter((line) => line.includes('more lines'))).toEqual([
      '  ↑ 18 more lines',
      '  ↓ 17 more lines',
    ]);
  });

  it.each([
    ['before the first list', startState(NOW_MS), 'Looking…'],
    ['without sessions', open(), 'reeve run -- COMMAND'],
    ['without a match', { ...open(FAILED), filter: 'xyz' }, 'No session matches “xyz”'],
  ])('%s says so', (_, state, says) => {
    expect(screen(state)[1]).toContain(says);
  });
});

describe('questions', () => {
  const asking = (action: 'stop' | 'resume', session: SessionView): TopState => ({
    ...open(session),
    mode: { is: 'confirm', action, session },
  });

  it('before a stop: session, run, pid, since when, owner, and that the whole tree ends', () => {
    const text = screen(asking('stop', ASKING)).join('\n');
    for (const part of ['Stop web?', 'r-web', 'epoch 1', '4711 on box', '(1m ago)', 'ada', 'whole tree']) {
      expect(text).toContain(part);
    }
    expect(text.split('\n').at(-1)).toBe('y stop it   n leave it');
  });

  it('before a stop: which children end with it, and what becomes of the others', () => {
    const of = (onParentEnd: 'cancel' | 'adopt' | 'detach') => ({
      run: { parent: 'r-web', owner: 'r-web', onParentEnd },
    });
    const state = open(
      ASKING,
      sessionView('review', 'working', of('cancel')),
      sessionView('lint', 'working', of('cancel')),
      sessionView('docs', 'idle', of('adopt')),
      sessionView('watch', 'working', of('detach')),
    );
    const text = screen({ ...state, mode: { is: 'confirm', action: 'stop', session: ASKING } }).join('\n');
    expect(text).toMatch(/child +(review and lint|lint and review) end with it/);
    expect(text).toMatch(/child +docs waits for the next run of the session/);
    expect(text).toMatch(/child +watch goes on by itself/);
  });

  it('before a stop of what may not live, that too', () => {
    const session = sessionView('a', 'unknown', { run: { liveness: 'unknown' } });
    expect(screen(asking('stop', session)).join('\n')).toContain('4711 on box, unknown');
  });

  it.each([
    ['detached', 'detached'],
    ['foreground', 'detached'],
    ['tmux', 'in tmux'],
  ] as const)(
    'before a resume of what was %s: how it ended, where the next will be, what is started',
    (mode, next) => {
      const session = sessionView('lint', 'failed', { run: { mode, outcome: 'failed' } });
      const text = screen(asking('resume', session)).join('\n');
      for (const part of [
        'Resume lint?',
        'r-lint (epoch 1), failed',
        `next   ${next}`,
        'sleep 60',
        '/src/lint',
      ]) {
        expect(text).toContain(part);
      }
    },
  );

  it('on the smallest screen are still asked, with what they are about and the keys', () => {
    const lines = screen(asking('stop', ASKING), 40, 4);
    expect(lines[2]).toContain('Stop web?');
    expect(lines[3]).toBe('y stop it   n leave it');
  });
});

describe('what is said', () => {
  it('a look that failed: why, what to do, and of when the list is; the list stays', () => {
    const problem = { tone: 'bad', text: 'The store is away.', hint: 'Start it.' } as const;
    const { state } = step(open(ASKING), { kind: 'list-failed', problem, nowMs: NOW_MS + 60_000 });
    const lines = screen(state);
    expect(lines).toContain(`Not refreshed: The store is away. Shown as of ${TIME}.`);
    expect(lines).toContain('Start it.');
    expect(lines.some((line) => line.startsWith('> ▲  web'))).toBe(true);
  });

  it('a look that takes too long, and not one that is merely under way', () => {
    const asked = step(open(ASKING), { kind: 'asked', nowMs: NOW_MS }).state;
    const later = (ms: number) => screen({ ...asked, nowMs: NOW_MS + ms }).join('\n');
    expect(later(7_000)).toContain(`No answer from the store for 7s. Shown as of ${TIME}.`);
    expect(later(2_000)).not.toContain('No answer');
  });

  it('what is under way, what came of it with its hint, wrapped, and never more than a few lines', () => {
    const text = `It has a live owner: ${'word '.repeat(200)}`;
    const state: TopState = {
      ...open(ASKING),
      underWay: 'stopping web',
      notice: { tone: 'bad', text, hint: 'Join it.' },
    };
    const lines = screen(state);
    expect(lines).toContain('stopping web …');
    expect(lines).toContain('Join it.');
    const from = lines.findIndex((line) => line.startsWith('It has a live owner'));
    expect(lines.findIndex((line) => line === 'Join it.') - from).toBe(4);
    expect(lines[from + 3]).toMatch(/…$/);
  });

  it('a search: what is typed and how many are found', () => {
    const typing: TopState = { ...open(ASKING, FAILED), filter: 'we', mode: { is: 'search' } };
    expect(screen(typing).slice(-2)).toEqual(['/we_   1 of 2', 'Enter keep   Esc clear   ↑/↓ move']);
    expect(screen({ ...typing, mode: { is: 'list' } }).at(-2)).toBe('/we   1 of 2');
  });

  it.each([
    [80, 24],
    [40, 12],
  ])('help tells every key at %d×%d', (columns, rows) => {
    const text = screen({ ...open(ASKING), mode: { is: 'help' } }, columns, rows).join('\n');
    for (const key of ['j k', 'g G', 'Enter', ' s ', ' r ', ' / ', 'Ctrl-C', 'Ctrl-Z'])
      expect(text).toContain(key);
    expect(text).not.toContain('…');
  });
});

describe('without a screen', () => {
  const first = [ASKING, FAILED];
  const print = (list: PlainList, sessions: readonly SessionView[], laterMs = 0) =>
    list.listed(sessions, NOW_MS + laterMs, 80);

  it('the list is printed with its time, and again only when more than ages changed', () => {
    const list = new PlainList();
    expect(print(list, first)).toBe(`reeve top, ${clock(NOW_MS)}\n${renderSessions(first, NOW_MS, 80)}\n`);
    expect(print(list, first, 5_000)).toBe(null);
    expect(print(list, [FAILED], 6_000)).toContain(`reeve top, ${clock(NOW_MS + 6_000)}\n`);
    expect(print(list, [], 7_000)).toContain('No sessions yet');
  });

  it('a problem is told once, with the time of the last look that worked; after it the list is printed again', () => {
    const list = new PlainList();
    const away = new ReeveError('store_unavailable', 'The store is away.', { hint: 'Start it.' });
    expect(list.failed(away)).toBe('not refreshed: The store is away. Start it.');
    expect(print(list, first)).not.toBe(null);
    expect(print(list, first, 2_000)).toBe(null);
    expect(list.failed(away)).toBe(
      `not refreshed: The store is away. The list above is as of ${clock(NOW_MS + 2_000)}. Start it.`,
    );
    expect(list.failed(away)).toBe(null);
    expect(list.failed(new Error('Another.'))).toContain('Another.');
    expect(print(list, first)).not.toBe(null);
  });
});

describe('text in columns', () => {
  it.each([
    ['abc', 3],
    ['', 0],
    ['é', 1],
    ['e\u0301', 1],
    ['한국', 4],
    ['パー', 4],
    ['\u1100\u1161\u11A8', 2],
    ['👍', 2],
    ['👍🏽', 2],
    ['👩‍👩‍👧‍👦', 2],
    ['🇩🇪', 2],
    ['❤️', 2],
    ['1️⃣', 2],
    ['ｆｕｌｌ', 8],
    ['का', 2],
    ['●▲…─', 4],
    ['𠀀', 2],
  ])('%s is %d wide', (text, width) => {
    expect(displayWidth(text)).toBe(width);
  });

  it('is cut between characters, never inside one, and never wider than asked for', () => {
    expect(cut('한국어', 6)).toBe('한국어');
    expect(cut('한국어', 5)).toBe('한국…');
    expect(cut('한국어', 4)).toBe('한…');
    expect(cut('e\u0301e\u0301e\u0301', 2)).toBe('e\u0301…');
    expect(cut('abc', 0)).toBe('');
    expect(cutStart('/src/web', 5)).toBe('…/web');
    expect(cutStart('/src/한', 4)).toBe('…/한');
    expect(cutStart('abc', 0)).toBe('');
    expect(padded('한', 4)).toBe('한  ');
  });

  it('has no control characters, and nothing that turns its direction', () => {
    expect(plainText('a\u001B[2J\n\tb\u0085\u2028c\u202Ed')).toBe('a [2J b cd');
  });

  it('a line that is too long ends with an ellipsis, wherever its parts end', () => {
    const line = [span('abc'), span('def'), span('ghi')];
    expect([0, 1, 3, 4, 6, 8, 9, 20].map((width) => painted(line, width))).toEqual([
      '',
      '…',
      'ab…',
      'abc…',
      'abcde…',
      'abcdefg…',
      'abcdefghi',
      'abcdefghi',
    ]);
  });

  it('`ls` keeps its columns with wide and combining names, and lets no control character through', () => {
    const sessions = ['한국어', 'e\u0301te\u0301', 'plain'].map((name) =>
      sessionView(name, 'working', { cwd: '/a\u001B[2J', argv: ['x\ty\u0007'] }),
    );
    const lines = renderSessions(sessions, NOW_MS, 10_000).split('\n');
    expect(lines.slice(2)).toEqual([
      '●  한국어   working  1m   -        4711  x y      /a [2J',
      '●  e\u0301te\u0301      working  1m   -        4711  x y      /a [2J',
      '●  plain    working  1m   -        4711  x y      /a [2J',
    ]);
  });
});
