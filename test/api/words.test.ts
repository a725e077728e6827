import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ReeveError } from '../../src/api/errors.ts';
import { sinceFrom } from '../../src/api/since-words.ts';
import { MARKS, STATUS_GROUPS } from '../../src/api/status-words.ts';
import { costWords, shortCount } from '../../src/api/token-words.ts';
import { STATUSES } from '../../src/lifecycle/status.ts';

describe('a status', () => {
  it('has a mark that no other has, and stands in one group', () => {
    expect(new Set(Object.values(MARKS)).size).toBe(STATUSES.length);
    expect(STATUS_GROUPS.flatMap(({ statuses }) => statuses).toSorted()).toEqual(STATUSES.toSorted());
  });

  it('has a colour on the page', () => {
    const sheet = readFileSync(new URL('../../web/src/styles/tokens.css', import.meta.url), 'utf8');
    expect(STATUSES.filter((status) => !new RegExp(`^\\.is-${status}[,\\s]`, 'm').test(sheet))).toEqual([]);
  });
});

describe('a count of tokens', () => {
  it.each([
    [0, '0'],
    [999, '999'],
    [1000, '1.0k'],
    [1234, '1.2k'],
    [9949, '9.9k'],
    [9950, '10k'],
    [12_345, '12k'],
    [999_499, '999k'],
    [999_500, '1.0M'],
    [1_690_000, '1.7M'],
    [99_999_999, '100M'],
    [999_999_999, '1.0B'],
    [987_654_321_000, '988B'],
    [5e15, '5000T'],
  ])('%d is %s', (count, words) => {
    expect(shortCount(count)).toBe(words);
  });

  it('is at most four characters long up to a thousand billions, and off by a twentieth at most', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 999_000_000_000 }), (count) => {
        const words = shortCount(count);
        const unit = { k: 1e3, M: 1e6, B: 1e9 }[words.at(-1) ?? ''] ?? 1;
        expect(words.length).toBeLessThanOrEqual(4);
        expect(Math.abs(Number.parseFloat(words) * unit - count)).toBeLessThanOrEqual(count / 20);
      }),
    );
  });
});

describe('a cost', () => {
  it.each([
    [0, 'USD', '$0.00'],
    [4.1234, 'USD', '$4.12'],
    [1.2, 'EUR', '€1.20'],
    [0.01, 'GBP', '£0.01'],
    [0.0034, 'USD', '$0.0034'],
    [0.000001, 'USD', '$0.000001'],
    [1234.5, 'CHF', '1,234.50 CHF'],
    [123456789, 'USD', '$123,456,789.00'],
  ])('of %d %s is %s', (cost, currency, words) => {
    expect(costWords({ cost, unpricedTokens: 0 }, currency)).toBe(words);
  });

  it('is at least so much when something has no price, and none when nothing has one', () => {
    expect(costWords({ cost: 1.2, unpricedTokens: 1 }, 'USD')).toBe('≥ $1.20');
    expect(costWords({ cost: null, unpricedTokens: 1 }, 'USD')).toBeNull();
  });
});

describe('since', () => {
  const NOW = Date.parse('2026-11-16T10:00:00Z');

  it.each([
    ['90m', '2026-11-16T08:30:00.000Z'],
    ['24h', '2026-11-15T10:00:00.000Z'],
    ['7d', '2026-11-09T10:00:00.000Z'],
    ['2w', '2026-11-02T10:00:00.000Z'],
    ['2026-11-01', '2026-11-01T00:00:00.000Z'],
    ['2026-11-01T08:00Z', '2026-11-01T08:00:00.000Z'],
    ['2026-11-01T08:00:30.5+02:00', '2026-11-01T06:00:30.500Z'],
  ])('%s is a moment', (text, moment) => {
    expect(new Date(sinceFrom(text, NOW)).toISOString()).toBe(moment);
  });

  it('a time without a zone is the reader’s own', () => {
    expect(sinceFrom('2026-11-01T08:00', NOW)).toBe(new Date(2026, 10, 1, 8).getTime());
  });

  it.each(['', '7', 'd', '-7d', '7 d', '7y', '1.5h', '9999999d', 'yesterday', '2026-02-30', '2026-13-01'])(
    '%j is none',
    (text) => {
      expect(() => sinceFrom(text, NOW)).toThrow(ReeveError);
    },
  );

  it.each(['2026-11-01T25:00Z', '2026-11-01T', '2026-11', '11/01/2026', '2026-11-01 08:00', '\u001b[31m'])(
    '%j is none either, and said in one line',
    (text) => {
      let said = '';
      try {
        sinceFrom(text, NOW);
      } catch (error) {
        said = error instanceof ReeveError && error.code === 'usage' ? error.message : '';
      }
      expect(said).toMatch(/^[^\p{Cc}]+$/u);
    },
  );

  it('of any text is a moment that has a date, or a sentence', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^\d{1,7}[mhdw]$/)), (text) => {
        try {
          new Date(sinceFrom(text, NOW)).toISOString();
        } catch (error) {
          expect(error).toBeInstanceOf(ReeveError);
        }
      }),
    );
  });
});
