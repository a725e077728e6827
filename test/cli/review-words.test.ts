/** Reviews as a person reads them, and a reviewer's command line as a person writes it. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ReviewView } from '../../src/api/http-views.ts';
import { renderReviews } from '../../src/cli/render/reviews.ts';
import { splitCommand } from '../../src/cli/split-command.ts';

const NOW_MS = Date.parse('2026-05-04T10:00:00.000Z');

function view(changes: Partial<ReviewView> = {}): ReviewView {
  return {
    id: 'rev-1',
    worker: 'w',
    workerId: 's-1',
    pr: '17',
    head: '0123456789abcdef',
    tree: null,
    status: 'running',
    verdict: null,
    reason: null,
    reviewer: { session: 'review-w', run: 'r-1' },
    tokens: 1_690_000,
    createdAt: '2026-05-04T09:00:00.000Z',
    startedAt: '2026-05-04T09:58:00.000Z',
    endedAt: null,
    supersededBy: null,
    isCurrent: true,
    ...changes,
  };
}

describe('reviews', () => {
  it('are in groups, what wants a person first', () => {
    const text = renderReviews(
      [
        view(),
        view({ status: 'up-to-date', verdict: 'approve', id: 'rev-2' }),
        view({ status: 'failed', reason: 'it exited with code 3', id: 'rev-3' }),
        view({ status: 'superseded', isCurrent: false, reason: 'not shown', id: 'rev-4' }),
        view({ status: 'needs-review', reviewer: null, tokens: null, startedAt: null, id: 'rev-5' }),
      ],
      NOW_MS,
      10_000,
    );
    expect(text.split('\n').map((line) => line.trimEnd())).toEqual([
      '   WORKER  PR  HEAD              STATUS                FOR  TOKENS     REVIEW  REVIEWER',
      'For you',
      '✗  w       17  0123456789        failed                2m   1,690,000  rev-3   r-1',
      '   └ it exited with code 3',
      '',
      'Under review',
      '●  w       17  0123456789        running               2m   1,690,000  rev-1   r-1',
      '○  w       17  0123456789        needs-review          60m  -          rev-5   -'.replace(
        '60m',
        '1h ',
      ),
      '',
      'Done',
      '✓  w       17  0123456789        up-to-date (approve)  2m   1,690,000  rev-2   r-1',
      '↷  w       17  0123456789 (old)  superseded            2m   1,690,000  rev-4   r-1',
    ]);
  });

  it('fit the terminal, and show no control characters', () => {
    const text = renderReviews([view({ pr: 'a\u001B[31mb', worker: 'x'.repeat(99) })], NOW_MS, 40);
    expect(text).not.toContain('\u001B');
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(40);
  });

  it('that are none say how to ask for one', () => {
    expect(renderReviews([], NOW_MS, 80)).toContain('reeve review trigger');
  });
});

describe('a command line', () => {
  it.each([
    ['claude -p review', ['claude', '-p', 'review']],
    ['  a   b ', ['a', 'b']],
    [`a 'b c' "d e"`, ['a', 'b c', 'd e']],
    [`a'b'"c"d`, ['abcd']],
    [`a '' ""`, ['a', '', '']],
    [`a\\ b`, ['a b']],
    [`'a\\b'`, ['a\\b']],
    [`"a\\"b\\n"`, ['a"b\\n']],
    ['', []],
    ['$HOME `x` *', ['$HOME', '`x`', '*']],
  ])('%j is %j', (line, words) => {
    expect(splitCommand(line)).toEqual(words);
  });

  it('of any words, each quoted, is those words again', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme' })), (words) => {
        const line = words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
        expect(splitCommand(line)).toEqual(words);
      }),
    );
  });

  it.each([`'a`, `"a`, `a "b'`])('with a quote that is never closed is refused: %j', (line) => {
    expect(() => splitCommand(line)).toThrow(/never closed/);
  });
});
