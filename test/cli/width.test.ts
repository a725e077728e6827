/** The quick way to a width gives what the slow one gives, and is the one that is taken. */
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { renderSessions } from '../../src/cli/render/sessions.ts';
import { cut, cutStart, displayWidth, firstColumns } from '../../src/cli/render/width.ts';
import { NOW_MS, sessionView } from '../fixtures/session-views.ts';

/** Two columns that no quick way leads past, and that join nothing before them. */
const WIDE = '漢';

const everyCharacter = Array.from({ length: 0x3000 - 0x20 }, (_, index) =>
  String.fromCodePoint(0x20 + index),
);
const text = fc
  .array(fc.constantFrom(...everyCharacter, '🇩🇪', '👩‍👩‍👧', '\uFE0F', WIDE), { maxLength: 30 })
  .map((all) => all.join(''));

describe('a text', () => {
  it('is as wide for itself as in front of what is looked at slowly, of every character', () => {
    const wrong = everyCharacter.filter((each) => displayWidth(`${each}${WIDE}`) - 2 !== displayWidth(each));
    expect(wrong).toEqual([]);
  });

  it('is never wider than it was to be, and loses nothing that fits', () => {
    fc.assert(
      fc.property(text, fc.nat(40), (given, width) => {
        for (const shown of [cut(given, width), cutStart(given, width), firstColumns(given, width)])
          expect(displayWidth(shown)).toBeLessThanOrEqual(width);
        if (displayWidth(given) <= width)
          expect([cut(given, width), cutStart(given, width)]).toEqual([given, given]);
      }),
    );
  });

  it.each([
    ['abcdef', 4, 'abc…', '…def', 'abcd'],
    ['└ naïve → ✓', 5, '└ na…', '… → ✓', '└ naï'],
    ['abc', 1, '…', '…', 'a'],
    ['abc', 0, '', '', ''],
  ])('%s in %i columns is cut at either end', (given, width, head, tail, columns) => {
    expect([cut(given, width), cutStart(given, width), firstColumns(given, width)]).toEqual([
      head,
      tail,
      columns,
    ]);
  });
});

describe('a list of sessions with usual names', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it.each([10_000, 60])('is laid out in %i columns without the segmenter', (width) => {
    const segment = vi.spyOn(Intl.Segmenter.prototype, 'segment');
    const sessions = (['done', 'failed', 'working', 'stopped', 'superseded', 'idle'] as const).map((status) =>
      sessionView(`web-${status}`, status, {
        cwd: '/home/someone/projects/something/with/a/long/path',
        argv: ['claude', '-p', 'look at it'],
      }),
    );
    renderSessions(sessions, NOW_MS, width);
    expect(segment).not.toHaveBeenCalled();
  });
});
