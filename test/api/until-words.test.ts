import { expect, test } from 'vitest';
import { untilFrom } from '../../src/api/until-words.ts';

const NOW_MS = new Date(2026, 4, 4, 10, 0, 30).getTime();

test.each([
  [{}, null],
  [{ for: '30m' }, NOW_MS + 30 * 60_000],
  [{ for: '2w' }, NOW_MS + 14 * 86_400_000],
  [{ until: '10:01' }, new Date(2026, 4, 4, 10, 1).getTime()],
  [{ until: '10:00' }, new Date(2026, 4, 5, 10, 0).getTime()],
  [{ until: '9:30' }, new Date(2026, 4, 5, 9, 30).getTime()],
  [{ until: '2026-11-01' }, Date.parse('2026-11-01')],
  [{ until: '2026-11-01T08:00' }, new Date(2026, 10, 1, 8, 0).getTime()],
])('%j is a time to come', (words, expected) => {
  expect(untilFrom(words, NOW_MS)).toBe(expected);
});

test.each([
  [{ for: '0m' }],
  [{ for: '2' }],
  [{ for: '08:00' }],
  [{ until: '2h' }],
  [{ until: '25:00' }],
  [{ until: '2026-02-30' }],
  [{ until: '2026-01-01' }],
  [{ until: '' }],
])('%j is refused', (words) => {
  expect(() => untilFrom(words, NOW_MS)).toThrow(expect.objectContaining({ code: 'usage' }));
});
