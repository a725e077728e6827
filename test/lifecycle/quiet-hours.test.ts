import { describe, expect, test } from 'vitest';
import { endOfQuiet, isQuiet, quietHoursFrom } from '../../src/lifecycle/quiet-hours.ts';

const DAY = Array.from({ length: 24 * 60 }, (_, minute) => minute);

describe('quiet hours', () => {
  test.each([
    ['22:00-07:00', 22 * 60, 7 * 60],
    ['00:00-23:59', 0, 23 * 60 + 59],
    ['12:30-13:15', 750, 795],
  ])('of %s are from one minute of the day to another', (text, fromMinute, toMinute) => {
    expect(quietHoursFrom(text)).toEqual({ fromMinute, toMinute });
  });

  test.each([
    '',
    '22-7',
    '24:00-07:00',
    '22:60-07:00',
    '7:00-8:00',
    '22:00–07:00',
    ' 22:00-07:00',
    '08:00-08:00',
  ])('are not what %j says', (text) => expect(quietHoursFrom(text)).toBeNull());

  test('hold for exactly the minutes between, whichever way round, of every pair of times', () => {
    const times = DAY.filter((minute) => minute % 37 === 0);
    for (const fromMinute of times)
      for (const toMinute of times.filter((minute) => minute !== fromMinute)) {
        const quiet = new Set<number>();
        for (let minute = fromMinute; minute !== toMinute; minute = (minute + 1) % DAY.length)
          quiet.add(minute);
        const told = DAY.filter((minute) => isQuiet({ fromMinute, toMinute }, minute) !== quiet.has(minute));
        expect(told).toEqual([]);
      }
  });

  test('name their end as a clock does', () => {
    expect(endOfQuiet({ fromMinute: 0, toMinute: 7 * 60 + 5 })).toBe('07:05');
  });
});
