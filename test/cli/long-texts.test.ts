/** A text of several megabytes is shown as fast as one of a line: nobody looks at more of it than fits. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { painted, span } from '../../src/cli/render/line.ts';
import { renderSessions } from '../../src/cli/render/sessions.ts';
import { cut, cutStart, displayWidth, firstColumns } from '../../src/cli/render/width.ts';
import { wrappedLines } from '../../src/cli/render/wrap.ts';
import { startState } from '../../src/cli/top/model.ts';
import { step } from '../../src/cli/top/state.ts';
import { view } from '../../src/cli/top/view.ts';
import { NOW_MS, sessionView } from '../fixtures/session-views.ts';

/** A flag, a family with a joiner each, a letter with two marks, a wide letter, a plain one. */
const MIXED = '🇩🇪👩‍👩‍👧e\u0301\u0302漢x';
const MIXED_COLUMNS = 2 + 2 + 1 + 2 + 1;
const LONG = MIXED.repeat(200_000);
const MARKS = `a${'\u0301'.repeat(3_000_000)}`;

/** What the segmenter is given at once costs it the square of that; what it is given in all is what is looked at. */
let given: number[] = [];
const most = () => Math.max(0, ...given);
const inAll = () => given.reduce((sum, length) => sum + length, 0);

beforeEach(() => {
  given = [];
  // oxlint-disable-next-line typescript/unbound-method -- it is called with the segmenter it was called on
  const real = Intl.Segmenter.prototype.segment;
  vi.spyOn(Intl.Segmenter.prototype, 'segment').mockImplementation(function (this: Intl.Segmenter, text) {
    given.push(text.length);
    // What a mistake would take minutes for fails at once instead.
    if (text.length > 100_000) throw new Error('the segmenter was given a whole text');
    return real.call(this, text);
  });
});

afterEach(() => {
  vi.restoreAllMocks();
});

describe('a text of megabytes', () => {
  it.each([
    ['its beginning', () => firstColumns(LONG, 2 * MIXED_COLUMNS), MIXED + MIXED],
    ['cut', () => cut(LONG, MIXED_COLUMNS + 1), `${MIXED}…`],
    ['cut at its start', () => cutStart(LONG, MIXED_COLUMNS + 1), `…${MIXED}`],
    [
      'painted',
      () => painted([span('> '), span(LONG), span('never seen')], MIXED_COLUMNS + 3),
      `> ${MIXED}…`,
    ],
    ['of control characters', () => painted([span(`x${'\u0007'.repeat(4_000_000)}y`)], 10), 'x …'],
    ['of one letter and its marks, cut', () => cut(MARKS, 10), '…'],
    ['of one letter and its marks, painted', () => painted([span(MARKS)], 10), '…'],
    ['of one letter and its marks, cut at its start', () => cutStart(MARKS, 10), '…'],
  ])('is shown by what fits: %s', (_, show, expected) => {
    expect(show()).toBe(expected);
    expect(inAll()).toBeLessThan(10_000);
  });

  it('is measured piece by piece, and no character is broken by that', () => {
    const text = MIXED.repeat(2000);
    expect(displayWidth(text)).toBe(2000 * MIXED_COLUMNS);
    expect(displayWidth(`x${text}`)).toBe(2000 * MIXED_COLUMNS + 1);
    expect(firstColumns(text, 1999 * MIXED_COLUMNS)).toBe(MIXED.repeat(1999));
    expect(displayWidth('🇩🇪'.repeat(3001))).toBe(6002);
    expect(most()).toBeLessThan(1000);
  });

  it('is wrapped, and each word is looked at once', () => {
    const words = Array.from({ length: 3000 }, () => MIXED);
    expect(wrappedLines(words.join(' '), 2 * MIXED_COLUMNS + 1)).toEqual(
      Array.from({ length: 1500 }, () => `${MIXED} ${MIXED}`),
    );
    expect(inAll()).toBe(3000 * MIXED.length);
  });
});

describe('a session with a command line of megabytes', () => {
  const session = sessionView('big', 'working', {
    argv: ['sleep', '2500', ...Array.from({ length: 300_000 }, (_, index) => `é${index}`)],
    run: { liveness: 'alive' },
  });

  it('is listed by the beginning of it', () => {
    const row = renderSessions([session], NOW_MS, 120).split('\n').at(-1);
    expect(row).toMatch(/ {2}sleep 2500 é0 é1 é2 é3 é4 é5 é6 é7 é8 é… {2}\/src\/big$/);
    expect(inAll()).toBeLessThan(10_000);
  });

  it.each(['a list', 'a question'])('is on the screen of top, with %s', (what) => {
    const listed = { ...session, nativeId: null };
    let { state } = step(startState(NOW_MS), { kind: 'listed', sessions: [listed], nowMs: NOW_MS });
    if (what === 'a question')
      state = { ...state, mode: { is: 'confirm', action: 'resume', session: listed } };
    const lines = view(state, { columns: 100, rows: 24 });
    expect(lines.map((line) => displayWidth(line) <= 100)).toEqual(lines.map(() => true));
    expect(lines.join('\n')).toContain('sleep 2500 é0');
    expect(inAll()).toBeLessThan(50_000);
  });
});
